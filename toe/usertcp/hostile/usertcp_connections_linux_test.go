package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// listenDDP is listen for connections in DDP mode.
func (x *userNet) listenDDP(t testing.TB, kernelDials bool, cfg extsock.Config) *extsock.Listener {
	t.Helper()
	host := lossyAddresses[0][0]
	do := x.host.Do
	if kernelDials {
		host, cfg.Backend = lossyAddresses[1][0], x.user
		do = func(f func() error) error { return f() }
	}
	var l *extsock.Listener
	if err := do(func() (err error) {
		l, err = extsock.Listen("tcp", netip.AddrPortFrom(host.Addr(), 0).String(), &cfg)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return l
}

// dialDDP makes a connection in DDP mode.
func (x *userNet) dialDDP(ctx context.Context, kernelDials bool, address string, cfg extsock.Config) (c *extsock.Conn, err error) {
	d := &extsock.Dialer{NetDialer: net.Dialer{Timeout: scenario.LossyTimeout, Control: preferBBR}, Config: &cfg}
	if !kernelDials {
		cfg.Backend = x.user
		return d.DialDDP(ctx, "tcp", address)
	}
	err = x.host.Do(func() (err error) {
		c, err = d.DialDDP(ctx, "tcp", address)
		return err
	})
	return c, err
}

// TestUserTCPConnections opens 10^4 connections each way between a TCP in user space and the
// kernel's, on a perfect path and on one with faults. It uses each connection for an RDMA Write
// each way and closes it in order. None is reset. This is the second part of attack T8.
//
// The time limits are long because of lost SYNs: gVisor sends them again with their old timestamp,
// so the first round trip seems to have taken a second or more, which increases the retransmission
// timeout.
func TestUserTCPConnections(t *testing.T) {
	for n := range 4 {
		kernelDials, lossy := n&1 != 0, n>>1 != 0
		t.Run(fmt.Sprintf("kernel dials %t, lossy %t", kernelDials, lossy), func(t *testing.T) {
			link := badlink.Config{Seed: seeded(t).Uint64()}
			connections, goroutines := testmode.Count(10_000, 100), 16
			if lossy {
				link.AB, link.BA = scenario.LossyFaults, scenario.LossyFaults
				connections, goroutines = testmode.Count(10_000, 8), 256
			}
			x := newUserNet(t, usertcp.Config{}, link)
			useConnections(t, x, kernelDials, connections, goroutines)
			if lossy && testmode.Full {
				scenario.WantLossy(t, x.link)
			}
		})
	}
}

// useConnections uses connections with the given number of goroutines. Afterwards nothing is left
// of them.
func useConnections(t *testing.T, x *userNet, kernelDials bool, connections, goroutines int) {
	cfg := extsock.Config{Startup: extsock.StartupRequire, Messages: true, HandshakeTimeout: scenario.LossyTimeout, CloseTimeout: scenario.LossyTimeout}
	l := x.listenDDP(t, kernelDials, cfg)
	before := footprintNow()
	var wg sync.WaitGroup
	var served atomic.Int64
	wg.Go(func() {
		for {
			c, err := l.AcceptDDP()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				return
			}
			wg.Go(func() {
				if err := writeBack(c); err != nil {
					t.Errorf("accepted: %v", err)
				}
				served.Add(1)
			})
		}
	})
	prototest.InGoroutines(goroutines, connections, func(i int) {
		c, err := x.dialDDP(t.Context(), kernelDials, l.Addr().String(), cfg)
		if err == nil {
			err = writeThere(c)
		}
		if err != nil {
			t.Errorf("dialed: %v", err)
		}
	})
	waitFor(t, "all connections have been served", func() bool { return served.Load() == int64(connections) || t.Failed() })
	l.Close()
	wg.Wait()
	settled(t, before.goroutines)
	waiting := footprintNow()
	x.wantNoResets(t)
	x.user.Close() // with the connections in TIME-WAIT
	after := footprintNow()
	t.Logf("before %+v, in TIME-WAIT %+v, after %+v", before, waiting, after)
	if after.fds > before.fds || after.heap-before.heap > 2<<20+600*int64(connections) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// writeThere writes to the peer's memory, waits until the peer has written to its own, and closes
// the connection.
func writeThere(c *extsock.Conn) (err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	c.SetDeadline(time.Now().Add(scenario.LossyTimeout))
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return err
	}
	if _, err := c.Remote(h).WriteAt(scenario.Pattern(scenario.InMemory, 64), 0); err != nil {
		return err
	}
	memory := make([]byte, 64)
	r, err := c.Register(memory, ddp.RemoteWrite)
	if err != nil {
		return err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, b[:1]); err != nil {
		return err
	}
	return scenario.Same("memory of the end that dialed", memory, scenario.InServed)
}

// writeBack is the other end of writeThere.
func writeBack(c *extsock.Conn) (err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	c.SetDeadline(time.Now().Add(scenario.LossyTimeout))
	memory := make([]byte, 64)
	r, err := c.Register(memory, ddp.RemoteWrite)
	if err != nil {
		return err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if err := scenario.Same("memory of the end that accepted", memory, scenario.InMemory); err != nil {
		return err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return err
	}
	if _, err := c.Remote(h).WriteAt(scenario.Pattern(scenario.InServed, 64), 0); err != nil {
		return err
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	if n, err := c.Read(b); err != io.EOF {
		return fmt.Errorf("%d octets and %v instead of the end", n, err)
	}
	return nil
}

// A footprint is the resource use of this process.
type footprint struct {
	goroutines, fds int
	heap            int64 // octets, after a collection
}

func footprintNow() footprint {
	// Pools live for one collection, and a connection that has just ended may give a buffer back
	// between two, so the smallest of several measurements counts.
	var m runtime.MemStats
	heap := int64(math.MaxInt64)
	for range 6 {
		debug.FreeOSMemory()
		runtime.ReadMemStats(&m)
		heap = min(heap, int64(m.HeapAlloc))
	}
	return footprint{goroutines: runtime.NumGoroutine(), fds: prototest.Descriptors(), heap: heap}
}
