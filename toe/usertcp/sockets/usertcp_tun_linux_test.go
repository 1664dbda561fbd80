package sockets_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
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
	host := newHost(t)
	return &tunNet{userStack(t, newTUN(t, host, mtu, tunKernel), tunUser+"/24"), host}
}

// tunStacks makes two TCPs in user space, each with a TUN device. The kernel forwards packets
// between the devices.
func tunStacks(t testing.TB, mtu int) (a, b *usertcp.Stack) {
	t.Helper()
	router := newHost(t)
	if err := router.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }); err != nil {
		t.Fatal(err)
	}
	return userStack(t, newTUN(t, router, mtu, "10.6.0.1"), "10.6.0.2/24"), userStack(t, newTUN(t, router, mtu, "10.7.0.1"), "10.7.0.2/24")
}

// newHost makes a network namespace.
func newHost(t testing.TB) *tun.Namespace {
	t.Helper()
	host, err := tun.NewNamespace()
	if errors.As(err, new(*tun.PrivilegeError)) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	return host
}

// newTUN opens a TUN device where the kernel has the given address.
func newTUN(t testing.TB, host *tun.Namespace, mtu int, kernel string) *tun.Device {
	t.Helper()
	own := []netip.Prefix{netip.MustParsePrefix(kernel + "/24")}
	d, err := tun.Open(tun.Config{Namespace: host, Addresses: own, MTU: mtu, QueueLen: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	return d
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

// BenchmarkUserTCPOverTUN is BenchmarkUserTCP over TUN devices: between a TCP in user space and the
// kernel's, in both directions, and between two TCPs in user space. Only TCPs in user space can
// place early.
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
			b.Run(fmt.Sprintf("in user space, MTU %d, early placement %t", mtu, early), func(b *testing.B) {
				x, y := tunStacks(b, mtu)
				compareWithPlain(b, early, early, func() (from, to net.Conn) { return userConnect(b, x, y) })
			})
		}
	}
}
