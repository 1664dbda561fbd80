package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// simListener listens in a network of its own.
func simListener(t *testing.T, cfg extsock.Config) (*extsock.Listener, *simtoe.Network) {
	t.Helper()
	n := simtoe.New(simtoe.Config{})
	cfg.Backend = n
	l, err := extsock.Listen("sim", "sim:1", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, n
}

// accept dials and accepts.
func accept(t *testing.T, l *extsock.Listener, n *simtoe.Network) (peer net.Conn, c *extsock.Conn) {
	t.Helper()
	peer, err := n.Dial(t.Context(), "sim", "sim:1")
	if err != nil {
		t.Fatal(err)
	}
	c, err = acceptConn(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close(); c.Close() })
	return peer, c
}

// request is an MPA Request without private data.
func request() []byte { return mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil) }

// TestHalfOpenLimit: beyond Config.MaxHalfOpen the oldest connection is closed with ErrHalfOpen,
// whatever call began startup, and the newest one gets through. Connections whose Request has come,
// or that are plain TCP, do not count.
func TestHalfOpenLimit(t *testing.T) {
	alone(t)
	for _, start := range []struct {
		desc    string
		startup extsock.Startup
		begin   func(c *extsock.Conn) error
	}{
		{"EnableDDP", extsock.StartupOff, func(c *extsock.Conn) error { return c.EnableDDP(context.Background(), nil) }},
		{"StartupRequire", extsock.StartupRequire, func(c *extsock.Conn) error { return c.Handshake(context.Background()) }},
		{"StartupPrefer", extsock.StartupPrefer, func(c *extsock.Conn) error { return c.Handshake(context.Background()) }},
		{"ReceiveRequest", extsock.StartupPrefer, func(c *extsock.Conn) error {
			r, err := c.ReceiveRequest(context.Background())
			if err != nil {
				return err
			}
			return r.Accept(context.Background(), nil)
		}},
	} {
		for _, sent := range []int{1, 15, 16, 19} {
			t.Run(fmt.Sprintf("%s, %d octets", start.desc, sent), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					before := extsock.TotalStats().HalfOpenEvictions
					l, n := simListener(t, extsock.Config{Startup: start.startup, JudgeRequests: start.desc == "ReceiveRequest", MaxHalfOpen: 2})
					var ended [4]chan error
					var peers [4]net.Conn
					var conns [4]*extsock.Conn
					begin := time.Now()
					for i := range ended {
						peers[i], conns[i] = accept(t, l, n)
						ended[i] = make(chan error, 1)
						go func() { ended[i] <- start.begin(conns[i]) }()
						peers[i].Write(request()[:sent])
						synctest.Wait()
					}
					for i := range 2 {
						if err := <-ended[i]; !errors.Is(err, extsock.ErrHalfOpen) || time.Since(begin) > 0 {
							t.Errorf("connection %d: %v after %v, want ErrHalfOpen at once", i, err, time.Since(begin))
						}
						if _, err := conns[i].Read(make([]byte, 1)); err == nil {
							t.Errorf("connection %d is still open", i)
						}
					}
					for i := 2; i < 4; i++ {
						peers[i].Write(request()[sent:])
						if err := <-ended[i]; err != nil {
							t.Errorf("connection %d: %v, want DDP mode", i, err)
						}
					}
					if n := extsock.TotalStats().HalfOpenEvictions - before; n != 2 {
						t.Errorf("%d evictions counted, want 2", n)
					}
					// The two that are in DDP mode no longer count.
					for range 2 {
						peer, c := accept(t, l, n)
						peer.Write(request())
						if err := start.begin(c); err != nil {
							t.Errorf("a later one: %v", err)
						}
					}
					for i := range conns {
						conns[i].Close()
					}
					settle()
				})
			})
		}
	}
}

// TestHalfOpenSilentPreferNotCounted: a connection that may be plain TCP does not count before its
// first octet.
func TestHalfOpenSilentPreferNotCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupPrefer, MaxHalfOpen: 1})
		read := make(chan error, 3)
		var peers []net.Conn
		for range 3 {
			peer, c := accept(t, l, n)
			peers = append(peers, peer)
			go func() { _, err := io.ReadFull(c, make([]byte, 5)); read <- err }()
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		for _, p := range peers {
			p.Write([]byte("plain"))
			if err := <-read; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestHandshakeTimeoutIsOne: a peer has HandshakeTimeout for its Request, however slowly the
// Request comes and whatever call asks for it. Neither the octets nor the change from sniffing to
// startup prolong that time.
//
// MPA-5044-7.1.2-27
func TestHandshakeTimeoutIsOne(t *testing.T) {
	alone(t)
	for _, startup := range []extsock.Startup{extsock.StartupOff, extsock.StartupPrefer, extsock.StartupRequire} {
		for _, fast := range []int{0, 10, 16, 18} { // octets at 4.5 s; before and after that one a second
			t.Run(fmt.Sprintf("startup %d, %d octets at once", startup, fast), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					before := extsock.TotalStats()
					l, n := simListener(t, extsock.Config{Startup: startup})
					peer, c := accept(t, l, n)
					begin := time.Now()
					ended := make(chan error, 1)
					go func() {
						if startup == extsock.StartupOff {
							ended <- c.EnableDDP(context.Background(), nil)
						} else {
							ended <- c.Handshake(context.Background())
						}
					}()
					go func() {
						for i, b := range request() {
							if i >= fast || i == 0 {
								peer.Write([]byte{b})
								time.Sleep(time.Second)
								continue
							}
							if i == 1 {
								time.Sleep(3500 * time.Millisecond)
							}
							peer.Write([]byte{b})
						}
					}()
					err := <-ended
					if d := time.Since(begin); d != 5*time.Second {
						t.Errorf("ended after %v, want 5s: %v", d, err)
					}
					total := extsock.TotalStats()
					if startup == extsock.StartupPrefer && fast < 16 {
						if f := fallbackOf(c); f == nil || f.Reason != extsock.FallbackSniffTimeout {
							t.Errorf("fallback %v", f)
						}
					} else if !errors.Is(err, context.DeadlineExceeded) || total.HandshakeTimeouts != before.HandshakeTimeouts+1 {
						t.Errorf("%v, %d time-outs counted", err, total.HandshakeTimeouts-before.HandshakeTimeouts)
					}
					settle()
				})
			})
		}
	}
}

// TestBadSTagDelay: after a bad STag the address waits before its next Request is answered, longer
// each time; other faults, and plain TCP, do not wait.
func TestBadSTagDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupPrefer})
		cfg := &extsock.Config{Startup: extsock.StartupRequire, Backend: n}
		// try connects, uses a bad STag if bad is set, and returns how long startup took.
		try := func(bad bool) time.Duration {
			begin := time.Now()
			accepted := make(chan *extsock.Conn, 1)
			go func() {
				c, err := acceptConn(l)
				if err != nil {
					t.Error(err)
				}
				if err := c.Handshake(context.Background()); err != nil {
					t.Error(err)
				}
				accepted <- c
			}()
			ci, err := extsock.Dial("sim", "sim:1", cfg)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(begin)
			cr := <-accepted
			if bad {
				if _, err := ci.Remote(rdmap.Handle{STag: 1, TO: 2, Len: 3}).ReadAt(make([]byte, 3), 0); err == nil {
					t.Error("a Read of a bad STag succeeded")
				}
			}
			ci.Close()
			cr.Close()
			return took
		}
		for i, tt := range []struct {
			bad  bool
			want time.Duration
		}{{true, 0}, {false, time.Second}, {false, 0}, {true, 0}, {true, time.Second}, {true, time.Second}} {
			if got := try(tt.bad); got != tt.want {
				t.Errorf("startup %d took %v, want %v", i, got, tt.want)
			}
		}
		// Many connections at once try: their address waits for each.
		const many = 4
		var conns [many][2]*extsock.Conn
		time.Sleep(time.Minute)
		for i := range conns {
			accepted := make(chan *extsock.Conn, 1)
			go func() { c, _ := acceptConn(l); c.Handshake(context.Background()); accepted <- c }()
			ci, err := extsock.Dial("sim", "sim:1", cfg)
			if err != nil {
				t.Fatal(err)
			}
			conns[i] = [2]*extsock.Conn{ci, <-accepted}
		}
		for _, c := range conns {
			c[0].Remote(rdmap.Handle{STag: 1, TO: 2, Len: 3}).WriteAt(make([]byte, 3), 0)
			c[1].Read(make([]byte, 1))
			c[0].Close()
			c[1].Close()
		}
		if got := try(false); got != many*time.Second {
			t.Errorf("startup took %v after %d bad STags at once, want as many seconds", got, many)
		}
		if n := extsock.TotalStats().BadSTagDelays; n == 0 {
			t.Error("no delay was counted")
		}
		settle()
	})
}

// TestDeregisterIsNoBadSTag: a peer's address is not delayed because the program has deregistered a
// Region while the peer's Read of it was being answered.
func TestDeregisterIsNoBadSTag(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := simtoe.New(simtoe.Config{Window: 1000, MaxSegment: 1000, Delay: time.Second})
		l, err := extsock.Listen("sim", "sim:1", &extsock.Config{Startup: extsock.StartupRequire, Backend: n})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		accepted := make(chan *extsock.Conn, 2)
		go func() {
			for range cap(accepted) {
				c, err := acceptConn(l)
				if err != nil {
					t.Error(err)
				}
				accepted <- c
			}
		}()
		before := extsock.TotalStats().BadSTagDelays
		for i := range cap(accepted) {
			ci, err := extsock.Dial("sim", "sim:1", &extsock.Config{Startup: extsock.StartupRequire, Backend: n})
			if err != nil {
				t.Fatal(err)
			}
			cr := <-accepted
			if i == 0 {
				r := register(t, cr, make([]byte, 1<<20), ddp.RemoteRead)
				go func() {
					time.Sleep(10 * time.Second)
					r.Deregister()
				}()
				var fault *rdmap.TerminateError
				if _, err := ci.Remote(r.Handle()).ReadAt(make([]byte, 1<<20), 0); !errors.As(err, &fault) || !fault.Remote {
					t.Errorf("the Read of a Region that has ended: %v", err)
				}
				if cr.Stats().Sent.ReadResponses != 1 {
					t.Error("the Region has ended before the answer began")
				}
			}
			ci.Close()
			cr.Close()
		}
		if n := extsock.TotalStats().BadSTagDelays - before; n != 0 {
			t.Errorf("%d delays", n)
		}
		settle()
	})
}

// TestIdleTimeout: a connection on which nothing moves ends. One on which something moves from time
// to time stays.
func TestIdleTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{IdleTimeout: 10 * time.Second}}, side{})
		begin := time.Now()
		for range 5 {
			time.Sleep(8 * time.Second)
			if _, err := cr.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := ci.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		last := time.Now()
		_, err := ci.Read(make([]byte, 1))
		if d := time.Since(last); !errors.Is(err, extsock.ErrIdleTimeout) || !errors.Is(err, extsock.ErrLimit) || d < 10*time.Second || d > 12500*time.Millisecond {
			t.Errorf("Read: %v, %v after the last octet and %v in all", err, d, time.Since(begin))
		}
		if _, err := cr.Read(make([]byte, 1)); err == nil {
			t.Error("the peer's Read goes on")
		}
		if n := ci.Stats().IdleTimeouts; n != 1 {
			t.Errorf("%d idle time-outs counted", n)
		}
		settle()
	})
}

// TestWriteTimeout: if the peer's TCP takes nothing, the connection ends, whether Writes or answers
// to its Reads wait.
func TestWriteTimeout(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("TCP that can't be waited for: %t", whole), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{CutAfter: 10_000, CutHow: simtoe.Silence, Window: 64 << 10})
				var s net.Conn = b
				if whole {
					s = asPlainConn(b)
				}
				ci, cr := switched(t, a, s, side{}, side{cfg: extsock.Config{WriteTimeout: 3 * time.Second}})
				r := register(t, cr, make([]byte, 1<<20), ddp.RemoteRead)
				go ci.Remote(r.Handle()).ReadAt(make([]byte, 1<<20), 0)
				begin := time.Now()
				_, err := cr.Read(make([]byte, 1))
				if d := time.Since(begin); !errors.Is(err, extsock.ErrWriteTimeout) || !errors.Is(err, extsock.ErrLimit) || d < 3*time.Second || d > 9*time.Second {
					t.Errorf("Read: %v after %v, want ErrWriteTimeout", err, d)
				}
				if err, ok := err.(net.Error); !ok || !err.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) { //nolint:errorlint // as programs do it
					t.Errorf("%v is no time-out", err)
				}
				if n := cr.Stats().WriteTimeouts; n != 1 {
					t.Errorf("%d write time-outs counted", n)
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// TestWriteTimeoutWithoutReader: the connection also ends when neither a Read nor the home
// goroutine receives. What was posted is flushed.
func TestWriteTimeoutWithoutReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{Window: 64 << 10}, inMessages, side{cfg: extsock.Config{Messages: true, WriteTimeout: 3 * time.Second}})
		for range 2 { // the second Read receives itself
			go func() {
				settle()
				if _, err := ci.Write([]byte("hello")); err != nil {
					t.Error(err)
				}
			}()
			if n, err := cr.Read(make([]byte, 100)); n != 5 || err != nil {
				t.Fatalf("Read = %d, %v", n, err)
			}
		}
		begin, err, written := time.Now(), error(nil), make(chan error, 1)
		go func() {
			for err == nil { // until the peer, which does not read, has no room left
				begin = time.Now()
				_, err = cr.Write(make([]byte, 64<<10))
			}
			written <- err
		}()
		select {
		case err := <-written:
			if d := time.Since(begin); !errors.Is(err, extsock.ErrWriteTimeout) || d < 3*time.Second || d > 9*time.Second {
				t.Errorf("Write: %v after %v, want ErrWriteTimeout", err, d)
			}
		case <-time.After(time.Hour):
			t.Error("Write has not returned after an hour")
		}
		ci.Close()
		cr.Close()
		settle()
	})
}
