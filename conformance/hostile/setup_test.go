package hostile

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestUseDuringSetUp calls all methods of connections from several goroutines while the connections
// enter DDP mode and are closed. A call that comes too early returns an error and never panics, and
// the race detector finds nothing.
func TestUseDuringSetUp(t *testing.T) {
	pairs := newSocketPairs(t)
	goroutines := runtime.NumGoroutine()
	var switched atomic.Int64
	rounds := testmode.Count(3000, 100)
	inParallel(rounds, func(i int) {
		a, b, err := pairs.pair()
		if err != nil {
			t.Error(err)
			return
		}
		cfg := &extsock.Config{Messages: i%2 == 0, CloseTimeout: time.Second, Domain: nil}
		if i%3 == 0 {
			cfg.Startup = extsock.StartupPrefer
		}
		ends := [2]*extsock.Conn{extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		var entered [2]bool
		for e, c := range ends {
			c.SetDeadline(time.Now().Add(20 * time.Second))
			wg.Go(func() { entered[e] = c.EnableDDP(ctx, nil) == nil })
			for k := range 3 {
				wg.Go(func() { lookAt(c, k, i) })
			}
		}
		wg.Wait()
		if entered[0] && entered[1] {
			switched.Add(1)
		}
		ends[0].Close()
		ends[1].Close()
	})
	settled(t, goroutines)
	t.Logf("%d connections, %d of them entered DDP mode on both ends", rounds, switched.Load())
	if n := switched.Load(); n == 0 {
		t.Error("nothing was set up")
	}
}

// lookAt uses a connection in one of three ways, in any state.
func lookAt(c *extsock.Conn, way, round int) {
	for range 3 {
		switch way {
		case 0: // queries
			_, _, _ = c.ConnectionState(), c.Stats(), c.LocalAddr()
			c.GetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE)
			extsock.TotalStats()
			c.NetConn()
		case 1: // uses
			if r, err := c.Register(make([]byte, 8), ddp.RemoteRead|ddp.RemoteWrite); err == nil {
				h := r.Handle()
				c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte("x"), Remote: h})
				c.Remote(h).WriteAt(nil, 0)
				r.Deregister()
			}
			c.Post(&rdmap.WorkRequest{Op: rdmap.WorkRead, Unsignaled: true})
			c.QPNum()
			c.SendCQ().Poll(nil)
		case 2: // changes settings
			c.SetDeadline(time.Now().Add(20 * time.Second))
			if round%5 == 0 {
				c.CloseWrite()
			}
			if round%7 == 0 {
				c.Close()
			}
		}
		runtime.Gosched()
	}
}

// TestNothingOutlives ends connections in every way that involves a timer or a goroutine. Each
// bubble must be empty as soon as the longest time limit has passed: synctest fails the test if a
// goroutine is left.
func TestNothingOutlives(t *testing.T) {
	type conns struct{ c, peer *extsock.Conn }
	ctx := context.Background()
	enable := func(x conns) {
		done := make(chan error, 1)
		go func() { done <- x.peer.EnableDDP(ctx, nil) }()
		if err := errors.Join(x.c.EnableDDP(ctx, nil), <-done); err != nil {
			t.Error(err)
		}
	}
	cases := []struct {
		desc string
		cfg  extsock.Config
		do   func(x conns)
	}{
		{"nothing", extsock.Config{}, func(conns) {}},
		{"an Initiator whose peer is silent", extsock.Config{}, func(x conns) {
			if err := x.c.EnableDDP(ctx, nil); kindOf(err) != "deadline" {
				t.Errorf("EnableDDP: %v", err)
			}
		}},
		{"a Responder whose peer is silent", extsock.Config{}, func(x conns) {
			if err := x.peer.EnableDDP(ctx, nil); kindOf(err) != "deadline" {
				t.Errorf("EnableDDP: %v", err)
			}
		}},
		{"a startup that is canceled", extsock.Config{}, func(x conns) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if err := x.c.EnableDDP(ctx, nil); kindOf(err) != "deadline" {
				t.Errorf("EnableDDP: %v", err)
			}
		}},
		{"a startup that is closed", extsock.Config{}, func(x conns) {
			time.AfterFunc(time.Second, func() { x.c.Close() })
			if err := x.c.EnableDDP(ctx, nil); kindOf(err) != "closed" {
				t.Errorf("EnableDDP: %v", err)
			}
		}},
		{"a peer that sniffs in vain", extsock.Config{Startup: extsock.StartupPrefer, SniffTimeout: time.Second}, func(x conns) {
			x.peer.SetReadDeadline(time.Now().Add(3 * time.Second))
			if _, err := x.peer.Read(make([]byte, 1)); kindOf(err) != "deadline" || x.peer.ConnectionState().DDPMode {
				t.Errorf("Read: %v", err)
			}
		}},
		{"a Request that is rejected", extsock.Config{}, func(x conns) {
			done := make(chan error, 1)
			go func() {
				r, err := x.peer.ReceiveRequest(ctx)
				if err == nil {
					err = r.Reject(ctx, []byte("no"))
				}
				done <- err
			}()
			if err := x.c.EnableDDP(ctx, nil); err == nil || <-done != nil {
				t.Errorf("EnableDDP: %v", err)
			}
		}},
		{"a Request that nobody answers", extsock.Config{}, func(x conns) {
			go x.c.EnableDDP(ctx, nil)
			if _, err := x.peer.ReceiveRequest(ctx); err != nil {
				t.Error(err)
			}
		}},
		{"both ends close", extsock.Config{}, enable},
		{"messages, both ends close", extsock.Config{Messages: true}, enable},
		{"a Read whose deadline passes", extsock.Config{}, func(x conns) {
			enable(x)
			x.c.SetDeadline(time.Now().Add(time.Second))
			if _, err := x.c.Read(make([]byte, 1)); kindOf(err) != "deadline" {
				t.Errorf("Read: %v", err)
			}
		}},
		{"a Write that is never read", extsock.Config{Crossover: -1}, func(x conns) {
			enable(x)
			x.c.SetDeadline(time.Now().Add(time.Second))
			if _, err := x.c.Write(make([]byte, 64<<20)); kindOf(err) != "deadline" {
				t.Errorf("Write: %v", err)
			}
		}},
		{"readers that take turns in receiving", extsock.Config{}, func(x conns) {
			enable(x)
			go io.Copy(x.peer, x.peer)
			p := make([]byte, 8)
			for range 100 {
				if _, err := x.c.Write(p); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(x.c, p); err != nil {
					t.Error(err)
				}
			}
		}},
		{"an operation whose context ends", extsock.Config{}, func(x conns) {
			enable(x)
			r, err := x.peer.Register(make([]byte, 8), ddp.RemoteRead)
			if err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := x.c.Remote(r.Handle()).Read(ctx, make([]byte, 8), 0); kindOf(err) != "deadline" {
				t.Errorf("ReadAt: %v", err)
			}
		}},
		{"a Write to nowhere", extsock.Config{}, func(x conns) {
			enable(x)
			x.c.Remote(rdmap.Handle{STag: 1, Len: 8}).WriteAt(make([]byte, 8), 0)
			if _, err := x.c.Read(make([]byte, 1)); kindOf(err) != "Terminate" {
				t.Errorf("Read: %v", err)
			}
		}},
	}
	bubbles := 0
	for _, tt := range cases {
		for _, order := range []int{0, 1, 2, 3} { // c first, its peer first, c only within the time limits, resets
			for _, path := range []simtoe.Config{{}, {Delay: 50 * time.Millisecond, Split: true, MaxSegment: 100}} {
				synctest.Test(t, func(t *testing.T) {
					a, b := simtoe.Pair(path, path)
					x := conns{extsock.NewConn(a, true, &tt.cfg), extsock.NewConn(b, false, &tt.cfg)}
					tt.do(x)
					switch order {
					case 0:
						x.c.Close()
						x.peer.Close()
					case 1:
						x.peer.Close()
						x.c.Close()
					case 2:
						x.c.Close()
						time.Sleep(time.Minute)
						x.peer.Close()
					case 3:
						x.c.SetLinger(0)
						x.c.Close()
						x.peer.Close()
					}
					time.Sleep(2*closeTimeout + 10*time.Second) // Close, its wait for the FIN, startup
				})
				bubbles++
			}
		}
	}
	t.Logf("%d bubbles are empty", bubbles)
}
