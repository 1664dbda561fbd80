package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// tcpLike is what a *net.TCPConn and a *extsock.Conn have in common.
type tcpLike interface {
	net.Conn
	io.ReaderFrom
	io.WriterTo
	syscall.Conn
	CloseRead() error
	CloseWrite() error
	File() (*os.File, error)
	SetNoDelay(bool) error
	SetKeepAlive(bool) error
	SetKeepAlivePeriod(time.Duration) error
	SetKeepAliveConfig(net.KeepAliveConfig) error
	SetLinger(int) error
	SetReadBuffer(int) error
	SetWriteBuffer(int) error
}

var (
	_ tcpLike = (*net.TCPConn)(nil)
	_ tcpLike = (*extsock.Conn)(nil)
)

// kind returns what a program can learn from an error.
func kind(err error) string {
	if err == nil {
		return "nil"
	}
	var is []string
	for name, target := range map[string]error{
		"1 io.EOF": io.EOF, "2 net.ErrClosed": net.ErrClosed, "3 os.ErrDeadlineExceeded": os.ErrDeadlineExceeded,
		"4 ECONNRESET": syscall.ECONNRESET, "5 EPIPE": syscall.EPIPE, "6 ErrUnsupported": errors.ErrUnsupported,
	} {
		if errors.Is(err, target) {
			is = append(is, name)
		}
	}
	if e, ok := err.(net.Error); ok { //nolint:errorlint // as programs do it
		is = append(is, fmt.Sprintf("7 Timeout() %v", e.Timeout()))
	}
	var op *net.OpError
	if errors.As(err, &op) {
		is = append(is, "8 OpError "+op.Op)
	}
	if len(is) == 0 {
		return "another error: " + err.Error()
	}
	// In the order of their numbers, which are not shown.
	var b strings.Builder
	for n := '1'; n <= '8'; n++ {
		for _, s := range is {
			if rune(s[0]) == n {
				b.WriteString(s[2:] + "; ")
			}
		}
	}
	return b.String()
}

// abuses are unusual uses of connections, with the results of their calls.
var abuses = []struct {
	desc string
	do   func(c tcpLike, peer tcpLike) []error
}{
	{"use after Close", func(c tcpLike, _ tcpLike) []error {
		errs := []error{c.Close()}
		p := make([]byte, 1)
		n, err := c.Read(p)
		errs = append(errs, err, counts(n, 0))
		n, err = c.Write(p)
		errs = append(errs, err, counts(n, 0))
		_, err = c.Read(nil)
		errs = append(errs, err)
		_, err = c.Write(nil)
		errs = append(errs, err)
		_, err = c.ReadFrom(strings.NewReader("x"))
		errs = append(errs, err)
		_, err = c.WriteTo(io.Discard)
		errs = append(errs, err)
		_, err = c.File()
		errs = append(errs, err)
		return append(errs, c.CloseRead(), c.CloseWrite(), c.Close(), c.Close(),
			c.SetDeadline(time.Time{}), c.SetReadDeadline(time.Now()), c.SetWriteDeadline(time.Now()),
			c.SetNoDelay(true), c.SetKeepAlive(true), c.SetKeepAlivePeriod(time.Second), c.SetLinger(1),
			c.SetReadBuffer(1<<16), c.SetWriteBuffer(1<<16), c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true}))
	}},
	{"a raw connection after Close", func(c tcpLike, _ tcpLike) []error {
		raw, err := c.SyscallConn()
		if err != nil {
			return []error{err}
		}
		c.Close()
		return []error{raw.Control(func(uintptr) {})}
	}},
	{"a deadline in the past", func(c tcpLike, peer tcpLike) []error {
		peer.Write([]byte("here already"))
		p := make([]byte, 1)
		errs := []error{c.SetDeadline(time.Now().Add(-time.Second))}
		_, err := c.Read(p)
		errs = append(errs, err)
		_, err = c.Write(p)
		errs = append(errs, err)
		_, err = c.Read(nil)
		errs = append(errs, err, c.SetDeadline(time.Time{}))
		_, err = io.ReadFull(c, make([]byte, 12))
		return append(errs, err)
	}},
	{"a deadline that passes", func(c tcpLike, peer tcpLike) []error {
		errs := []error{c.SetReadDeadline(time.Now().Add(time.Millisecond))}
		for range 2 {
			_, err := c.Read(make([]byte, 1))
			errs = append(errs, err)
		}
		_, err := c.WriteTo(io.Discard)
		errs = append(errs, err, c.SetReadDeadline(time.Time{}))
		peer.Write([]byte("x"))
		_, err = c.Read(make([]byte, 1))
		return append(errs, err)
	}},
	{"a deadline set during a Read", func(c tcpLike, _ tcpLike) []error {
		return during(c, func() { c.SetReadDeadline(time.Now()) })
	}},
	{"Close during a Read", func(c tcpLike, _ tcpLike) []error {
		return during(c, func() { c.Close() })
	}},
	{"a Write that blocks until its deadline", func(c tcpLike, _ tcpLike) []error {
		c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := c.Write(make([]byte, 64<<20))
		errs := []error{err}
		_, err = c.ReadFrom(strings.NewReader("more"))
		return append(errs, err)
	}},
	{"the peer's FIN", func(c tcpLike, peer tcpLike) []error {
		peer.Write([]byte("last"))
		peer.CloseWrite()
		_, err := io.ReadFull(c, make([]byte, 4))
		errs := []error{err}
		for range 2 {
			_, err = c.Read(make([]byte, 1))
			errs = append(errs, err)
		}
		_, err = c.WriteTo(io.Discard)
		errs = append(errs, err)
		_, err = c.Write([]byte("still open"))
		return append(errs, err)
	}},
	{"the peer's reset", func(c tcpLike, peer tcpLike) []error {
		peer.SetLinger(0)
		peer.Close()
		_, err := c.Read(make([]byte, 1))
		errs := []error{err}
		_, err = c.Write([]byte("x"))
		errs = append(errs, err)
		_, err = c.Write([]byte("x"))
		return append(errs, err, c.SetNoDelay(true), c.CloseWrite(), c.Close())
	}},
	{"CloseWrite", func(c tcpLike, peer tcpLike) []error {
		errs := []error{c.CloseWrite(), c.CloseWrite()}
		_, err := c.Write([]byte("x"))
		errs = append(errs, err)
		_, err = peer.Read(make([]byte, 1))
		errs = append(errs, err)
		peer.Write([]byte("x"))
		_, err = c.Read(make([]byte, 1))
		return append(errs, err, c.Close())
	}},
	{"CloseRead", func(c tcpLike, _ tcpLike) []error {
		errs := []error{c.CloseRead()}
		_, err := c.Read(make([]byte, 1))
		errs = append(errs, err)
		_, err = c.Write([]byte("x"))
		return append(errs, err, c.CloseRead())
	}},
	{"settings", func(c tcpLike, _ tcpLike) []error {
		f, fileErr := c.File()
		if fileErr == nil {
			f.Close()
		}
		return []error{fileErr, c.SetNoDelay(false), c.SetKeepAlive(true), c.SetKeepAlivePeriod(time.Minute), c.SetLinger(0),
			c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Count: 3}), c.SetReadBuffer(1 << 16), c.SetWriteBuffer(1 << 16)}
	}},
}

// during runs f while a Read waits, and returns the results of both.
func during(c tcpLike, f func()) []error {
	ended := make(chan error, 1)
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	f() // before the Read or during it: the error is the same
	return []error{<-ended}
}

func counts(n, want int) error {
	if n != want {
		return fmt.Errorf("%d octets, want %d", n, want)
	}
	return nil
}

// beside returns the two ends of a connection. The second one is the peer.
func beside(t *testing.T) (a, b *net.TCPConn) {
	x, y := kernelStreams(t)
	t.Cleanup(func() { x.Close(); y.Close() })
	return x.(*net.TCPConn), y.(*net.TCPConn)
}

// TestErrorsAreThoseOfTCP makes the same calls on a *net.TCPConn and on a Conn, in TCP mode and in
// DDP mode, and compares the errors.
func TestErrorsAreThoseOfTCP(t *testing.T) {
	over := func(initiator bool, cfg *extsock.Config) func(t *testing.T) (c, peer tcpLike) {
		return func(t *testing.T) (c, peer tcpLike) {
			a, b := beside(t)
			return extsock.NewConn(a, initiator, cfg), b
		}
	}
	inDDP := func(cfg extsock.Config) func(t *testing.T) (c, peer tcpLike) {
		return func(t *testing.T) (c, peer tcpLike) { return tcpPair(t, side{cfg: cfg}, side{cfg: cfg}) }
	}
	conns := map[string]func(t *testing.T) (c, peer tcpLike){
		"initiator":      over(true, nil),
		"responder":      over(false, nil),
		"with a capture": over(true, &extsock.Config{Tap: new(recorder).tap}),
		"after a plain peer's first octets": func(t *testing.T) (c, peer tcpLike) {
			c, peer = over(false, &extsock.Config{Startup: extsock.StartupPrefer})(t)
			peer.Write([]byte("MPx"))
			if _, err := io.ReadFull(c, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			return c, peer
		},
		"DDP mode":                     inDDP(extsock.Config{}),
		"DDP mode, without rendezvous": inDDP(extsock.Config{Crossover: -1}),
	}
	// These results differ in DDP mode. PORTING.md has a table for programs.
	differs := map[string]string{
		"settings, call 0":         "ErrUnsupported; Timeout() false; OpError file; ", // File: another process can't go on with the connection
		"the peer's reset, call 4": "nil",                                             // CloseWrite: in Linux there is no connection left to end
	}
	if on.device != nil { // TCP is the device's
		unsupported := "ErrUnsupported; Timeout() false; OpError "
		for i := 1; i <= 7; i++ {
			differs[fmt.Sprintf("settings, call %d", i)] = unsupported + "set; "
		}
		differs["the peer's reset, call 3"] = unsupported + "set; "
	}
	run := func(t *testing.T, make func(t *testing.T) (c, peer tcpLike), do func(c, peer tcpLike) []error) []error {
		c, peer := make(t)
		defer c.Close()
		return do(c, peer)
	}
	for _, abuse := range abuses {
		t.Run(abuse.desc, func(t *testing.T) {
			want := run(t, func(t *testing.T) (c, peer tcpLike) { return beside(t) }, abuse.do)
			for name, make := range conns {
				got := run(t, make, abuse.do)
				if len(got) != len(want) {
					t.Fatalf("%s: %d results, of TCP %d", name, len(got), len(want))
				}
				for i := range want {
					g, w := kind(got[i]), kind(want[i])
					if other, ok := differs[fmt.Sprintf("%s, call %d", abuse.desc, i)]; ok && strings.HasPrefix(name, "DDP mode") {
						w = other
					}
					if g != w {
						t.Errorf("%s, call %d: %v\n\tis %s\n\tof TCP: %v\n\tis %s", name, i, got[i], g, want[i], w)
					}
				}
			}
		})
	}
}
