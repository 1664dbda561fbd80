package extsock_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/simtoe"
)

// inBackground returns the stacks of the goroutines of this bubble, except this goroutine and the
// two of package synctest.
func inBackground() (stacks []string) {
	synctest.Wait() // goroutines that have nothing more to do are gone then
	b := make([]byte, 1<<20)
	all := strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n")
	bubble := bubbleOf(all[0])
	for _, stack := range all[1:] {
		ours := strings.Contains(stack, "created by testing/synctest.Test in ") || strings.Contains(stack, "\ninternal/synctest.Run(")
		if bubbleOf(stack) == bubble && !ours {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// bubbleOf returns the name of the bubble in the header of a goroutine's stack.
func bubbleOf(stack string) string {
	header, _, _ := strings.Cut(stack, "\n")
	_, bubble, _ := strings.Cut(header, "synctest bubble ")
	return strings.TrimRight(bubble, "]:")
}

// TestWait ends connections in many ways. Once Wait has returned for both ends, no goroutine is
// left, and Wait has not waited longer than necessary.
func TestWait(t *testing.T) {
	closeBoth := func(_ *testing.T, a, b *extsock.Conn) {
		a.Close()
		b.Close()
	}
	pair := func(wire simtoe.Config, i, r extsock.Config) func(*testing.T) (a, b *extsock.Conn) {
		return func(t *testing.T) (a, b *extsock.Conn) { return simPair(t, wire, side{cfg: i}, side{cfg: r}) }
	}
	// still returns two ends of a connection before any startup.
	still := func(wire simtoe.Config, i, r extsock.Config) func(*testing.T) (a, b *extsock.Conn) {
		return func(t *testing.T) (a, b *extsock.Conn) {
			x, y := simtoe.Pair(wire, wire)
			return extsock.NewConn(x, true, &i), extsock.NewConn(y, false, &r)
		}
	}
	var none extsock.Config
	far := simtoe.Config{Delay: 100 * time.Millisecond}
	for _, tt := range []struct {
		desc string
		open func(*testing.T) (a, b *extsock.Conn)
		use  func(t *testing.T, a, b *extsock.Conn) // a second before end; may be nil
		end  func(t *testing.T, a, b *extsock.Conn)
		want time.Duration // how long Wait waits for both, at most
	}{
		{"both close", pair(far, none, none), nil, closeBoth, time.Second},
		{"the peer does not close", pair(far, none, none), nil, func(t *testing.T, a, b *extsock.Conn) {
			a.Close()
			time.AfterFunc(3*time.Second, func() { b.Close() })
		}, 4 * time.Second},
		{"reset", pair(far, none, none), nil, func(t *testing.T, a, b *extsock.Conn) {
			a.SetLinger(0)
			closeBoth(t, a, b)
		}, time.Second},
		{"unread data", pair(far, none, none), func(t *testing.T, a, b *extsock.Conn) {
			if _, err := b.Write(make([]byte, 100)); err != nil {
				t.Error(err)
			}
		}, closeBoth, time.Second},
		{"terminated", pair(far, none, none), func(t *testing.T, a, b *extsock.Conn) {
			a.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 10), Remote: rdmap.Handle{STag: 1, TO: 1, Len: 10}})
		}, closeBoth, 10 * time.Second},
		{"a failure, and no Close", pair(simtoe.Config{Delay: time.Millisecond}, extsock.Config{IdleTimeout: 2 * time.Second}, none), nil, func(_ *testing.T, _, b *extsock.Conn) {
			time.AfterFunc(2*time.Second, func() { b.Close() }) // a has no Close
		}, 5 * time.Second},
		{"much is queued", pair(simtoe.Config{Window: 4096, Delay: 10 * time.Millisecond}, none, none), nil, func(t *testing.T, a, b *extsock.Conn) {
			if _, err := a.Write(make([]byte, 100_000)); err != nil {
				t.Error(err)
			}
			go b.Close()
			a.Close()
		}, 5 * time.Second},
		{"plain TCP", still(far, none, none), nil, closeBoth, 0},
		{"startup under way", still(far, none, none), func(t *testing.T, a, b *extsock.Conn) {
			go a.EnableDDP(t.Context(), nil)
		}, closeBoth, time.Second},
		{"startup by Read under way", still(far, extsock.Config{Startup: extsock.StartupRequire}, none), func(t *testing.T, a, b *extsock.Conn) {
			go a.Read(make([]byte, 1))
		}, closeBoth, time.Second},
		{"startup has failed", still(far, extsock.Config{HandshakeTimeout: time.Second}, none), nil, func(t *testing.T, a, b *extsock.Conn) {
			if a.EnableDDP(t.Context(), nil) == nil {
				t.Error("no error")
			}
			b.Close()
		}, time.Second},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := tt.open(t)
				for _, c := range []*extsock.Conn{a, b} {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
					if err := c.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Wait of an open connection: %v", err)
					}
					cancel()
				}
				if tt.use != nil {
					tt.use(t, a, b)
					time.Sleep(time.Second)
				}
				tt.end(t, a, b)
				begin := time.Now()
				for _, c := range []*extsock.Conn{a, b} {
					if err := c.Wait(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if d := time.Since(begin); d > tt.want {
					t.Errorf("Wait has taken %v, want at most %v", d, tt.want)
				}
				for _, s := range inBackground() {
					t.Errorf("left in the background:\n%s", s)
				}
				closeBoth(t, a, b)
			})
		})
	}
}

// TestWaitForTheSendBuffer: a layer below with a send buffer goes on after Close, and Wait waits
// for it.
func TestWaitForTheSendBuffer(t *testing.T) {
	for _, ddp := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			x, y := net.Pipe()
			cfg := extsock.Config{CloseTimeout: time.Second}
			a, b := extsock.NewConn(netconn.NewBuffered(x), true, &cfg), extsock.NewConn(y, false, &cfg)
			if ddp {
				if err := switchBoth(t.Context(), a, b); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := a.Write(make([]byte, 30000)); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			a.Close() // in TCP mode the peer does not read: Close waits for a second, and the layer below for five
			if err := a.Wait(t.Context()); err != nil || !ddp && time.Since(begin) != 5*time.Second {
				t.Errorf("DDP mode %v: Wait = %v, %v after Close began", ddp, err, time.Since(begin))
			}
			b.Close()
			if err := b.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			for _, s := range inBackground() {
				t.Errorf("DDP mode %v: left in the background:\n%s", ddp, s)
			}
		})
	}
}

// TestListenerWait closes a Listener with connections in every stage of startup. Wait returns when
// nothing is left of them, and does not wait for a connection that Accept has returned.
func TestListenerWait(t *testing.T) {
	startups(t, func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config) {
		dial := func() *extsock.Conn {
			c, err := extsock.Dial("sim", "sim:1", cfg)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		mine := dial()
		accepted, err := acceptConn(l)
		if err != nil {
			t.Fatal(err)
		}
		waiting := dial()                                     // in DDP mode, and not accepted
		silent, err := n.Dial(t.Context(), "sim", "sim:1")    // startup waits for its Request
		stranger, err2 := n.Dial(t.Context(), "sim", "sim:1") // startup fails, or falls back
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if _, err := stranger.Write([]byte("GET / HTTP/1.1\r\n\r\n     ")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait of an open Listener: %v", err)
		}
		l.Close()
		begin := time.Now()
		if err := l.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("Wait has taken %v", d)
		}
		if _, err := mine.Write([]byte("still open")); err != nil {
			t.Error(err)
		}
		p := make([]byte, 20)
		if k, err := accepted.Read(p); string(p[:k]) != "still open" || err != nil {
			t.Errorf("Read = %q, %v", p[:k], err)
		}
		for _, c := range []*extsock.Conn{mine, accepted, waiting} {
			c.Close()
		}
		for _, c := range []*extsock.Conn{mine, accepted, waiting} {
			if err := c.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		silent.Close()
		stranger.Close()
		for _, s := range inBackground() {
			t.Errorf("left in the background:\n%s", s)
		}
	})
}

// TestListenerWaitWithoutStartup: a Listener that runs no startup has nothing in the background,
// but the program can wait for its Close.
func TestListenerWaitWithoutStartup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, _ := simListener(t, extsock.Config{})
		begin := time.Now()
		time.AfterFunc(time.Second, func() {
			l.Close()
			l.Close()
		})
		if err := l.Wait(t.Context()); err != nil || time.Since(begin) != time.Second {
			t.Errorf("Wait after %v: %v", time.Since(begin), err)
		}
	})
}

// slowEnd is a Tap that takes its time when the connection is over.
type slowEnd struct{}

func (slowEnd) Sent([]byte)     {}
func (slowEnd) Received([]byte) {}
func (slowEnd) Closed()         { <-time.After(3 * time.Second) }

// TestListenerWaitsForTheLeft: a connection that the Listener closes because Accept has not
// returned it may take some time to end. Wait waits for it.
func TestListenerWaitsForTheLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, n := simListener(t, extsock.Config{
			Startup: extsock.StartupRequire, Tap: func(net.Addr, net.Addr, bool) toe.Tap { return slowEnd{} },
		})
		silent, err := n.Dial(t.Context(), "sim", "sim:1")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		synctest.Wait() // startup waits for the Request
		l.Close()
		begin := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(begin) != 3*time.Second {
			t.Errorf("Wait = %v after %v, want 3 s", err, time.Since(begin))
		}
	})
}
