package simtoe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// listen listens in n until the end of the test.
func listen(t *testing.T, n *simtoe.Network, address string) toe.Listener {
	t.Helper()
	l, err := n.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestNetworkAddresses(t *testing.T) {
	n := simtoe.New(simtoe.Config{})
	l := listen(t, n, "server:7174")
	x, y := listen(t, n, "server:0"), listen(t, n, ":0")
	if x.Addr().String() == "server:0" || x.Addr().String() == y.Addr().String() {
		t.Errorf("chosen addresses %v and %v, want two", x.Addr(), y.Addr())
	}
	for _, l := range []toe.Listener{l, x, y} {
		a, err := n.Dial(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if a.RemoteAddr() != l.Addr() || b.LocalAddr() != l.Addr() || a.LocalAddr() != b.RemoteAddr() {
			t.Errorf("connection %v–%v accepted as %v–%v", a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
		}
		if got := a.LocalAddr().Network(); got != "tcp" {
			t.Errorf("Network() = %q, want tcp", got)
		}
	}
}

func TestChosenPortIsFree(t *testing.T) {
	n := simtoe.New(simtoe.Config{})
	for _, address := range []string{"sim:49152", "sim:49153", "other:49155"} {
		if _, err := n.Listen(t.Context(), "sim", address); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"sim:49154", "sim:49155"} {
		if l, err := n.Listen(t.Context(), "sim", "sim:0"); err != nil || l.Addr().String() != want {
			t.Errorf("Listen at sim:0 = %v, %v, want %s", l, err, want)
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	n := simtoe.New(simtoe.Config{})
	l := listen(t, n, "server:1")
	if _, err := n.Listen(t.Context(), "tcp", "server:1"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second Listen = %v, want EADDRINUSE", err)
	}
	if _, err := n.Dial(t.Context(), "tcp", "server:2"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial = %v, want ECONNREFUSED", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Dial(ctx, "tcp", "server:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial with a canceled context = %v, want context.Canceled", err)
	}
	if _, err := n.Listen(ctx, "tcp", "server:3"); !errors.Is(err, context.Canceled) {
		t.Errorf("Listen with a canceled context = %v, want context.Canceled", err)
	}
	l.Close()
	if _, err := n.Dial(t.Context(), "tcp", "server:1"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial after Close = %v, want ECONNREFUSED", err)
	}
	listen(t, n, "server:1") // the address is free again
}

func TestListenerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simtoe.New(simtoe.Config{})
		l := listen(t, n, "server:1")
		accepted := make(chan error)
		go func() {
			_, err := l.Accept()
			accepted <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-accepted; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept during Close = %v, want net.ErrClosed", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close = %v, want net.ErrClosed", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("second Close() = %v, want nil", err)
		}
	})
}

// TestListenerCloseEndsBacklog checks that Close ends connections that were not accepted.
func TestListenerCloseEndsBacklog(t *testing.T) {
	n := simtoe.New(simtoe.Config{})
	l := listen(t, n, "server:1")
	a, err := n.Dial(t.Context(), "tcp", "server:1")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	l.Close()
	if _, err := a.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("Read = %v, want io.EOF", err)
	}
}

// TestNetworkConnectionsDiffer checks that each connection has its own runs, and that another
// Network repeats them.
func TestNetworkConnectionsDiffer(t *testing.T) {
	data := octets(5000)
	connections := func() (runs [2][]shown) {
		n := simtoe.New(simtoe.Config{Seed: 1, MaxSegment: 100, Split: true})
		l := listen(t, n, "server:1")
		for i := range runs {
			a, err := n.Dial(t.Context(), "tcp", "server:1")
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			b, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			mustWrite(t, a, data)
			runs[i] = readAll(t, b, data)
		}
		return runs
	}
	x, y := connections(), connections()
	if slices.Equal(x[0], x[1]) {
		t.Error("two connections, same runs")
	}
	if !slices.Equal(x[0], y[0]) || !slices.Equal(x[1], y[1]) {
		t.Error("two networks with the same seed, other runs")
	}
}
