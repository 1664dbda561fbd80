package extsock_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A bomb is a Tap that panics once it is armed, at bytes that are sent or received.
type bomb struct {
	sent, received atomic.Bool
}

func (b *bomb) Sent([]byte) {
	if b.sent.CompareAndSwap(true, false) { // once: two goroutines of a connection may send
		panic("sent")
	}
}

func (b *bomb) Received([]byte) {
	if b.received.Load() {
		panic("received")
	}
}

func (b *bomb) Closed() {}

// TestPanicEndsOneConnection: a panic in the driver, on either way, in whichever goroutine, ends
// its connection with a PanicError, is counted, and leaves the other connections alone.
func TestPanicEndsOneConnection(t *testing.T) {
	alone(t)
	tests := []struct {
		desc string
		arm  func(b *bomb)
		use  func(c, peer *extsock.Conn) error // what fails
	}{
		{
			"way in", func(b *bomb) { b.received.Store(true) },
			func(c, peer *extsock.Conn) error {
				peer.Write([]byte("x"))
				_, err := c.Read(make([]byte, 1))
				return err
			},
		},
		{
			"way out", func(b *bomb) { b.sent.Store(true) },
			func(c, _ *extsock.Conn) error {
				for {
					if _, err := c.Write(make([]byte, 100)); err != nil {
						return err
					}
				}
			},
		},
		{
			"way down, in answer to a Read", func(b *bomb) { b.sent.Store(true) },
			func(c, peer *extsock.Conn) error {
				r, err := c.Register(make([]byte, 8), ddp.RemoteRead)
				if err != nil {
					return err
				}
				if _, err := peer.Remote(r.Handle()).ReadAt(make([]byte, 8), 0); err == nil {
					return errors.New("the Read was answered")
				}
				_, err = c.Read(make([]byte, 1))
				return err
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				defer extsock.ResetPanics()
				b := &bomb{}
				tap := side{cfg: extsock.Config{Tap: func(_, _ net.Addr, _ bool) toe.Tap { return b }}}
				c, peer := simPair(t, simtoe.Config{}, tap, side{})
				other, otherPeer := simPair(t, simtoe.Config{}, side{}, side{})
				tt.arm(b)
				err := tt.use(c, peer)
				var e *extsock.PanicError
				if !errors.As(err, &e) || !strings.Contains(err.Error(), "goroutine ") {
					t.Errorf("the error is %v, want a PanicError", err)
				}
				if _, err := peer.Read(make([]byte, 1)); err == nil {
					t.Error("the peer still reads")
				}
				if n := c.Stats().Panics; n != 1 {
					t.Errorf("%d panics counted", n)
				}
				if n := extsock.TotalStats().Panics; n != 1 {
					t.Errorf("%d panics counted in total", n)
				}
				if _, err := other.Write([]byte("y")); err != nil {
					t.Error(err)
				}
				if _, err := otherPeer.Read(make([]byte, 1)); err != nil {
					t.Error(err)
				}
				c.Close()
				settle()
				if n := extsock.MemoryTaken(); n != 0 {
					t.Errorf("%d octets of the process's memory are still taken", n)
				}
			})
		})
	}
}

// TestPanicInStartup: a panic during startup becomes the error of startup.
func TestPanicInStartup(t *testing.T) {
	defer extsock.ResetPanics()
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	fuse := &bomb{}
	fuse.sent.Store(true)
	c := extsock.NewConn(a, true, &extsock.Config{Tap: func(_, _ net.Addr, _ bool) toe.Tap { return fuse }})
	defer c.Close()
	defer b.Close()
	var e *extsock.PanicError
	if err := c.EnableDDP(t.Context(), nil); !errors.As(err, &e) {
		t.Errorf("EnableDDP: %v, want a PanicError", err)
	}
	if n := extsock.TotalStats().Panics; n != 1 {
		t.Errorf("%d panics counted", n)
	}
}

// panicsAt is a trace handler that panics at one event.
type panicsAt struct {
	slog.Handler
	at string
}

func (panicsAt) Enabled(context.Context, slog.Level) bool { return true }

func (h panicsAt) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h panicsAt) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.at {
		panic("in the handler")
	}
	return nil
}

// TestPanicInAListener: a panic in the goroutines of a Listener, of Config.Tap or of a trace
// handler, ends its connection and not the program. The next connection is accepted.
func TestPanicInAListener(t *testing.T) {
	alone(t)
	defer extsock.ResetPanics()
	for _, at := range []string{"rddp: plain TCP", "rddp: DDP mode", "rddp: no DDP mode", "Tap"} {
		t.Run(at, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				extsock.ResetPanics()
				first := true
				l, n := simListener(t, extsock.Config{
					Startup: extsock.StartupPrefer,
					Trace:   slog.New(panicsAt{slog.DiscardHandler, at}),
					Tap: func(_, _ net.Addr, _ bool) toe.Tap {
						if first && at == "Tap" {
							first = false
							panic("in the Tap's maker")
						}
						return nil
					},
				})
				peer, err := n.Dial(t.Context(), "sim", "sim:1")
				if err != nil {
					t.Fatal(err)
				}
				defer peer.Close()
				switch at {
				case "rddp: plain TCP":
					peer.Write([]byte("GET /"))
				case "rddp: DDP mode":
					peer.Write(request())
				case "rddp: no DDP mode":
					peer.Write([]byte(mpaKey + "\x40\x01\xff\xff"))
				}
				peer.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := io.Copy(io.Discard, peer); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection stays open")
				}
				synctest.Wait() // the panic is counted behind the end of the connection
				if n := extsock.TotalStats().Panics; n != 1 {
					t.Errorf("%d panics are counted, want 1", n)
				}
				again, err := n.Dial(t.Context(), "sim", "sim:1")
				if err != nil {
					t.Fatal(err)
				}
				l.SetDeadline(time.Now().Add(time.Minute))
				for range 2 { // the first connection may still be there, with its error
					c, err := acceptConn(l)
					if err != nil {
						t.Fatal(err)
					}
					same := c.RemoteAddr().String() == again.LocalAddr().String()
					c.Close()
					if same {
						break
					}
				}
				again.Close()
				settle()
			})
		})
	}
}

// nameless is a stream that panics when it is asked for the peer's address.
type nameless struct{ toe.Stream }

func (nameless) RemoteAddr() net.Addr { panic("in RemoteAddr") }

// TestPanicAsAConnectionComes: a connection that panics as the Listener begins its startup is
// closed.
func TestPanicAsAConnectionComes(t *testing.T) {
	alone(t)
	defer extsock.ResetPanics()
	bubble(t, func(t *testing.T) {
		below, err := simtoe.New(simtoe.Config{}).Listen(t.Context(), "sim", "sim:1")
		if err != nil {
			t.Fatal(err)
		}
		late := make(chan net.Conn, 1)
		l := extsock.NewListener(lateListener{netListener{below}, late}, &extsock.Config{Startup: extsock.StartupRequire})
		a, peer := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		late <- nameless{a}
		peer.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := peer.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection stays open")
		}
		close(late)
		l.Close()
		below.Close()
		peer.Close()
		settle()
	})
}

// A badHandler panics at each event whose text contains what.
type badHandler struct {
	slog.Handler
	what string
}

func (h *badHandler) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.what) {
		panic("handler of " + h.what)
	}
	return nil
}
func (h *badHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// TestPanicOfTheTrace: a trace handler that panics, at whatever event, ends its connection. No call
// hangs, and no panic leaves the library.
func TestPanicOfTheTrace(t *testing.T) {
	alone(t)
	for _, what := range []string{"no credits", "connection ends", "closed"} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				debug := &slog.HandlerOptions{Level: slog.LevelDebug}
				h := &badHandler{Handler: slog.NewTextHandler(io.Discard, debug), what: what}
				ours := side{cfg: extsock.Config{Trace: slog.New(h), CloseTimeout: time.Second}}
				c, peer := simPair(t, simtoe.Config{}, ours, side{cfg: extsock.Config{RecvDepth: 4}})
				c.SetWriteDeadline(time.Now().Add(time.Second))
				for range 20 { // more than the peer's credits
					if _, err := c.Write(make([]byte, 8000)); err != nil {
						break
					}
				}
				c.Close()
				peer.Close()
				settle()
				if n := c.Stats().Panics; n != 1 {
					t.Errorf("%d panics, want 1", n)
				}
			})
		})
	}
	extsock.ResetPanics()
}
