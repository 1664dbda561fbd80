package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A recordTap records what it sees.
type recordTap struct {
	mu             sync.Mutex
	sent, received bytes.Buffer // +checklocks:mu
	closed         int          // +checklocks:mu
}

func (r *recordTap) Sent(p []byte)     { r.mu.Lock(); r.sent.Write(p); r.mu.Unlock() }
func (r *recordTap) Received(p []byte) { r.mu.Lock(); r.received.Write(p); r.mu.Unlock() }
func (r *recordTap) Closed()           { r.mu.Lock(); r.closed++; r.mu.Unlock() }

func (r *recordTap) tap(net.Addr, net.Addr, bool) toe.Tap { return r }

func (r *recordTap) want(t *testing.T, sent, received, closed int, text string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	s, rcv := r.sent.Bytes(), r.received.Bytes()
	if n, m := bytes.Count(s, []byte(text)), bytes.Count(rcv, []byte(text)); n != sent || m != received {
		t.Errorf("the Tap has seen %q %d times in what was sent and %d times in what was received, want %d and %d", text, n, m, sent, received)
	}
	if !bytes.HasPrefix(s, []byte("MPA ID Req Frame")) || !bytes.HasPrefix(rcv, []byte("MPA ID Rep Frame")) {
		t.Errorf("the Tap has not seen the startup frames first: %.16q and %.16q", s, rcv)
	}
	if r.closed != closed {
		t.Errorf("Closed was called %d times, want %d", r.closed, closed)
	}
}

// A stopTap ends its own Tap at its first bytes, or when the connection has ended.
type stopTap struct {
	recordTap
	atBytes bool
	stop    func()
}

func (s *stopTap) Sent(p []byte) {
	s.recordTap.Sent(p)
	if s.atBytes {
		s.stop()
	}
}

func (s *stopTap) Closed() {
	s.recordTap.Closed()
	s.stop()
}

// TestTapThatStops: a Tap may end itself in any of its calls, and startup and the end of the
// connection do not hang.
func TestTapThatStops(t *testing.T) {
	alone(t)
	for _, atBytes := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			tap := &stopTap{atBytes: atBytes}
			i := side{before: func(c *extsock.Conn) (err error) {
				tap.stop, err = c.StartTap(func(net.Addr, net.Addr, bool) toe.Tap { return tap })
				return err
			}}
			a, b := simPair(t, simtoe.Config{}, i, side{})
			a.Close()
			b.Close()
			settle()
			if n := extsock.TotalStats().Open; n != 0 {
				t.Errorf("%d connections are open", n)
			}
			tap.mu.Lock()
			defer tap.mu.Unlock()
			if sent := tap.sent.Len(); tap.closed != 1 || atBytes && sent > 200 {
				t.Errorf("Closed was called %d times, and %d bytes were shown", tap.closed, sent)
			}
		})
	}
}

// TestStartTap: any Tap can begin to see a connection at any time, and stop. It sees the startup
// frames and then whole FPDUs.
func TestStartTap(t *testing.T) {
	ci, cr := tcpPair(t, side{}, side{})
	echo := func(text string) {
		t.Helper()
		for _, c := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
			if _, err := c[0].Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c[1], make([]byte, len(text))); err != nil {
				t.Fatal(err)
			}
		}
	}
	echo("before")
	var first, second recordTap
	stop, err := ci.StartTap(first.tap)
	if err != nil {
		t.Fatal(err)
	}
	echo("during")
	if _, err := ci.StartTap(second.tap); !errors.Is(err, extsock.ErrBusy) {
		t.Errorf("a second Tap: %v, want ErrBusy", err)
	}
	stop()
	stop()
	echo("after")
	for text, n := range map[string]int{"before": 0, "during": 1, "after": 0} {
		first.want(t, n, n, 1, text)
	}

	stop, err = ci.StartTap(func(net.Addr, net.Addr, bool) toe.Tap { return nil })
	if err != nil {
		t.Errorf("no Tap: %v", err)
	}
	stop()
	if _, err := ci.StartTap(second.tap); err != nil {
		t.Fatalf("after the first Tap: %v", err)
	}
	echo("later")
	ci.Close()
	if err := ci.Wait(timeLimit(t)); err != nil {
		t.Fatal(err)
	}
	second.want(t, 1, 1, 1, "later")
	if _, err := ci.StartTap(first.tap); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v, want net.ErrClosed", err)
	}
}

// A slowTap is a Tap that blocks the goroutine that sends, once slow is set.
type slowTap struct {
	slow atomic.Bool
	gone chan struct{}
}

func (s *slowTap) Sent([]byte) {
	if s.slow.Load() {
		<-s.gone
	}
}
func (s *slowTap) Received([]byte) {}
func (s *slowTap) Closed()         {}

// TestSlowTapAndDeadline: a Tap blocks the goroutine that continues a Write. The Write still
// returns at its deadline, and the caller may use its memory again.
func TestSlowTapAndDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tap := &slowTap{gone: make(chan struct{})}
		cfg := extsock.Config{Crossover: -1, Tap: func(_, _ net.Addr, _ bool) toe.Tap { return tap }}
		wire := simtoe.Config{Window: 3000, Delay: time.Millisecond} // TCP takes no batch at once
		ci, cr := simPair(t, wire, side{cfg: cfg}, copied)
		read := make(chan error, 1)
		go func() {
			for b := make([]byte, 64<<10); ; {
				if _, err := cr.Read(b); err != nil {
					read <- err
					return
				}
			}
		}()
		begin := time.Now()
		ci.SetWriteDeadline(begin.Add(time.Minute))
		time.AfterFunc(10*time.Millisecond, func() { tap.slow.Store(true) })
		p := make([]byte, 8<<20)
		n, err := ci.Write(p)
		if d := time.Since(begin); !errors.Is(err, os.ErrDeadlineExceeded) || n == len(p) || d != time.Minute {
			t.Errorf("Write = %d, %v after %v, want to end at its deadline", n, err, d)
		}
		clear(p) // the race detector would notice if the connection still used it
		close(tap.gone)
		ci.Close()
		<-read
		cr.Close()
		settle()
	})
}
