package netconn_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/simtoe"
)

// A badConn is a net.Conn of the program. One of its methods panics once it is armed.
type badConn struct {
	net.Conn
	method string
	armed  atomic.Bool
}

func (b *badConn) call(method string) {
	if method == b.method && b.armed.Load() {
		panic("a bug in " + method)
	}
}

func (b *badConn) Read(p []byte) (int, error)  { b.call("Read"); return b.Conn.Read(p) }
func (b *badConn) Write(p []byte) (int, error) { b.call("Write"); return b.Conn.Write(p) }
func (b *badConn) CloseWrite() error           { b.call("CloseWrite"); return nil }
func (b *badConn) Close() error                { b.call("Close"); return b.Conn.Close() }

func (b *badConn) SetReadDeadline(t time.Time) error {
	b.call("SetReadDeadline")
	return b.Conn.SetReadDeadline(t)
}

func (b *badConn) SetWriteDeadline(t time.Time) error {
	b.call("SetWriteDeadline")
	return b.Conn.SetWriteDeadline(t)
}

func (b *badConn) SetLinger(int) error { b.call("SetLinger"); return nil }

var badMethods = []string{"Read", "Write", "CloseWrite", "Close", "SetReadDeadline", "SetWriteDeadline", "SetLinger"}

// use makes each call of a Stream, and then ends it. A panic may reach the caller, but no other
// goroutine.
func use(t *testing.T, s toe.Stream, below net.Conn) {
	t.Helper()
	for _, f := range []func() error{
		func() error { _, err := s.TryWriteBatch([][]byte{[]byte("x")}); return err },
		func() error { return s.SetDeadline(time.Now().Add(time.Second)) },
		func() error { _, err := s.Write([]byte("y")); return err },
		func() error { _, err := s.Read(make([]byte, 1)); return err },
		s.CloseWrite,
		func() error { return s.Flush(time.Second) },
		s.Close,
		s.Abort,
	} {
		_ = panics.Guard(f)
	}
	below.Close() // a Close that panics has not done this
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.(interface{ Wait(context.Context) error }).Wait(ctx); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

// If a method of the program's net.Conn panics, in any goroutine, only its connection ends, and no
// call blocks because of it.
func TestPanicOfNetConn(t *testing.T) {
	defer panics.Forget()
	for _, method := range badMethods {
		for desc, stream := range map[string]func(net.Conn) toe.Stream{"New": netconn.New, "NewBuffered": netconn.NewBuffered} {
			t.Run(method+" "+desc, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x, y := net.Pipe()
					defer x.Close()
					defer y.Close()
					bad := &badConn{Conn: x, method: method}
					s := stream(bad)
					bad.armed.Store(true)
					go y.Write([]byte("z"))
					go io.Copy(io.Discard, y)
					use(t, s, x)
				})
			})
		}
	}
}

// The same below TLS, before and after the handshake.
func TestPanicBelowTLS(t *testing.T) {
	defer panics.Forget()
	for _, method := range badMethods {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(method, " after: ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x, y := net.Pipe()
					defer x.Close()
					defer y.Close()
					bad := &badConn{Conn: x, method: method}
					bad.armed.Store(!after)
					a, b := tlsOver(t, bad, y)
					if after {
						go b.Handshake()
						if err := a.Handshake(); err != nil {
							t.Fatal(err)
						}
					}
					s := netconn.New(a)
					bad.armed.Store(true)
					go func() {
						b.Write([]byte("z"))
						io.Copy(io.Discard, b)
					}()
					use(t, s, x)
				})
			})
		}
	}
}

// A badStream is a Stream of the program whose writes panic once it is armed.
type badStream struct {
	toe.Stream
	armed atomic.Bool
}

func (b *badStream) TryWriteBatch(bufs [][]byte) (int, error) {
	if b.armed.Load() {
		panic("a bug of the Stream")
	}
	return b.Stream.TryWriteBatch(bufs)
}

func (b *badStream) Write(p []byte) (int, error) {
	if b.armed.Load() {
		panic("a bug of the Stream")
	}
	return b.Stream.Write(p)
}

// A Stream that panics below TLS panics in the caller of TryWriteBatch. The lock is still
// consistent, and the stream ends.
func TestPanicBelowWire(t *testing.T) {
	defer panics.Forget()
	synctest.Test(t, func(t *testing.T) {
		x, y := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		defer y.Abort()
		bad := &badStream{Stream: x}
		a, b := shaken(t, netconn.ForTLS(bad), y)
		defer b.Close()
		s := netconn.New(a)
		bad.armed.Store(true)
		e := (*panics.Error)(nil)
		if err := panics.Guard(func() error { _, err := s.TryWriteBatch([][]byte{[]byte("x")}); return err }); !errors.As(err, &e) {
			t.Errorf("TryWriteBatch: %v, want a panic", err)
		}
		use(t, s, x)
	})
}

// A callback of the program's tls.Config that panics ends its connection: Read returns the panic.
func TestPanicInHandshake(t *testing.T) {
	defer panics.Forget()
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		cfg := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { panic("a bug of the callback") }}
		s := netconn.New(tls.Server(x, cfg))
		go tls.Client(y, &tls.Config{InsecureSkipVerify: true}).Handshake()
		e := (*panics.Error)(nil)
		if _, err := s.Read(make([]byte, 1)); !errors.As(err, &e) {
			t.Errorf("Read: %v, want a panic", err)
		}
		if n := panics.Count(); n != 1 {
			t.Errorf("%d panics are counted, want 1", n)
		}
		use(t, s, x)
	})
}

// A badState is a net.Conn of the program whose handshake ends at once, with err, and whose state
// panics.
type badState struct {
	net.Conn
	err error
}

func (b badState) HandshakeContext(context.Context) error { return b.err }
func (badState) ConnectionState() tls.ConnectionState     { panic("a bug in ConnectionState") }

// A ConnectionState that panics after the handshake ends its connection. After a handshake that has
// failed nobody calls it.
func TestPanicAfterHandshake(t *testing.T) {
	defer panics.Forget()
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		s := netconn.New(badState{Conn: x})
		e := (*panics.Error)(nil)
		if _, err := s.Read(make([]byte, 1)); !errors.As(err, &e) {
			t.Errorf("Read: %v, want a panic", err)
		}
		use(t, s, x)
	})
	panics.Forget()
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		want := errors.New("the handshake has failed")
		s := netconn.New(badState{x, want})
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("Read: %v, want %v", err, want)
		}
		if n := panics.Count(); n != 0 {
			t.Errorf("%d panics are counted, want none", n)
		}
		s.Abort()
	})
}
