//go:build amd64 || arm64

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/rules"
	"github.com/rddp/rddp/internal/softrnic/user"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func init() { programs["accept-shared"] = acceptSharedProgram }

// listenShared listens with SO_REUSEPORT.
func listenShared(at string) (net.Listener, error) {
	c := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if e := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }); e != nil {
			return e
		}
		return err
	}}
	return c.Listen(context.Background(), "tcp", at)
}

// greetAll greets each client of a listener. Once the listener is closed, it returns the number of
// clients.
func greetAll(l net.Listener, greeting string) (n int) {
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return n
		}
		n++
		clients.Go(func() {
			defer c.Close()
			_, _ = io.WriteString(c, greeting)
			_, _ = io.Copy(io.Discard, c) // the client ends it
		})
	}
}

// acceptSharedProgram greets its clients, and shares its port with others.
func acceptSharedProgram(args []string) error {
	l, err := listenShared(args[0])
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go untilInput()
	greetAll(l, "hello")
	return nil
}

// TestSharedPort shares a listener's port with a process that has no supervisor. Each connection
// reaches exactly one of the two programs, and none reaches a program on another port.
func TestSharedPort(t *testing.T) {
	files, _, _ := identity(t)
	for _, c := range []struct {
		desc string
		env  []string
		dial dialFunc
		want string // in the log, with the number of connections
	}{
		{"silent clients", nil, plainClient, "ddp=0 plain=%d untouched=0"},
		{"clients with TLS", []string{envIdentity + "=" + files}, tlsClient(nil), "ddp=%d plain=0 untouched=0"},
	} {
		t.Run(c.desc, func(t *testing.T) {
			ours := startListening(t, append(c.env, silent), "accept-shared", "127.0.0.1:0")
			other, err := listenShared(ours.address)
			if err != nil {
				t.Fatal(err)
			}
			accepted := make(chan int, 1)
			go func() { accepted <- greetAll(other, "other") }()
			var here, there atomic.Int32
			var clients sync.WaitGroup
			for range 24 {
				clients.Go(func() {
					conn, err := c.dial(t.Context(), ours.address)
					if err != nil && c.env != nil { // the other process has no TLS
						there.Add(1)
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					b := make([]byte, 5)
					_, err = io.ReadFull(conn, b)
					switch {
					case string(b) == "hello":
						here.Add(1)
					case string(b) == "other":
						there.Add(1)
					default:
						t.Errorf("the greeting is %q, %v", b, err)
					}
				})
			}
			clients.Wait()
			other.Close()
			if n := <-accepted; n != int(there.Load()) {
				t.Errorf("the other process has accepted %d connections, of %d clients", n, there.Load())
			}
			ours.end(t, fmt.Sprintf(c.want, here.Load()))
		})
	}
}

// TestKept checks a connection that waits for an accept when another process begins to listen at
// the port. It has no token until that process has ended, and the program's next accept takes it.
// If the listener is closed, the connection ends.
func TestKept(t *testing.T) {
	for _, end := range []string{"accepted", "alone again", "listener closed", "program ended"} {
		t.Run(end, func(t *testing.T) {
			l, err := listenShared("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			tr, err := newTCPRelay(Config{Log: slog.New(slog.DiscardHandler), TCPListen: []rules.Rule{{}}})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.drain()
			var s source
			raw, err := l.(*net.TCPListener).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			if err := raw.Control(func(fd uintptr) { s = tr.sourceOf(int(fd)) }); err != nil {
				t.Fatal(err)
			}
			if g := tr.groupOf(s); g != onlyOurs {
				t.Fatalf("group %d", g)
			}
			other, err := listenShared(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if g := tr.groupOf(s); g != mixed {
				t.Fatalf("group %d with another process", g)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a := &arrival{fd: -1, local: netip.MustParseAddrPort(l.Addr().String()), from: s}
			queued := make(chan error, 1)
			go func() { queued <- tr.queue(ctx, a) }()
			prototest.Wait(t, "the connection", func() bool { return tr.hasKept(s) })
			var want error
			switch end {
			case "accepted":
				if tr.takeKept(s) != a {
					t.Error("accept takes something else")
				}
			case "alone again":
				other.Close()
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if tr.claim(c.RemoteAddr().(*net.TCPAddr).AddrPort()) != a {
					t.Error("the token is for something else")
				}
				c.Close()
			case "listener closed":
				l.Close()
				want = errListenerGone
			case "program ended":
				cancel()
				want = context.Canceled
			}
			if err := <-queued; !errors.Is(err, want) {
				t.Errorf("queue = %v, want %v", err, want)
			}
			if tr.hasKept(s) {
				t.Error("it is still kept")
			}
		})
	}
}

// TestGroupUnclear: if the kernel does not tell which sockets listen, the group may be shared, and
// the warning says so.
func TestGroupUnclear(t *testing.T) {
	var log bytes.Buffer
	tr, err := newTCPRelay(Config{Log: slog.New(slog.NewTextHandler(&log, nil)), TCPListen: []rules.Rule{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.drain()
	tr.allListeners = func() ([]user.Listener, error) { return nil, unix.EACCES }
	g := tr.groupOf(source{reuses: true})
	if !g.mayBeShared() {
		t.Errorf("group %d is not shared", g)
	}
	for range 2 {
		tr.decideNow(&arrival{}, g)
	}
	if n := strings.Count(log.String(), "the kernel does not tell"); n != 1 {
		t.Errorf("%d warnings in %s", n, &log)
	}
}
