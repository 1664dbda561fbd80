package extsock_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestCloseAsSniffBegins: Close looks for unread octets while the sniff makes room for them. The
// race detector is the judge.
func TestCloseAsSniffBegins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range 200 {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			c := extsock.NewConn(b, false, &extsock.Config{Startup: extsock.StartupPrefer})
			if err := c.Handshake(over); !errors.Is(err, context.Canceled) {
				t.Fatalf("Handshake = %v", err)
			}
			c.Close()
			a.Close()
		}
	})
}

// TestCloseDuringStartupRevokes: after Close, the peer cannot use registered memory, even if the
// Listener is still running the connection's startup.
func TestCloseDuringStartupRevokes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, cfg := delayed(t, extsock.Config{Startup: extsock.StartupRequire})
		dialed := make(chan *extsock.Conn, 1)
		go func() {
			c, err := extsock.Dial("sim", "sim:1", cfg)
			if err != nil {
				t.Error(err)
			}
			dialed <- c
		}()
		c, err := acceptConn(l)
		if err != nil {
			t.Fatal(err)
		}
		memory := make([]byte, 100)
		h := register(t, c, memory, ddp.RemoteWrite).Handle()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		ci := <-dialed
		_, _ = ci.Remote(h).WriteAt([]byte("octets"), 0) // the Write may leave before the end arrives
		ci.Close()
		settle()
		if memory[0] != 0 {
			t.Error("the peer has written to the memory after Close")
		}
	})
}

// endless is a stream without deadlines.
type endless struct{ toe.Stream }

func (endless) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (endless) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (endless) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

func (e endless) Capabilities() toe.Capabilities {
	c := e.Stream.Capabilities()
	c.Deadlines = false
	return c
}

// endlessListener is a listener of such streams.
type endlessListener struct{ net.Listener }

func (l endlessListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return endless{c.(toe.Stream)}, nil
}

// netListener is a toe.Listener as a net.Listener.
type netListener struct{ toe.Listener }

func (l netListener) Accept() (net.Conn, error) { return l.Listener.Accept() }

// TestCloseWithoutDeadlines: over a stream without deadlines, a silent peer cannot keep a
// connection open that was accepted and closed.
func TestCloseWithoutDeadlines(t *testing.T) {
	for _, s := range bySelf {
		bubble(t, func(t *testing.T) {
			n := simtoe.New(simtoe.Config{})
			below, err := n.Listen(t.Context(), "sim", "sim:1")
			if err != nil {
				t.Fatal(err)
			}
			l := extsock.NewListener(endlessListener{netListener{below}}, &extsock.Config{Startup: s})
			peer, c := accept(t, l, n)
			c.Close()
			peer.SetReadDeadline(time.Now().Add(time.Hour))
			if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("startup %v: the peer reads %v", s, err)
			}
			peer.Close()
			l.Close()
			settle()
		})
	}
}

// tapClosed is a Tap that counts calls of Closed.
type tapClosed struct{ closed atomic.Int64 }

func (*tapClosed) Sent([]byte)     {}
func (*tapClosed) Received([]byte) {}
func (t *tapClosed) Closed()       { t.closed.Add(1) }

// A lateListener is a listener whose Accept returns a connection after Close.
type lateListener struct {
	net.Listener
	late chan net.Conn
}

func (l lateListener) Accept() (net.Conn, error) {
	c, ok := <-l.late
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l lateListener) Close() error { return nil }

// TestListenerClosedAsAConnectionComes: a connection that arrives while the Listener closes is
// reset, and its Tap is closed once.
func TestListenerClosedAsAConnectionComes(t *testing.T) {
	for _, s := range bySelf {
		bubble(t, func(t *testing.T) {
			below, err := simtoe.New(simtoe.Config{}).Listen(t.Context(), "sim", "sim:1")
			if err != nil {
				t.Fatal(err)
			}
			tap := &tapClosed{}
			late := lateListener{netListener{below}, make(chan net.Conn)}
			l := extsock.NewListener(late, &extsock.Config{Startup: s, Tap: func(_, _ net.Addr, _ bool) toe.Tap { return tap }})
			synctest.Wait()
			l.Close()
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			late.late <- b
			close(late.late)
			settle()
			a.SetReadDeadline(time.Now().Add(time.Second))
			if _, err = a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("startup %v: Read = %v, want ECONNRESET", s, err)
			}
			if k := tap.closed.Load(); k != 1 {
				t.Errorf("startup %v: Closed was called %d times", s, k)
			}
		})
	}
}

// atFailure is a trace handler that calls f when startup has failed, before the stream is closed.
type atFailure struct {
	slog.Handler
	f func()
}

func (atFailure) Enabled(context.Context, slog.Level) bool { return true }

func (h atFailure) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h atFailure) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "rddp: no DDP mode" {
		h.f()
	}
	return nil
}

// TestFailedStartupClosesOnce: a Close, or another EnableDDP, just after startup has failed finds
// the connection closed. The Tap is closed once.
func TestFailedStartupClosesOnce(t *testing.T) {
	for _, s := range []extsock.Startup{extsock.StartupOff, extsock.StartupRequire} {
		bubble(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			tap := &tapClosed{}
			var c *extsock.Conn
			var told atomic.Bool
			c = extsock.NewConn(b, false, &extsock.Config{
				Startup: s, Tap: func(_, _ net.Addr, _ bool) toe.Tap { return tap },
				Trace: slog.New(atFailure{slog.DiscardHandler, func() {
					if told.Swap(true) {
						return
					}
					over := make(chan error, 2)
					go func() { over <- c.EnableDDP(t.Context(), nil) }()
					if err := <-over; !errors.Is(err, net.ErrClosed) && !errors.Is(err, extsock.ErrNotMPA) {
						t.Errorf("startup %v: EnableDDP = %v, want net.ErrClosed or what has failed", s, err)
					}
					go func() { over <- c.Close() }()
					if err := <-over; err != nil {
						t.Errorf("startup %v: Close = %v", s, err)
					}
				}}),
			})
			a.Write([]byte("GET / HTTP/1.1\r\n"))
			if s == extsock.StartupOff {
				if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, extsock.ErrNotMPA) {
					t.Errorf("EnableDDP = %v", err)
				}
			} else if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("Read succeeds")
			}
			settle()
			if n := tap.closed.Load(); n != 1 {
				t.Errorf("startup %v: Closed was called %d times", s, n)
			}
			a.Close()
		})
	}
}
