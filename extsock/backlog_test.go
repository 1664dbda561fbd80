package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// bySelf are the values of Startup with which a Listener runs startup itself.
var bySelf = []extsock.Startup{extsock.StartupPrefer, extsock.StartupRequire}

// startups runs f in a bubble for each of bySelf, with a Listener at "sim:1".
func startups(t *testing.T, f func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config)) {
	for _, s := range bySelf {
		t.Run(fmt.Sprint("startup ", s), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := extsock.Config{Startup: s}
				l, n := simListener(t, cfg)
				cfg.Backend = n
				f(t, l, n, &cfg)
				l.Close()
				settle()
			})
		})
	}
}

// TestDialBeforeAccept: one goroutine dials, and accepts after that, as it may over TCP.
func TestDialBeforeAccept(t *testing.T) {
	startups(t, func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config) {
		begin := time.Now()
		var dialed, accepted [3]*extsock.Conn
		for i := range dialed {
			c, err := extsock.Dial("sim", "sim:1", cfg)
			if err != nil {
				t.Fatal(err)
			}
			dialed[i] = c
		}
		for i := range accepted {
			c, err := acceptConn(l)
			if err != nil {
				t.Fatal(err)
			}
			accepted[i] = c
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("it took %v", d)
		}
		for i, c := range accepted { // in the order in which they have come
			if _, err := fmt.Fprintf(c, "%d", i); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 2)
			if k, err := dialed[i].Read(p); string(p[:k]) != fmt.Sprint(i) || err != nil {
				t.Errorf("connection %d: Read = %q, %v", i, p[:k], err)
			}
			if modeOf(c) != "DDP" || modeOf(dialed[i]) != "DDP" {
				t.Errorf("connection %d: modes %v and %v", i, modeOf(dialed[i]), modeOf(c))
			}
			c.Close()
			dialed[i].Close()
		}
	})
}

// TestAcceptDoesNotWait: Accept waits for no silent peer, neither that of the connection that it
// returns nor another one.
func TestAcceptDoesNotWait(t *testing.T) {
	startups(t, func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config) {
		begin := time.Now()
		silent, s := accept(t, l, n)
		c, err := extsock.Dial("sim", "sim:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		x, err := acceptConn(l)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("it took %v", d)
		}
		for _, c := range []net.Conn{silent, s, c, x} {
			c.Close()
		}
	})
}

// TestServerSpeaksFirst: with StartupPrefer, and no SniffTimeout, a server that writes first
// reaches a plain client that waits for the server, and then reads everything that the client
// sends.
func TestServerSpeaksFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupPrefer})
		peer, c := accept(t, l, n)
		time.Sleep(time.Hour) // whatever the client waits for
		begin := time.Now()
		if _, err := c.Write([]byte("220 ready")); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("Write took %v, want 1s", d)
		}
		p := make([]byte, 20)
		if k, err := peer.Read(p); string(p[:k]) != "220 ready" || err != nil {
			t.Errorf("the client reads %q, %v", p[:k], err)
		}
		peer.Write([]byte("MPA is what I say"))
		if k, err := c.Read(p); string(p[:k]) != "MPA is what I say" || err != nil {
			t.Errorf("the server reads %q, %v", p[:k], err)
		}
		if f := fallbackOf(c); f == nil || f.Reason != extsock.FallbackSniffTimeout {
			t.Errorf("fallback %v", f)
		}
	})
}

// TestFailedStartupIsNotAccepted: Accept never returns a connection whose startup has failed. If
// the program has the connection already, each call says what has failed.
func TestFailedStartupIsNotAccepted(t *testing.T) {
	for _, tt := range []struct {
		startup extsock.Startup
		sent    string
		err     error
	}{
		{extsock.StartupRequire, "GET / HTTP/1.1\r\n", extsock.ErrNotMPA},
		{extsock.StartupRequire, "", context.DeadlineExceeded},
		{extsock.StartupPrefer, mpaKey + "\x40\x01\xff\xff", nil},
		{extsock.StartupPrefer, mpaKey[:7], nil}, // it may be plain TCP, so it is accepted
	} {
		t.Run(fmt.Sprintf("startup %d, %q", tt.startup, tt.sent), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l, n := simListener(t, extsock.Config{Startup: tt.startup})
				late, c := accept(t, l, n)
				early, err := n.Dial(t.Context(), "sim", "sim:1")
				if err != nil {
					t.Fatal(err)
				}
				defer early.Close()
				for _, peer := range []net.Conn{late, early} {
					peer.Write([]byte(tt.sent))
				}
				time.Sleep(10 * time.Second) // longer than HandshakeTimeout
				l.SetDeadline(time.Now().Add(time.Second))
				if x, err := acceptConn(l); tt.sent == mpaKey[:7] && err == nil {
					x.Close()
				} else if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Accept = %v, %v, want a time-out", x, err)
				}
				_, err = c.Read(make([]byte, 100))
				if tt.sent == mpaKey[:7] {
					if err != nil {
						t.Errorf("Read = %v", err)
					}
				} else if e := (*net.OpError)(nil); !errors.As(err, &e) || e.Op != "read" || tt.err != nil && !errors.Is(err, tt.err) {
					t.Errorf("Read = %v, want %v", err, tt.err)
				}
			})
		})
	}
}

// delayed returns a Listener in a network with a delay.
func delayed(t *testing.T, cfg extsock.Config) (*extsock.Listener, *extsock.Config) {
	t.Helper()
	n := simtoe.New(simtoe.Config{Delay: 100 * time.Millisecond})
	cfg.Backend = n
	l, err := extsock.Listen("sim", "sim:1", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, &cfg
}

// TestAcceptAndClose: if the server accepts a connection and closes it, before or after the peer's
// Request has arrived, the peer sees the same: its Dial succeeds with one connection, which then
// ends.
func TestAcceptAndClose(t *testing.T) {
	for _, s := range bySelf {
		for _, wait := range []time.Duration{0, 50 * time.Millisecond, time.Minute} {
			for _, abort := range []bool{false, true} {
				t.Run(fmt.Sprintf("startup %d, Close after %v, abort %t", s, wait, abort), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						l, cfg := delayed(t, extsock.Config{Startup: s})
						accepted := make(chan error)
						go func() {
							c, err := acceptConn(l)
							if err == nil {
								time.Sleep(wait)
								if abort {
									c.SetLinger(0)
								}
								err = c.Close()
							}
							accepted <- err
						}()
						c, err := extsock.Dial("sim", "sim:1", cfg)
						if err != nil {
							t.Fatal(err)
						}
						if modeOf(c) != "DDP" {
							t.Errorf("mode %v, fallback %v", modeOf(c), fallbackOf(c))
						}
						want := io.EOF
						if abort {
							want = syscall.ECONNRESET
						}
						if k, err := c.Read(make([]byte, 1)); k != 0 || !errors.Is(err, want) {
							t.Errorf("Read = %d, %v, want %v", k, err, want)
						}
						if err := <-accepted; err != nil {
							t.Error(err)
						}
						c.Close()
						l.SetDeadline(time.Now().Add(time.Minute))
						if x, err := acceptConn(l); !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Errorf("another connection: %v, %v", x, err)
						}
					})
				})
			}
		}
	}
}

// TestAcceptAndCloseOfAPlainPeer: the end of the connection reaches a silent peer after a second. A
// peer that has sent something gets a reset at once, because its bytes were not read.
func TestAcceptAndCloseOfAPlainPeer(t *testing.T) {
	for _, sent := range []string{"", "GET /"} {
		bubble(t, func(t *testing.T) {
			l, n := simListener(t, extsock.Config{Startup: extsock.StartupPrefer})
			peer, c := accept(t, l, n)
			peer.Write([]byte(sent))
			begin := time.Now()
			if err := c.Close(); err != nil || time.Since(begin) != 0 {
				t.Errorf("Close = %v after %v", err, time.Since(begin))
			}
			_, err := peer.Read(make([]byte, 1))
			d := time.Since(begin)
			if sent == "" && (err != io.EOF || d != time.Second) {
				t.Errorf("a silent peer reads %v after %v, want io.EOF after 1s", err, d)
			}
			if sent != "" && (!errors.Is(err, syscall.ECONNRESET) || d != 0) {
				t.Errorf("the peer reads %v after %v, want ECONNRESET at once", err, d)
			}
		})
	}
}

// TestListenerCloseResets: connections that were not accepted are reset, whatever their state, and
// Accept returns none of them.
func TestListenerCloseResets(t *testing.T) {
	startups(t, func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config) {
		c, err := extsock.Dial("sim", "sim:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent, err := n.Dial(t.Context(), "sim", "sim:1")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range []net.Conn{c, silent} {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("Read = %v, want ECONNRESET", err)
			}
		}
		e := (*net.OpError)(nil)
		if x, err := l.Accept(); !errors.Is(err, net.ErrClosed) || !errors.As(err, &e) || e.Op != "accept" {
			t.Errorf("Accept = %v, %v", x, err)
		}
		if err := l.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("SetDeadline = %v", err)
		}
	})
}

// TestListenerDeadline: Accept obeys its deadline, even if the deadline moves meanwhile. A deadline
// that has passed hides connections that have come, as over TCP.
func TestListenerDeadline(t *testing.T) {
	startups(t, func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config) {
		begin := time.Now()
		wait := func(want time.Duration) {
			t.Helper()
			_, err := l.Accept()
			ne := net.Error(nil)
			if !errors.As(err, &ne) || !ne.Timeout() || time.Since(begin) != want {
				t.Errorf("Accept = %v after %v, want a time-out after %v", err, time.Since(begin), want)
			}
		}
		l.SetDeadline(begin.Add(time.Hour))
		time.AfterFunc(time.Second, func() { l.SetDeadline(begin.Add(2 * time.Second)) })
		wait(2 * time.Second)
		c, err := extsock.Dial("sim", "sim:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		wait(2 * time.Second)
		l.SetDeadline(time.Time{})
		x, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
	})
}

// TestListenerOfTheSystem: a Listener over the operating system's TCP gives access to its socket,
// with each value of Startup.
func TestListenerOfTheSystem(t *testing.T) {
	for _, s := range append(bySelf, extsock.StartupOff) {
		l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: s})
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.File()
		if err != nil {
			t.Fatalf("File = %v", err)
		}
		for _, s := range []syscall.Conn{f, l} { // not by f.Fd, after which Accept may block for good
			raw, err := s.SyscallConn()
			if err == nil {
				err = raw.Control(func(uintptr) {})
			}
			if err != nil {
				t.Errorf("SyscallConn of %T: %v", s, err)
			}
		}
		f.Close()
		if err := l.SetDeadline(time.Now()); err != nil {
			t.Errorf("SetDeadline = %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Accept = %v", err)
		}
		l.Close()
	}
	l, err := extsock.Listen("sim", "sim:1", &extsock.Config{Backend: simtoe.New(simtoe.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, fileErr := l.File()
	_, rawErr := l.SyscallConn()
	for _, err := range []error{fileErr, rawErr, l.SetDeadline(time.Now())} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("of a simulated one: %v, want ErrUnsupported", err)
		}
	}
}

// TestFileSharesTheListener: once File has given the listening socket away, the Listener leaves
// each connection to the other holder, except while the program waits in Accept or AcceptDDP.
func TestFileSharesTheListener(t *testing.T) {
	for _, s := range append(bySelf, extsock.StartupOff) {
		t.Run(fmt.Sprint("startup ", s), func(t *testing.T) {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: s})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			accepts := func(want bool) {
				t.Helper()
				prototest.Wait(t, fmt.Sprint("Accepts = ", want), func() bool { return extsock.Accepts(l) == want })
			}
			accepts(true) // as before File
			f, err := l.File()
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if s != extsock.StartupOff {
				accepts(false)
			}
			other, err := net.FileListener(f)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			serve := func() { // one connection, by the other holder
				t.Helper()
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				other.(*net.TCPListener).SetDeadline(prototest.Deadline(t))
				x, err := other.Accept()
				if err != nil {
					t.Fatalf("the other holder: %v", err)
				}
				x.Close()
			}
			for range 20 {
				serve()
			}
			for _, accept := range []func() (net.Conn, error){l.Accept, func() (net.Conn, error) { return l.AcceptDDP() }} {
				dialed := make(chan error, 1)
				go func() {
					c, err := (&extsock.Dialer{Config: &extsock.Config{Startup: extsock.StartupRequire}}).DialContext(t.Context(), "tcp", l.Addr().String())
					if err == nil {
						c.Close()
					}
					dialed <- err
				}()
				c, err := accept()
				if err != nil {
					t.Fatal(err)
				}
				if s == extsock.StartupOff {
					_ = c.(*extsock.Conn).EnableDDP(t.Context(), nil) // it is, after AcceptDDP
				}
				if err := <-dialed; err != nil {
					t.Errorf("Dial = %v", err)
				}
				c.Close()
				l.SetDeadline(time.Now().Add(time.Millisecond))
				if _, err := accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Accept = %v, want a time-out", err)
				}
				l.SetDeadline(time.Time{})
				if s != extsock.StartupOff {
					accepts(false)
				}
				for range 20 {
					serve()
				}
			}
			closed := make(chan error, 1)
			go func() { _, err := l.Accept(); closed <- err }()
			accepts(true)
			l.Close()
			if err := <-closed; !errors.Is(err, net.ErrClosed) {
				t.Errorf("Accept = %v", err)
			}
		})
	}
}

// TestBacklogIsBounded: of many connections that are not accepted, BacklogSize are started up, and
// the others as soon as some have been accepted.
func TestBacklogIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const more = 10
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupPrefer})
		var peers []net.Conn
		for range extsock.BacklogSize + more {
			s, err := n.Dial(t.Context(), "sim", "sim:1")
			if err != nil {
				t.Fatal(err)
			}
			peers = append(peers, s)
		}
		synctest.Wait()
		if k := extsock.BacklogLen(l); k != extsock.BacklogSize {
			t.Errorf("%d connections wait for Accept, want %d", k, extsock.BacklogSize)
		}
		for i := range peers {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if k, want := extsock.BacklogLen(l), min(extsock.BacklogSize, len(peers)-1-i); k != want {
				t.Fatalf("%d connections wait for Accept behind connection %d, want %d", k, i, want)
			}
			c.Close()
			peers[i].Close()
		}
	})
}

// failing is a listener whose first Accepts fail.
type failing struct {
	net.Listener
	fails atomic.Int64
}

func (l *failing) Accept() (net.Conn, error) {
	if l.fails.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestAcceptSaysWhatFails: Accept returns each error of the listener below once, and then goes on.
// If the listener below is closed, Accept ends.
func TestAcceptSaysWhatFails(t *testing.T) {
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &failing{Listener: below}
	f.fails.Store(2)
	l := extsock.NewListener(f, &extsock.Config{Startup: extsock.StartupRequire})
	defer l.Close()
	for range 2 {
		if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("Accept = %v, want EMFILE", err)
		}
	}
	c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	below.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept = %v, want net.ErrClosed", err)
	}
}

// TestStartupIsTheProgramsOwn: with JudgeRequests, or if the program posts receive buffers to each
// connection, a Listener runs no startup.
func TestStartupIsTheProgramsOwn(t *testing.T) {
	for _, desc := range []string{"JudgeRequests", "RecvCQ"} {
		for _, s := range bySelf {
			bubble(t, func(t *testing.T) {
				cfg := extsock.Config{Startup: s, JudgeRequests: true}
				if desc == "RecvCQ" {
					cfg = extsock.Config{Startup: s, RecvCQ: extsock.NewCompletionQueue(10)}
				}
				l, n := simListener(t, cfg)
				dialed := make(chan error)
				go func() {
					c, err := extsock.Dial("sim", "sim:1", &extsock.Config{Backend: n, Startup: s, Messages: true})
					if err == nil {
						_, err = c.Write([]byte("hello"))
						c.Close()
					}
					dialed <- err
				}()
				c, err := acceptConn(l)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if cfg.RecvCQ != nil {
					if err := c.PostRecv(rdmap.RecvRequest{Buf: make([]byte, 10)}); err != nil {
						t.Errorf("%s: PostRecv = %v", desc, err)
					}
				}
				select {
				case err := <-dialed:
					t.Errorf("%s: Dial = %v before the program has done anything", desc, err)
				default:
				}
				req, err := c.ReceiveRequest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := req.Accept(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if err := <-dialed; err != nil {
					t.Errorf("%s: %v", desc, err)
				}
				if cfg.RecvCQ != nil {
					if done, err := cfg.RecvCQ.Wait(t.Context()); done.Len != 5 || err != nil {
						t.Errorf("%s: completion of %d octets, %v", desc, done.Len, err)
					}
				}
				c.Close()
				l.Close()
				settle()
			})
		}
	}
}

// TestDialRemembersNoMore: a connection in DDP mode ends what was remembered of its address.
func TestDialRemembersNoMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{})
		server := servePlain(t, network, "plain:1", func(_ int, s toe.Stream) { s.Read(make([]byte, 1)); s.Write([]byte("what?")) })
		cfg := &extsock.Config{Backend: network, Startup: extsock.StartupPrefer}
		d := &extsock.Dialer{Config: cfg}
		dial := func(want extsock.FallbackReason) {
			t.Helper()
			c, err := dialConn(t.Context(), d, "tcp", "plain:1")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var got extsock.FallbackReason
			if f := fallbackOf(c); f != nil {
				got = f.Reason
			}
			if got != want {
				t.Errorf("fallback %q, want %q", got, want)
			}
		}
		dial(extsock.FallbackNotMPA)
		dial(extsock.FallbackRemembered)
		server.close()
		l, err := extsock.Listen("tcp", "plain:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		dial(extsock.FallbackRemembered)
		d.Config = &extsock.Config{Backend: network, Startup: extsock.StartupRequire}
		dial(0)
		d.Config = cfg
		dial(0)
		l.Close()
		settle()
	})
}

// TestAcceptAfterClose: Accept returns net.ErrClosed even if its deadline has passed. Otherwise a
// server that polls with deadlines would never end.
func TestAcceptAfterClose(t *testing.T) {
	startups(t, func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config) {
		l.SetDeadline(time.Now().Add(-time.Second))
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v, want net.ErrClosed", err)
		}
	})
}

// TestFailedStartupIsSaid: each call that needs the connection returns the error of startup until
// Close, and not net.ErrClosed.
func TestFailedStartupIsSaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupRequire})
		peer, c := accept(t, l, n)
		peer.Write([]byte("GET / HTTP/1.1\r\n"))
		synctest.Wait()
		_, readErr := c.Read(make([]byte, 1))
		_, requestErr := c.ReceiveRequest(t.Context())
		postErr := postSend(c, []byte("x"))
		for call, err := range map[string]error{
			"Read": readErr, "ReceiveRequest": requestErr, "PostSend": postErr,
			"Handshake": c.Handshake(t.Context()), "EnableDDP": c.EnableDDP(t.Context(), nil), "CloseWrite": c.CloseWrite(),
		} {
			if !errors.Is(err, extsock.ErrNotMPA) {
				t.Errorf("%s = %v, want ErrNotMPA", call, err)
			}
		}
		c.Close()
		if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("EnableDDP after Close = %v", err)
		}
	})
}
