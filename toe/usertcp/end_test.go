package usertcp_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/usertcp"
	"github.com/rddp/rddp/toe/usertcp/internal/turned"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// TestFlush: Flush waits until the peer has acknowledged everything and the FIN.
func TestFlush(t *testing.T) {
	for desc, end := range map[string]func(toe.Stream) error{"Close": toe.Stream.Close, "CloseWrite": toe.Stream.CloseWrite} {
		t.Run(desc, func(t *testing.T) {
			x, y := usertcp.Pipe(1500)
			var cut atomic.Bool
			a := newStack(t, &gate{x, func([]byte) bool { return cut.Load() }}, usertcp.Config{Addresses: addrsA})
			s, r := connect(t, a, newStack(t, y, usertcp.Config{Addresses: addrsB}), "tcp", "10.7.0.2:0")
			defer s.Abort()
			defer r.Abort()
			cut.Store(true)
			const n = 1000
			if _, err := s.Write(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Flush(20 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Flush on a link that is cut = %v, want a timeout", err)
			}
			cut.Store(false)
			if err := s.Flush(prototest.Patience(t)); err != nil {
				t.Errorf("Flush = %v", err)
			}
			if got, err := r.Pending(); got != n || err != nil {
				t.Errorf("after Flush the peer has %d bytes, %v, want %d", got, err, n)
			}
		})
	}
}

// TestDeadlines: a Read that finds nothing and a Write that finds no room end at their deadlines,
// and a deadline that has passed ends a Read that would find something.
func TestDeadlines(t *testing.T) {
	a, b := newStacks(t, 1500, usertcp.Config{})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Abort()
	defer r.Abort()
	defer time.AfterFunc(prototest.Patience(t), func() { r.Abort() }).Stop() // so that a bug does not block the test
	long := make([]byte, 64<<20)
	s.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read = %v, want a timeout", err)
	}
	n, err := 0, error(nil)
	for limit, end := 20*time.Millisecond, prototest.Deadline(t); n == 0 && time.Now().Before(end); limit *= 2 {
		s.SetWriteDeadline(time.Now().Add(limit)) // on a busy machine it may pass before Write begins
		if n, err = s.Write(long); !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write = %d, %v, want some bytes and a timeout", n, err)
	}
	r.SetReadDeadline(time.Now())
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read with data and a deadline that has passed = %d, %v, want a timeout", n, err)
	}
	r.SetReadDeadline(time.Time{})
	if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("Read without a deadline = %d, %v, want a byte", n, err)
	}
}

// TestReadOfNothingAfterClose: a closed Stream returns the error even to a read with an empty
// buffer, which would otherwise have nothing to do.
func TestReadOfNothingAfterClose(t *testing.T) {
	a, b := newStacks(t, 1500, usertcp.Config{})
	for _, how := range []struct {
		name string
		end  func(toe.Stream) error
	}{{"Close", toe.Stream.Close}, {"Abort", toe.Stream.Abort}} {
		s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
		defer r.Abort()
		if err := how.end(s); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Read(nil); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read of nothing after %s = %d, %v, want net.ErrClosed", how.name, n, err)
		}
		if n, _, err := toetest.ReadSegment(s, nil); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("ReadSegment of nothing after %s = %d, %v, want net.ErrClosed", how.name, n, err)
		}
	}
}

// A lateFIN is a Link on which the first FIN comes after the next packet.
type lateFIN struct {
	usertcp.Link

	mu   sync.Mutex
	fin  []byte
	done bool
}

func (l *lateFIN) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done && l.fin == nil && header.TCP(header.IPv4(p).Payload()).Flags().Contains(header.TCPFlagFin) {
		l.fin = bytes.Clone(p)
		return len(p), nil
	}
	n, err := l.Link.Write(p)
	if l.fin != nil {
		l.Link.Write(l.fin)
		l.fin, l.done = nil, true
	}
	return n, err
}

// TestFlushAfterCrossedFINs: both ends close at the same time, and the ACK of one end's FIN
// overtakes the FIN of the other. Then everything is acknowledged, so Flush returns.
func TestFlushAfterCrossedFINs(t *testing.T) {
	x, y := usertcp.Pipe(1500)
	a := newStack(t, x, usertcp.Config{Addresses: addrsA, KeepAlive: -1})
	b := newStack(t, &lateFIN{Link: y}, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	if err := r.CloseWrite(); err != nil { // the link holds this FIN
		t.Fatal(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(prototest.Patience(t)); err != nil {
		t.Errorf("Flush = %v", err)
	}
}

// TestNoProbesInTimeWait: a connection in TIME-WAIT sends no keep-alive probes, because a peer that
// has closed too would answer with a RST.
func TestNoProbesInTimeWait(t *testing.T) {
	const period = time.Second
	clock := turned.New(t)
	x, y := usertcp.Pipe(1500)
	var watched, sent atomic.Int64 // the port of the connection; what it has sent
	a := newStack(t, &gate{x, func(p []byte) bool {
		if int64(header.TCP(header.IPv4(p).Payload()).SourcePort()) == watched.Load() {
			sent.Add(1)
		}
		return false
	}}, usertcp.Config{Addresses: addrsA, KeepAlive: period})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	for _, c := range []toe.Stream{s, r} { // s is the one that waits
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(prototest.Patience(t)); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	r.Close()
	clock.Settle()
	watched.Store(int64(s.LocalAddr().(*net.TCPAddr).Port))
	clock.Turn(50*period, period/2) // TIME-WAIT takes 60 s
	if n := sent.Load(); n > 0 {
		t.Errorf("the connection in TIME-WAIT has sent %d segments", n)
	}
}
