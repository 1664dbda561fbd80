package extsock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// This file tests panics of the program's code in goroutines of this module. They end a connection
// and not the process.

// A closeBomb is a Tap that panics when the connection has ended.
type closeBomb struct{}

func (closeBomb) Sent([]byte)     {}
func (closeBomb) Received([]byte) {}
func (closeBomb) Closed()         { panic("closed") }

// TestPanicInClosed: the end of a connection whose Tap panics is counted, in either mode and also
// if startup fails in a goroutine of the Listener.
func TestPanicInClosed(t *testing.T) {
	alone(t)
	for desc, send := range map[string]string{
		"plain TCP": "GET / HTTP/1.0\r\n\r\n", "no MPA": "x", "DDP mode": string(request()), "a bad Request": mpaKey + "\x40\x01\xff\xff", "silent": "",
	} {
		for _, start := range []extsock.Startup{extsock.StartupRequire, extsock.StartupPrefer} {
			t.Run(fmt.Sprint(desc, start), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					extsock.ResetPanics()
					defer extsock.ResetPanics()
					l, n := simListener(t, extsock.Config{Startup: start, Tap: func(_, _ net.Addr, _ bool) toe.Tap { return closeBomb{} }})
					peer, err := n.Dial(t.Context(), "sim", "sim:1")
					if err != nil {
						t.Fatal(err)
					}
					peer.Write([]byte(send))
					synctest.Wait()
					peer.Close()
					settle()
					_ = panics.Guard(l.Close)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := l.Wait(ctx); err != nil {
						t.Errorf("Wait: %v", err)
					}
					if n := extsock.TotalStats().Panics; n != 1 {
						t.Errorf("%d panics are counted, want 1", n)
					}
				})
			})
		}
	}
}

// A worst is a Tap. Once it is armed, every call panics.
type worst struct{ armed *atomic.Bool }

func (w worst) call() {
	if w.armed.Load() {
		panic("a broken logger")
	}
}

func (w worst) Sent([]byte)     { w.call() }
func (w worst) Received([]byte) { w.call() }
func (w worst) Closed()         { w.call() }

// A worstHandler is a trace handler. Once it is armed, every call panics.
type worstHandler struct {
	slog.Handler
	worst
}

func (worstHandler) Enabled(context.Context, slog.Level) bool    { return true }
func (h worstHandler) Handle(context.Context, slog.Record) error { h.call(); return nil }
func (h worstHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h worstHandler) WithGroup(string) slog.Handler             { return h }

// TestPanicsOfAll: one connection ends however many calls of its Taps and its trace panic.
func TestPanicsOfAll(t *testing.T) {
	alone(t)
	for round := 1; round <= 20; round++ {
		bubble(t, func(t *testing.T) {
			defer extsock.ResetPanics()
			armed, writes := new(atomic.Bool), new(atomic.Int32)
			cfg := extsock.Config{
				Trace: slog.New(worstHandler{slog.DiscardHandler, worst{armed}}),
				Tap:   func(_, _ net.Addr, _ bool) toe.Tap { return worst{armed} }, RecvDepth: 4,
			}
			a, b := simPair(t, simtoe.Config{}, side{cfg: cfg}, side{cfg: extsock.Config{RecvDepth: 4}})
			if _, err := a.StartTap(func(net.Addr, net.Addr, bool) toe.Tap { return worst{armed} }); err != nil {
				t.Fatal(err)
			}
			for _, c := range []*extsock.Conn{a, b} {
				go func() {
					for range 30 {
						if _, err := c.Write(make([]byte, 20000)); err != nil {
							return
						}
						if writes.Add(1) == int32(round) {
							armed.Store(true)
						}
					}
				}()
				go io.Copy(io.Discard, c)
			}
			time.Sleep(time.Second)
			a.Close()
			b.Close()
			settle()
			if n := extsock.TotalStats().Open; n != 0 {
				t.Errorf("%d connections are open", n)
			}
			if a.Stats().Panics == 0 {
				t.Error("no panic is counted")
			}
		})
	}
}

// TestPanicOfTLSConfig: a peer whose ClientHello reaches a bug of the program's tls.Config loses
// its connection. The server goes on.
func TestPanicOfTLSConfig(t *testing.T) {
	alone(t)
	defer extsock.ResetPanics()
	client, server := tlsConfigs(t)
	server = server.Clone()
	server.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if len(h.SupportedProtos) > 0 {
			panic("a bug of the callback")
		}
		return nil, nil
	}
	for _, start := range []extsock.Startup{extsock.StartupPrefer, extsock.StartupRequire} {
		extsock.ResetPanics()
		l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: server, Startup: start})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					c.Read(make([]byte, 1))
					c.Close()
				}()
			}
		}()
		bad := client.Clone()
		bad.NextProtos = []string{"bad"}
		if c, err := tls.Dial("tcp", l.Addr().String(), bad); err == nil {
			c.Close()
			t.Error("the handshake of the bad client succeeds")
		}
		c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{TLS: client, Startup: start})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if n := extsock.TotalStats().Panics; n != 1 {
			t.Errorf("%d panics are counted, want 1", n)
		}
	}
}

// A badStream is a Stream of the program. Once it is armed, one of its methods panics.
type badStream struct {
	toe.Stream
	method string
	armed  *atomic.Bool
}

func (b *badStream) call(method string) {
	if method == b.method && b.armed.Load() {
		panic("a bug in " + method)
	}
}

func (b *badStream) Read(p []byte) (int, error)  { b.call("Read"); return b.Stream.Read(p) }
func (b *badStream) Write(p []byte) (int, error) { b.call("Write"); return b.Stream.Write(p) }
func (b *badStream) Close() error                { b.call("Close"); return b.Stream.Close() }
func (b *badStream) Abort() error                { b.call("Abort"); return b.Stream.Abort() }
func (b *badStream) CloseWrite() error           { b.call("CloseWrite"); return b.Stream.CloseWrite() }
func (b *badStream) WaitWritable() error         { b.call("WaitWritable"); return b.Stream.WaitWritable() }
func (b *badStream) Watch(g *toe.Gate) bool      { b.call("Watch"); return b.Stream.Watch(g) }
func (b *badStream) Unwatch()                    { b.call("Unwatch"); b.Stream.Unwatch() }

func (b *badStream) ReadSegment(l toe.Lender, patience time.Duration) (int, uint64, error) {
	b.call("ReadSegment")
	return b.Stream.ReadSegment(l, patience)
}

func (b *badStream) TryWriteBatch(bufs [][]byte) (int, error) {
	b.call("TryWriteBatch")
	return b.Stream.TryWriteBatch(bufs)
}

func (b *badStream) SetReadDeadline(t time.Time) error {
	b.call("SetReadDeadline")
	return b.Stream.SetReadDeadline(t)
}

func (b *badStream) SetDeadline(t time.Time) error {
	b.call("SetDeadline")
	return b.Stream.SetDeadline(t)
}

var badMethods = []string{
	"Read", "Write", "Close", "Abort", "CloseWrite", "WaitWritable", "Watch", "Unwatch", "ReadSegment", "TryWriteBatch", "SetReadDeadline", "SetDeadline",
}

// TestPanicOfAStream: if a method of the program's Stream panics, during startup or in DDP mode,
// only its connection ends. The program's own calls may panic too.
func TestPanicOfAStream(t *testing.T) {
	alone(t)
	for _, method := range badMethods {
		for _, when := range []string{"at once", "in DDP mode", "at the end"} {
			t.Run(method+" "+when, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					defer extsock.ResetPanics()
					armed := new(atomic.Bool)
					armed.Store(when == "at once")
					x, y := simtoe.Pair(simtoe.Config{Window: 5000}, simtoe.Config{Window: 5000})
					prefer := &extsock.Config{Startup: extsock.StartupPrefer, IdleTimeout: time.Minute, CloseTimeout: time.Second}
					a := extsock.NewConn(y, true, &extsock.Config{CloseTimeout: time.Second})
					b := extsock.NewConn(&badStream{x, method, armed}, false, prefer)
					use := func(f func()) { _ = panics.Guard(func() error { f(); return nil }) }
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					go func() {
						if a.EnableDDP(ctx, nil) == nil {
							go io.Copy(io.Discard, a)
							a.Write(make([]byte, 50000))
						}
					}()
					use(func() { b.Handshake(ctx) })
					synctest.Wait()
					armed.Store(when != "at the end")
					b.SetDeadline(time.Now().Add(time.Second))
					use(func() { b.Write(make([]byte, 50000)) })
					use(func() { b.Read(make([]byte, 100)) })
					use(func() { b.Read(make([]byte, 100)) })
					synctest.Wait()
					armed.Store(true)
					use(func() { b.Close() })
					x.Abort() // a Close that panics has not done so
					a.Close()
					settle()
					if err := errors.Join(a.Wait(ctx), b.Wait(ctx)); err != nil {
						t.Errorf("Wait: %v", err)
					}
					if n := extsock.TotalStats().Open; n != 0 {
						t.Errorf("%d connections are open", n)
					}
				})
			})
		}
	}
}
