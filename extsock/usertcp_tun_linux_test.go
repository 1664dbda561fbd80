package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/rddp/rddp/toe/tun"
	"github.com/rddp/rddp/toe/usertcp"
)

// A tunNet is a TCP in user space and the kernel's TCP in a network namespace, with a TUN device
// between them.
type tunNet struct {
	user *usertcp.Stack
	host *tun.Namespace
}

const (
	tunUser   = "10.9.0.2"
	tunKernel = "10.9.0.1"
)

// newTUNNet makes a net. Without the privilege to make a namespace the test is skipped.
func newTUNNet(t testing.TB, mtu int) *tunNet {
	t.Helper()
	host, err := tun.NewNamespace()
	if errors.As(err, new(*tun.PrivilegeError)) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	own := []netip.Prefix{netip.MustParsePrefix(tunKernel + "/24")}
	d, err := tun.Open(tun.Config{Namespace: host, Addresses: own, MTU: mtu, QueueLen: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	return &tunNet{userStack(t, d, tunUser+"/24"), host}
}

// connect makes a connection from the TCP in user space to the kernel's.
func (n *tunNet) connect(t testing.TB) (user, kernel net.Conn) {
	t.Helper()
	var l net.Listener
	if err := n.host.Do(func() (err error) {
		l, err = net.Listen("tcp", tunKernel+":0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	user, err := n.user.Dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if kernel, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return user, kernel
}

// BenchmarkUserTCPOverTUN is BenchmarkUserTCP between a TCP in user space and the kernel's, over a TUN
// device, in both directions. Only the TCP in user space can place early.
func BenchmarkUserTCPOverTUN(b *testing.B) {
	for _, mtu := range []int{1500, 9000, usertcp.MaxMTU} {
		b.Run(fmt.Sprintf("to the kernel, MTU %d", mtu), func(b *testing.B) {
			n := newTUNNet(b, mtu)
			compareWithPlain(b, true, false, func() (from, to net.Conn) { return n.connect(b) })
		})
		for _, early := range []bool{true, false} {
			b.Run(fmt.Sprintf("from the kernel, MTU %d, early placement %t", mtu, early), func(b *testing.B) {
				n := newTUNNet(b, mtu)
				compareWithPlain(b, false, early, func() (from, to net.Conn) {
					to, from = n.connect(b)
					return from, to
				})
			})
		}
	}
}
