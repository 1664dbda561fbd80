package usertcp_test

import (
	"context"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/usertcp"
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
		{"IPv6, Ethernet", "tcp", "[fd07::2]:0", 1500},
		{"IPv4, long packets", "tcp4", "10.7.0.2:0", usertcp.MaxMTU},
		{"IPv6, short packets", "tcp6", "[fd07::2]:0", usertcp.MinMTU},
	} {
		t.Run(test.desc, func(t *testing.T) {
			a, b := newStacks(t, test.mtu, usertcp.Config{})
			toetest.TestStream(t, func(t *testing.T) (x, y toe.Stream) {
				return connect(t, a, b, test.network, test.address)
			})
		})
	}
}
