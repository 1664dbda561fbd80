package usertcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/usertcp"
	"github.com/rddp/rddp/toe/usertcp/internal/turned"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The addresses of the two Stacks of a test.
var (
	addrsA = []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24"), netip.MustParsePrefix("fd07::1/64")}
	addrsB = []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24"), netip.MustParsePrefix("fd07::2/64")}
)

// newStack makes a Stack that is closed at the end of the test.
func newStack(t testing.TB, l usertcp.Link, cfg usertcp.Config) *usertcp.Stack {
	t.Helper()
	s, err := usertcp.New(l, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// newStacks makes two Stacks with a Pipe between them.
func newStacks(t testing.TB, mtu int, cfg usertcp.Config) (a, b *usertcp.Stack) {
	t.Helper()
	x, y := usertcp.Pipe(mtu)
	cfg.Addresses = addrsA
	a = newStack(t, x, cfg)
	cfg.Addresses = addrsB
	return a, newStack(t, y, cfg)
}

// connect makes a connection from a to address of b.
func connect(t testing.TB, a, b toe.Backend, network, address string) (x, y toe.Stream) {
	t.Helper()
	l, err := b.Listen(context.Background(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if x, err = a.Dial(context.Background(), network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if y, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return x, y
}

func TestContract(t *testing.T) {
	for _, test := range []struct {
		desc, network, address string
		mtu                    int
	}{
		{"IPv4, Ethernet", "tcp", "10.7.0.2:0", 1500},
		{"IPv6, long packets", "tcp6", "[fd07::2]:0", usertcp.MaxMTU},
	} {
		t.Run(test.desc, func(t *testing.T) {
			a, b := newStacks(t, test.mtu, usertcp.Config{})
			toetest.TestStream(t, func(t *testing.T) (x, y toe.Stream) {
				return connect(t, a, b, test.network, test.address)
			})
		})
	}
}

// TestTransfer moves bytes with each network that Dial and Listen know, and with Listeners at one
// address and at all addresses of the Stack.
func TestTransfer(t *testing.T) {
	for _, test := range []struct {
		network, listen, dial string
		mtu                   int
	}{
		{"tcp", ":7174", "10.7.0.2:7174", 1500},
		{"tcp", ":7174", "[fd07::2]:7174", usertcp.MinMTU},
		{"tcp4", ":7174", "10.7.0.2:7174", usertcp.MaxMTU},
		{"tcp6", ":7174", "[fd07::2]:7174", 9000},
		{"tcp", "10.7.0.2:7174", "10.7.0.2:7174", usertcp.MinMTU},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			a, b := newStacks(t, test.mtu, usertcp.Config{CongestionControl: "reno"})
			l, err := b.Listen(t.Context(), test.network, test.listen)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			x, err := a.Dial(t.Context(), test.network, test.dial)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			y, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer y.Close()
			if err := toetest.Transfer(x, y, 1<<20, 1); err != nil {
				t.Error(err)
			}
			if local, remote := x.LocalAddr().String(), y.RemoteAddr().String(); local != remote || x.RemoteAddr().String() != test.dial {
				t.Errorf("the dialing end is %s to itself and %s to its peer; it dialed %s", local, remote, x.RemoteAddr())
			}
		})
	}
}

// TestErrors: calls that fail return the errors of package net and of the system.
func TestErrors(t *testing.T) {
	a, b := newStacks(t, 1500, usertcp.Config{})
	if _, err := a.Dial(t.Context(), "tcp", "10.7.0.2:1"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial of a port where nobody listens = %v", err)
	}
	if _, err := a.Dial(t.Context(), "udp", "10.7.0.2:1"); !errors.As(err, new(net.UnknownNetworkError)) {
		t.Errorf("Dial of udp = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.Dial(ctx, "tcp", "10.7.0.3:1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial of an address that does not answer = %v", err)
	}
	l, err := b.Listen(t.Context(), "tcp", "10.7.0.2:7")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Listen(t.Context(), "tcp", "10.7.0.2:7"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second Listen = %v", err)
	}
	if _, err := b.Listen(t.Context(), "tcp", "10.7.0.9:7"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("Listen at an address of nobody = %v", err)
	}
	accepts := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepts <- err
	}()
	l.Close()
	if err := <-accepts; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed Listener = %v", err)
	}
	for _, cfg := range []usertcp.Config{
		{}, {Addresses: addrsA, CongestionControl: "none"}, {Addresses: make([]netip.Prefix, 1)},
		{Addresses: addrsA, UserTimeout: -1}, {Addresses: addrsA, MinRTO: -1}, {Addresses: addrsA, SendBuffer: -1}, {Addresses: addrsA, ReceiveBuffer: math.MaxInt},
	} {
		x, _ := usertcp.Pipe(1500)
		if s, err := usertcp.New(x, cfg); err == nil {
			t.Errorf("New(%+v) = nil error", cfg)
			s.Close()
		}
	}
}

// TestStackClose: Close of a Stack ends its connections and Listeners.
func TestStackClose(t *testing.T) {
	a, b := newStacks(t, 1500, usertcp.Config{})
	x, y := connect(t, a, b, "tcp", "10.7.0.2:0")
	ends := make(chan error, 1)
	go func() {
		_, err := x.Read(make([]byte, 1))
		ends <- err
	}()
	a.Close()
	if err := <-ends; err == nil || err == io.EOF {
		t.Errorf("Read of a connection whose Stack is closed = %v", err)
	}
	if _, err := y.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read at the peer = %v, want ECONNRESET", err)
	}
}

// TestStackClosed: a closed Stack makes no connections, and returns the error of a closed Listener.
// A server that waits in Accept, or calls it later, gets net.ErrClosed.
func TestStackClosed(t *testing.T) {
	a, b := newStacks(t, 1500, usertcp.Config{})
	var listeners [3]toe.Listener
	for i, address := range []string{"10.7.0.2:0", "[fd07::2]:0", ":0"} {
		l, err := b.Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		listeners[i] = l
	}
	accepts := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() {
			_, err := l.Accept()
			accepts <- err
		}()
	}
	b.Close()
	for range listeners {
		if err := <-accepts; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept during Close of the Stack = %v, want net.ErrClosed", err)
		}
	}
	for _, l := range listeners {
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close of the Stack = %v, want net.ErrClosed", err)
		}
	}
	for _, address := range []string{"10.7.0.2:7", ":7"} {
		if l, err := b.Listen(t.Context(), "tcp", address); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Listen at %q after Close of the Stack = %v, %v, want net.ErrClosed", address, l, err)
		}
	}
	for _, address := range []string{"10.7.0.1:7", "[fd07::1]:7"} {
		if s, err := b.Dial(t.Context(), "tcp", address); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Dial after Close of the Stack = %v, %v, want net.ErrClosed", s, err)
		}
	}
	a.Close()
}

// A closing is a Link that calls a function when its Stack closes it.
type closing struct {
	usertcp.Link
	close func()
}

func (l *closing) Close() error {
	l.close()
	return l.Link.Close()
}

// TestDialDuringClose: a Stack begins no connection while it closes. It would wait for the end of a
// connection that it has not reset.
func TestDialDuringClose(t *testing.T) {
	x, _ := usertcp.Pipe(1500)
	sent := make(chan struct{}, 1)
	l := &closing{Link: &gate{x, func([]byte) bool {
		select {
		case sent <- struct{}{}:
		default:
		}
		return true
	}}}
	a := newStack(t, l, usertcp.Config{Addresses: addrsA})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dialed := make(chan error, 1)
	l.close = func() { // all connections have been reset before
		go func() {
			_, err := a.Dial(ctx, "tcp", "10.7.0.2:7")
			dialed <- err
		}()
		select {
		case <-sent:
			t.Error("a connection begins")
			cancel()
		case err := <-dialed:
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("Dial = %v, want net.ErrClosed", err)
			}
		}
	}
	a.Close()
}

// TestAcceptDuringClose: while a Stack resets its connections in Close, it also resets connections
// that arrive and that the program accepts.
func TestAcceptDuringClose(t *testing.T) {
	const others = 20 // most likely one of them is reset before the Listener is closed
	came := false
	for round := 0; !came && round < 100; round++ {
		x, y := usertcp.Pipe(1500)
		a := newStack(t, x, usertcp.Config{Addresses: addrsA})
		var reset atomic.Bool
		var l toe.Listener
		var late toe.Stream
		accept := func() { // holds the lock of the connection that is reset
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := a.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return // the Listener is closed
			}
			t.Cleanup(func() { s.Abort() })
			if late, err = l.Accept(); err != nil {
				late = nil
			}
		}
		link := &closing{Link: &gate{y, func(p []byte) bool {
			if header.TCP(header.IPv4(p).Payload()).Flags().Contains(header.TCPFlagRst) && !reset.Swap(true) {
				accept()
			}
			return false
		}}}
		b := newStack(t, link, usertcp.Config{Addresses: addrsB})
		link.close = func() {
			if late == nil {
				return
			}
			came = true
			if _, err := late.Write([]byte("still there")); err == nil {
				t.Error("a connection outlives the Close of its Stack")
				late.Abort() // Close would wait for it
			}
		}
		var err error
		if l, err = b.Listen(t.Context(), "tcp", "10.7.0.2:0"); err != nil {
			t.Fatal(err)
		}
		for range others {
			s, err := a.Dial(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Abort()
			if _, err := l.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		b.Close()
		a.Close()
	}
	if !came {
		t.Error("no connection has come in time")
	}
}

// TestKeepAlivePeriods: periods have the same meaning as for net.TCPConn, and none ends a
// connection whose peer answers.
func TestKeepAlivePeriods(t *testing.T) {
	for _, d := range []time.Duration{0, -1, 1, math.MinInt64, math.MaxInt64} {
		for _, inConfig := range []bool{false, true} {
			clock := turned.New(t)
			x, y := usertcp.Pipe(1500)
			var count atomic.Bool
			var sent atomic.Int64
			cfg := usertcp.Config{Addresses: addrsA, KeepAlive: time.Minute}
			if inConfig {
				cfg.KeepAlive = d
			}
			a := newStack(t, &gate{x, func([]byte) bool {
				if count.Load() {
					sent.Add(1)
				}
				return false
			}}, cfg)
			b := newStack(t, y, usertcp.Config{Addresses: addrsB, KeepAlive: -1})
			s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
			if !inConfig {
				if err := s.(*usertcp.Stream).SetKeepAlivePeriod(d); err != nil {
					t.Fatal(err)
				}
			}
			count.Store(true)
			clock.Turn(150*time.Second, time.Second/2)
			count.Store(false)
			want := map[time.Duration]int64{0: 10, 1: 150, -1: 2, math.MinInt64: 2}[d]
			if inConfig && d < 0 {
				want = 0 // no probes
			}
			if n := sent.Load(); n < want-want/10 || n > want {
				t.Errorf("period %d, inConfig %t: %d probes in 150 s, want %d", d, inConfig, n, want)
			}
			if _, err := s.Write([]byte("alive")); err != nil {
				t.Errorf("period %d, inConfig %t: Write = %v", d, inConfig, err)
			}
			if _, err := io.ReadFull(r, make([]byte, 5)); err != nil {
				t.Errorf("period %d, inConfig %t: Read = %v", d, inConfig, err)
			}
			s.Abort()
			r.Abort()
			a.Close()
			b.Close()
		}
	}
}

// TestKeepAlive: a connection whose peer has vanished fails, after the idle time and nine probes.
func TestKeepAlive(t *testing.T) {
	const period = time.Minute
	clock := turned.New(t)
	x, y := usertcp.Pipe(1500)
	var cut atomic.Bool
	var probes atomic.Int64
	a := newStack(t, &gate{x, func([]byte) bool {
		if cut.Load() {
			probes.Add(1)
		}
		return cut.Load()
	}}, usertcp.Config{Addresses: addrsA, KeepAlive: period})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB, KeepAlive: -1})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	clock.Turn(100*period, period/2) // the peer answers
	cut.Store(true)
	clock.Turn(9*period, period/2)
	if n := probes.Load(); n < 8 || n > 9 {
		t.Errorf("%d probes in nine periods", n)
	}
	clock.Turn(2*period, period/2)
	for _, call := range []string{"Read", "the second Read"} {
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("%s from a peer that has vanished = %v, want ETIMEDOUT", call, err)
		}
	}
	if _, err := s.Write(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("Write to a peer that has vanished = %v, want ETIMEDOUT", err)
	}
}
