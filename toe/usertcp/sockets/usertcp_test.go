package sockets_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// userStacks makes two TCPs in user space, with a link of mtu bytes between them.
func userStacks(t testing.TB, mtu int) (a, b *usertcp.Stack) {
	t.Helper()
	x, y := usertcp.Pipe(mtu)
	return userStack(t, x, "10.7.0.1/24"), userStack(t, y, "10.7.0.2/24")
}

func userStack(t testing.TB, l usertcp.Link, address string) *usertcp.Stack {
	t.Helper()
	s, err := usertcp.New(l, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// userConnect makes a connection from a to b, which has the address 10.7.0.2.
func userConnect(t testing.TB, a, b *usertcp.Stack) (x, y toe.Stream) {
	t.Helper()
	l, err := b.Listen(context.Background(), "tcp", "10.7.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if x, err = a.Dial(context.Background(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if y, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return x, y
}

// userStreams makes a connection between two TCPs in user space. The Stacks live until the test
// ends.
func userStreams(t testing.TB) (a, b net.Conn) {
	t.Helper()
	dialer, listener := onceStacks(t)
	return userConnect(t, dialer, listener)
}

// stacksOf holds the two Stacks of a test that makes many connections.
var stacksOf sync.Map

func onceStacks(t testing.TB) (a, b *usertcp.Stack) {
	if s, ok := stacksOf.Load(t); ok {
		return s.([2]*usertcp.Stack)[0], s.([2]*usertcp.Stack)[1]
	}
	a, b = userStacks(t, 1500)
	stacksOf.Store(t, [2]*usertcp.Stack{a, b})
	t.Cleanup(func() { stacksOf.Delete(t) })
	return a, b
}

// TestEchoOverUserTCP dials and listens over TCPs in user space, and echoes a stream in DDP mode.
func TestEchoOverUserTCP(t *testing.T) {
	a, b := userStacks(t, 1500)
	l, err := extsock.Listen("tcp", "10.7.0.2:0", &extsock.Config{Backend: b, Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	echoed := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(c, c)
			c.Close()
		}
		echoed <- err
	}()
	c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Backend: a, Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	go func() {
		c.Write(data)
		c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || string(got) != string(data) {
		t.Errorf("the echo of %d bytes is %d bytes, %v", len(data), len(got), err)
	}
	if err := <-echoed; err != nil {
		t.Errorf("the echoing end: %v", err)
	}
	if !c.ConnectionState().DDPMode {
		t.Error("the connection is not in DDP mode")
	}
}

// A segmentCounter is a Link that counts the segments with payload that are written to it.
type segmentCounter struct {
	usertcp.Link
	n atomic.Uint64
}

func (c *segmentCounter) Write(p []byte) (int, error) {
	const headers = 20 + 20 + 40 // the most
	if len(p) > headers {
		c.n.Add(1)
	}
	return c.Link.Write(p)
}

// TestFPDUsFollowPathMTU reduces the path MTU while a connection with Markers is in use. After that
// each FPDU fits a segment again.
//
// MPA-5044-4.5-3, MPA-5044-4.5-6
func TestFPDUsFollowPathMTU(t *testing.T) {
	x, y, err := badlink.Pipe(badlink.Config{})
	if err != nil {
		t.Fatal(err)
	}
	link := &segmentCounter{Link: x}
	from, to := userConnect(t, userStack(t, link, "10.7.0.1/24"), userStack(t, y, "10.7.0.2/24"))
	ci, cr := switched(t, from, to, extsock.Config{}, extsock.Config{})
	if !ci.ConnectionState().SendsMarkers {
		t.Fatal("the connection has no Markers")
	}
	data := make([]byte, 256<<10)
	target := register(t, cr, make([]byte, len(data)), ddp.RemoteWrite|ddp.RemoteRead).Handle()
	write := func(data []byte) (fpdus, segments uint64) {
		fpdus, segments = ci.Stats().Sent.FPDUs, link.n.Load()
		do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: target})
		one, err := target.Slice(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 1), Remote: one}) // the Write has arrived
		return ci.Stats().Sent.FPDUs - fpdus, link.n.Load() - segments
	}
	check := func(when string) {
		t.Helper()
		fpdus, segments := write(data)
		if t.Logf("%s: %d FPDUs in %d segments", when, fpdus, segments); segments > fpdus+fpdus/10 {
			t.Errorf("%s there are %d segments for %d FPDUs", when, segments, fpdus)
		}
	}
	check("at first")
	if err := x.SetFaults(badlink.Faults{PathMTU: 1280, PacketTooBig: true}); err != nil {
		t.Fatal(err)
	}
	write(data[:from.(*usertcp.Stream).EMSS()]) // is cut; with more segments, gVisor would send most only when timers expire
	check("on the narrow path")
}

// TestUnusedEarlyRuns: over a path that loses packets, TCP keeps no early runs for a connection
// that cannot use them, or may not.
func TestUnusedEarlyRuns(t *testing.T) {
	for _, test := range []struct {
		desc string
		cfg  extsock.Config
		used bool
	}{
		{"used", extsock.Config{}, true},
		{"NoEarlyPlacement", extsock.Config{NoEarlyPlacement: true}, false},
		{"NoEarlyPlacement, with Markers", extsock.Config{NoEarlyPlacement: true, Markers: true}, false},
		{"no CRC", extsock.Config{NoCRC: true}, false},
		{"no Markers", extsock.Config{NoCapabilities: true}, false},
	} {
		t.Run(test.desc, func(t *testing.T) {
			x, y := usertcp.Pipe(1500)
			from := userStack(t, prototest.NewLossy(x, 1, 0.02, 0.01, 0.10), "10.7.0.1/24")
			to := userStack(t, y, "10.7.0.2/24")
			a, b := userConnect(t, from, to)
			ci, cr := switched(t, a, b, test.cfg, test.cfg)
			data := pattern(1<<20, 1)
			memory := make([]byte, len(data))
			target := register(t, cr, memory, ddp.RemoteWrite|ddp.RemoteRead).Handle()
			do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: target})
			got := make([]byte, len(data))
			do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: got, Remote: target})
			if !bytes.Equal(got, data) {
				t.Error("the data has changed")
			}
			stats := b.(*usertcp.Stream).EarlyStats()
			if placed := cr.Stats().EarlyFPDUs; test.used != (placed > 0) || test.used != (stats != usertcp.EarlyStats{}) {
				t.Errorf("%d FPDUs were placed early; EarlyStats = %+v", placed, stats)
			}
		})
	}
}

// TestEarlyPlacementChangesNothing runs the same operations with and without early placement, over
// a link that loses, repeats, reorders and cuts packets. How bad it is depends on the seed.
// MPA-5044-1.2-1
func TestEarlyPlacementChangesNothing(t *testing.T) {
	scenario.EarlyPlacementChangesNothing(t, scenario.EarlyNetwork{
		Pair: badPair, Requests: 12, Length: 6000, Seeds: testmode.Count(10_000, testmode.Rounds(50, 20)),
		AtOnce: testmode.Count(200, 50), // loss costs time, but hardly any CPU
	})
}

// badPair makes a connection between two TCPs in user space, over a bad link.
func badPair(t *testing.T, seed uint64) (a, b toe.Stream, stop func() (lost uint64)) {
	random := rand.New(rand.NewPCG(seed, 8))
	faults := badlink.Faults{
		Loss: 0.04 * random.Float64(), Corrupt: 0.005 * random.Float64(), Duplicate: 0.02 * random.Float64(),
		Split: 0.5 * random.Float64(), Merge: 0.3 * random.Float64(), Reorder: 0.05 + 0.2*random.Float64(),
	}
	x, y, err := badlink.Pipe(badlink.Config{Seed: seed, AB: faults, BA: faults})
	if err != nil {
		t.Fatal(err)
	}
	from, to := userStack(t, x, "10.7.0.1/24"), userStack(t, y, "10.7.0.2/24")
	a, b = userConnect(t, from, to)
	return a, b, func() uint64 {
		lost := x.Stats().Lost + x.Stats().Corrupted + y.Stats().Lost + y.Stats().Corrupted
		from.Close()
		to.Close()
		return lost
	}
}
