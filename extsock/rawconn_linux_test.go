//go:build linux

package extsock_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/devicetest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
)

// rawConns are pairs of connections in all modes. The first pair is of package net.
var rawConns = []struct {
	desc string
	pair func(t *testing.T) (a, b tcpLike)
	// resets says that the peer's reset arrives as one.
	resets bool
}{
	{"TCP", func(t *testing.T) (a, b tcpLike) { return beside(t) }, true},
	{"TCP mode", func(t *testing.T) (a, b tcpLike) {
		x, y := kernelStreams(t)
		return extsock.NewConn(x, true, nil), extsock.NewConn(y, false, nil)
	}, true},
	{"a plain peer's first octets", func(t *testing.T) (a, b tcpLike) {
		x, y := kernelStreams(t)
		return extsock.NewConn(x, false, &extsock.Config{Startup: extsock.StartupPrefer}), y.(*net.TCPConn)
	}, true},
	{"TLS in TCP mode", func(t *testing.T) (a, b tcpLike) {
		x, y := tlsStreams(t)
		return extsock.NewConn(x, true, nil), extsock.NewConn(y, false, nil)
	}, false},
	{"byte stream", func(t *testing.T) (a, b tcpLike) { return tcpPair(t, side{}, side{}) }, true},
	{"byte stream, the Responder", func(t *testing.T) (a, b tcpLike) {
		ci, cr := tcpPair(t, side{}, side{})
		return cr, ci
	}, true},
	{"messages", func(t *testing.T) (a, b tcpLike) { return tcpPair(t, inMessages, inMessages) }, true},
	{"DDP mode over TLS", func(t *testing.T) (a, b tcpLike) {
		x, y := tlsStreams(t)
		return switched(t, x, y, side{}, side{})
	}, false},
	{"DDP mode over ForTLS", func(t *testing.T) (a, b tcpLike) {
		x, y := kernelStreams(t)
		client, server := tlsConfigs(t)
		c := tls.Client(netconn.ForTLS(kernel.New(x.(*net.TCPConn))), client)
		s := tls.Server(netconn.ForTLS(kernel.New(y.(*net.TCPConn))), server)
		return switched(t, c, s, side{}, side{})
	}, true},
	{"DDP mode over a unix socket", func(t *testing.T) (a, b tcpLike) {
		x, y := unixStreams(t)
		return switched(t, x, y, side{}, side{})
	}, false},
	{"DDP mode over a pipe", func(t *testing.T) (a, b tcpLike) {
		x, y := net.Pipe()
		return switched(t, x, y, side{}, side{})
	}, false},
	{"rsockets", func(t *testing.T) (a, b tcpLike) { return tcpPair(t, speaksRSockets, speaksRSockets) }, true},
	{"a channel adapter", onKind(false), true},
	{"an RNIC", onKind(true), true},
}

func onKind(rnic bool) func(t *testing.T) (a, b tcpLike) {
	return func(t *testing.T) (a, b tcpLike) { return devicePair(t, &devicetest.Backend{RNIC: rnic}) }
}

// peekOne and readOne look at a connection as database drivers do before they take it from a pool.
func peekOne(c syscall.Conn) string { return lookOne(c, unix.MSG_PEEK|unix.MSG_DONTWAIT) }
func readOne(c syscall.Conn) string { return lookOne(c, 0) }

func lookOne(c syscall.Conn, flags int) string {
	raw, err := c.SyscallConn()
	if err != nil {
		return kind(err)
	}
	seen := "not called"
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], flags)
		switch {
		case err != nil:
			seen = unix.ErrnoName(err.(syscall.Errno))
		case n == 0:
			seen = "the end"
		default:
			seen = string(b[:])
		}
		return true
	})
	if err != nil {
		return seen + ": " + kind(err)
	}
	return seen
}

// comes waits until a look at c shows something, and returns what it shows.
func comes(t *testing.T, c syscall.Conn) (seen string) {
	t.Helper()
	prototest.Wait(t, "anything", func() bool {
		seen = peekOne(c)
		return seen != "EAGAIN"
	})
	return seen
}

// looksUntilTheEnd looks at a in all states up to the end of the peer's stream.
func looksUntilTheEnd(t *testing.T, a, b tcpLike) (seen []string) {
	note := func(what string, results ...any) { seen = append(seen, what+": "+fmt.Sprint(results...)) }
	note("idle", peekOne(a), readOne(a))
	if _, err := b.Write([]byte("data")); err != nil {
		t.Error(err)
	}
	note("data", comes(t, a), peekOne(a), readOne(a), readOne(a))
	rest := make([]byte, 2)
	n, err := io.ReadFull(a, rest)
	note("the rest", string(rest[:n]), err, peekOne(a))
	n, err = a.Write([]byte("question"))
	note("Write", n, err)
	n, err = io.ReadFull(b, make([]byte, 8))
	note("the peer's Read", n, err)
	if _, err := b.Write([]byte("answer")); err != nil {
		t.Error(err)
	}
	rest = make([]byte, 3)
	n, err = io.ReadFull(a, rest)
	note("a part", string(rest[:n]), err, peekOne(a), readOne(a), readOne(a), peekOne(a))
	a.SetReadDeadline(time.Unix(1, 0))
	note("a deadline", peekOne(a))
	a.SetReadDeadline(time.Time{})
	n, err = io.ReadFull(a, rest[:1])
	note("the end of it", string(rest[:n]), err, peekOne(a))

	calls, got := make(chan bool, 100), ""
	raw, err := a.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() {
		waited <- raw.Read(func(fd uintptr) bool {
			b := make([]byte, 100)
			n, err := unix.Read(int(fd), b)
			got += string(b[:max(n, 0)])
			calls <- true
			return err == nil && len(got) >= 10
		})
	}()
	<-calls
	for _, half := range []string{"01234", "56789"} {
		if _, err := b.Write([]byte(half)); err != nil {
			t.Error(err)
		}
	}
	note("a call that waits", <-waited, got)
	got = ""
	if _, err := b.Write([]byte("last")); err != nil {
		t.Error(err)
	}
	note("before the end", comes(t, a))
	b.Close()
	rest = make([]byte, 4)
	n, err = io.ReadFull(a, rest)
	note("the last", string(rest[:n]), err)
	note("the end", comes(t, a), readOne(a))
	n, err = a.Read(rest)
	note("Read", n, err, peekOne(a))
	a.SetReadDeadline(time.Now().Add(time.Millisecond))
	note("Close", a.Close(), peekOne(a), kind(raw.Read(func(uintptr) bool { return true })), kind(raw.Control(func(uintptr) {})))
	return seen
}

// TestRawConnLooks: in every mode, SyscallConn shows whether a connection is alive, has data or has
// ended, as it does over TCP, and nothing of the stream is lost by that.
func TestRawConnLooks(t *testing.T) {
	var want []string
	for _, r := range rawConns {
		t.Run(r.desc, func(t *testing.T) {
			a, b := r.pair(t)
			defer a.Close()
			defer b.Close()
			got := looksUntilTheEnd(t, a, b)
			if want == nil {
				want = got
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%q, on TCP %q", got[i], want[i])
				}
			}
		})
	}
}

// awaitEvents waits until the operating system has something for c, or c has something for a Read.
func awaitEvents(t *testing.T, c syscall.Conn, events int16) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "something to read", func() (ready bool) {
		if err := raw.Control(func(fd uintptr) {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, 0)
			ready = n > 0 || err != nil && err != unix.EINTR
		}); err != nil {
			t.Fatal(err)
		}
		return ready || peekOne(c) != "EAGAIN"
	})
}

// TestRawConnSeesAtOnce: a look sees what has arrived, even if no goroutine has received it yet.
func TestRawConnSeesAtOnce(t *testing.T) {
	for _, r := range rawConns {
		switch r.desc {
		case "TCP", "byte stream", "messages", "DDP mode over ForTLS", "DDP mode over a unix socket":
		default:
			continue // the peer's bytes take time there
		}
		t.Run(r.desc, func(t *testing.T) {
			a, b := r.pair(t)
			defer a.Close()
			p := make([]byte, 9000)
			for i := range 300 { // so that Reads are trusted, and no goroutine receives between them
				if _, err := b.Write(p); err != nil {
					t.Fatal(err)
				}
				if i%100 == 99 {
					awaitEvents(t, a, unix.POLLIN)
					if seen := peekOne(a); seen != "\x00" {
						t.Fatalf("when data has arrived %q is seen", seen)
					}
				}
				if _, err := io.ReadFull(a, p); err != nil {
					t.Fatal(err)
				}
				if i%100 == 99 {
					if seen := readOne(a); seen != "EAGAIN" {
						t.Fatalf("when all has been read, %q is seen", seen)
					}
				}
			}
			b.Close()
			awaitEvents(t, a, unix.POLLRDHUP)
			if seen := readOne(a); seen != "the end" {
				t.Errorf("when the end has arrived %q is seen", seen)
			}
		})
	}
}

// TestRawConnReset: a look sees the peer's reset as a Read does, and only the first look or Read
// sees it.
func TestRawConnReset(t *testing.T) {
	for _, looks := range []bool{false, true} {
		var want []string
		for _, r := range rawConns {
			if !r.resets {
				continue
			}
			t.Run(fmt.Sprintf("%s, looks %t", r.desc, looks), func(t *testing.T) {
				a, b := r.pair(t)
				defer a.Close()
				if _, err := b.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(a, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				b.SetLinger(0)
				b.Close()
				var got []string
				if looks {
					got = append(got, comes(t, a), peekOne(a))
				}
				for range 3 {
					_, err := a.Read(make([]byte, 1))
					got = append(got, kind(err))
				}
				got = append(got, peekOne(a))
				if _, err := a.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
					t.Errorf("Write = %v", err)
				}
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q, on TCP %q", got, want)
				}
			})
		}
	}
}

// TestRawConnDescriptor: the descriptor of a look is closed when the look is over, even after a
// panic, and it is not the descriptor that Control gives.
func TestRawConnDescriptor(t *testing.T) {
	a, _ := tcpPair(t, side{}, side{})
	raw, err := a.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var given, settings uintptr
	func() {
		defer func() { recover() }()
		_ = raw.Read(func(fd uintptr) bool { given = fd; panic("from the program") })
	}()
	if _, err := unix.FcntlInt(given, unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("the descriptor of a look that has ended: %v, want EBADF", err)
	}
	if err := raw.Read(func(fd uintptr) bool { given = fd; return true }); err != nil {
		t.Errorf("a look after that: %v", err)
	}
	if err := raw.Control(func(fd uintptr) {
		settings = fd
		if _, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil {
			t.Error(err)
		}
	}); err != nil || settings == given {
		t.Errorf("Control gave %d, and the look %d: %v", settings, given, err)
	}
	if err := raw.Read(func(fd uintptr) bool {
		if n, err := unix.Write(int(fd), []byte("x")); err != unix.EPIPE {
			t.Errorf("a write to what a look gives = %d, %v, want EPIPE", n, err)
		}
		flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("a child process would get the descriptor: %#x, %v", flags, err)
		}
		return true
	}); err != nil {
		t.Error(err)
	}
}

// TestRawConnBesideReads: while a look is under way, no Read gets what the look shows.
func TestRawConnBesideReads(t *testing.T) {
	for _, r := range rawConns {
		t.Run(r.desc, func(t *testing.T) {
			a, b := r.pair(t)
			defer a.Close()
			defer b.Close()
			total := testmode.Rounds(20000, 2000)
			go func() {
				for i := range total {
					if _, err := b.Write([]byte{byte(i)}); err != nil {
						return
					}
				}
			}()
			stop, looked := make(chan struct{}), make(chan error)
			go func() {
				for {
					select {
					case <-stop:
						looked <- nil
						return
					default:
					}
					if seen := peekOne(a); seen == "the end" || len(seen) > 1 && seen != "EAGAIN" {
						looked <- errors.New(seen)
						return
					}
				}
			}()
			got := make([]byte, 100)
			for i := 0; i < total; {
				n, err := a.Read(got)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range got[:n] {
					if x != byte(i) {
						t.Fatalf("byte %d is %d", i, x)
					}
					i++
				}
			}
			close(stop)
			b.Close() // ends a look that waits for a Read
			if err := <-looked; err != nil && !errors.Is(err, os.ErrClosed) && err.Error() != "the end" && err.Error() != "ECONNRESET" {
				t.Error(err)
			}
		})
	}
}
