package extsock_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// lateStream is a stream in a process that was stopped for a while: a Read of which the time is
// over does not see what has come meanwhile.
type lateStream struct {
	toe.Stream
	before  int // Reads that are as always
	stopped time.Duration
}

func (s *lateStream) Read(p []byte) (int, error) {
	if s.before--; s.before >= 0 {
		return s.Stream.Read(p)
	}
	if d := s.stopped; d > 0 {
		s.stopped = 0
		time.Sleep(d)
		return 0, &net.OpError{Op: "read", Net: "sim", Err: os.ErrDeadlineExceeded}
	}
	return s.Stream.Read(p)
}

// TestSniffTimeoutIsThePeers: where this process was late, and not the peer's Request, the
// connection is no plain TCP.
func TestSniffTimeoutIsThePeers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		s := &lateStream{Stream: b, stopped: time.Second}
		cr := extsock.NewConn(s, false, &extsock.Config{Startup: extsock.StartupPrefer, SniffTimeout: 100 * time.Millisecond})
		ci := extsock.NewConn(a, true, nil)
		done := make(chan error)
		go func() { done <- cr.Handshake(t.Context()) }()
		if err := errors.Join(ci.EnableDDP(t.Context(), nil), <-done); err != nil {
			t.Error(err)
		}
		if modeOf(cr) != "DDP" {
			t.Errorf("mode %v, fallback %v", modeOf(cr), fallbackOf(cr))
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestSniffIsGrantedOnce: an octet that waits where the time of a Request is over buys no more of
// it.
func TestSniffIsGrantedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		s := &lateStream{Stream: b, before: 1, stopped: 2 * time.Second}
		c := extsock.NewConn(s, false, &extsock.Config{Startup: extsock.StartupPrefer, HandshakeTimeout: time.Second})
		go func() {
			a.Write([]byte(mpaKey[:1]))
			time.Sleep(time.Second)
			a.Write([]byte(mpaKey[1:2]))
		}()
		begin := time.Now()
		if err := c.Handshake(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 2*time.Second || modeOf(c) != "TCP" {
			t.Errorf("mode %v after %v, want plain TCP as soon as the process goes on", modeOf(c), d)
		}
		c.Close()
		a.Close()
		settle()
	})
}
