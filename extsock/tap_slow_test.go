package extsock_test

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// slowTap is a Tap that keeps whoever sends, once it is told to.
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

// TestSlowTapAndDeadline: a Tap keeps the goroutine that goes on with a Write. The Write returns at
// its deadline all the same, and its memory is the caller's again.
func TestSlowTapAndDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tap := &slowTap{gone: make(chan struct{})}
		cfg := extsock.Config{Crossover: -1, Tap: func(_, _ net.Addr, _ bool) extsock.Tap { return tap }}
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
		clear(p) // the race detector knows whose it is
		close(tap.gone)
		ci.Close()
		<-read
		cr.Close()
		settle()
	})
}
