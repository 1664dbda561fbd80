package hostile_test

import (
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// This file contains helpers for the attacks on the user-space TCP.

// userStack makes a TCP in user space that is closed at the end of the test.
func userStack(t testing.TB, l usertcp.Link, cfg usertcp.Config, address string) *usertcp.Stack {
	t.Helper()
	cfg.Addresses = []netip.Prefix{netip.MustParsePrefix(address)}
	s, err := usertcp.New(l, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// userStreams makes a connection between two TCPs in user space, over the link x, y.
func userStreams(t testing.TB, x, y usertcp.Link, cfg usertcp.Config) (a, b toe.Stream) {
	t.Helper()
	from, to := userStack(t, x, cfg, "10.7.0.1/24"), userStack(t, y, cfg, "10.7.0.2/24")
	l, err := to.Listen(timeLimit(t), "tcp", "10.7.0.2:7174")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = from.Dial(timeLimit(t), "tcp", "10.7.0.2:7174"); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// badUserStreams makes a connection over a link with the faults of both directions.
func badUserStreams(t testing.TB, seed uint64, f badlink.Faults) (a, b toe.Stream) {
	t.Helper()
	x, y, err := badlink.Pipe(badlink.Config{Seed: seed, AB: f, BA: f})
	if err != nil {
		t.Fatal(err)
	}
	return userStreams(t, x, y, usertcp.Config{})
}

// ddpOver switches both ends of a connection into DDP mode. They are closed at the end of the test.
func ddpOver(t testing.TB, a, b toe.Stream, i, r extsock.Config) (ci, cr *extsock.Conn) {
	t.Helper()
	i.HandshakeTimeout, r.HandshakeTimeout = time.Minute, time.Minute // the loss of the first packets costs seconds
	ci, cr = extsock.NewConn(a, true, &i), extsock.NewConn(b, false, &r)
	t.Cleanup(func() { ci.Close(); cr.Close() })
	ended := make(chan error, 1)
	go func() { ended <- cr.EnableDDP(timeLimit(t), nil) }()
	if err := ci.EnableDDP(timeLimit(t), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return ci, cr
}

// readThrough reads len(p) bytes from c, over a bad link to peer. gVisor's TCP stalls in rare cases
// after a loss: it has not set its timer again, because it counts no segment as outstanding. It
// continues when it gets data to send. So both ends send an empty RDMA Write if nothing arrives for
// a long time.
func readThrough(t testing.TB, c, peer *extsock.Conn, p []byte) {
	t.Helper()
	for nudges := 0; len(p) > 0; {
		c.SetReadDeadline(time.Now().Add(15 * time.Second))
		n, err := c.Read(p)
		p = p[n:]
		if nudges < 8 && errors.Is(err, os.ErrDeadlineExceeded) {
			nudges++
			for _, end := range []*extsock.Conn{c, peer} {
				if err := end.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite}); err != nil {
					t.Fatal(err)
				}
			}
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A watched is a Stream whose early runs a test sees, and to which the test may add runs.
type watched struct {
	toe.Stream
	next uint64 // the offset of the next byte in order
	lent watchedLender

	// early, unless it is nil, gets each run that the Stream shows early.
	early func(run []byte, off uint64)
	// hint, unless it is nil, returns a run that the test has made, at an offset beyond next, or
	// nothing.
	hint func(next uint64) (run []byte, off uint64)
}

// A watchedLender is a Lender that remembers the memory lent last.
type watchedLender struct {
	toe.Lender
	p []byte
}

func (l *watchedLender) Lend() []byte {
	l.p = l.Lender.Lend()
	return l.p
}

// ReadSegment returns a hint if there is one, or otherwise a run of the Stream.
func (w *watched) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	if w.hint != nil {
		if run, off := w.hint(w.next); len(run) > 0 {
			return copy(l.Lend(), run), off, nil
		}
	}
	w.lent = watchedLender{Lender: l}
	n, off, err = w.Stream.ReadSegment(&w.lent, patience)
	if n > 0 && off > w.next && w.early != nil {
		w.early(w.lent.p[:n], off)
	} else if off == w.next {
		w.next += uint64(n)
	}
	return n, off, err
}
