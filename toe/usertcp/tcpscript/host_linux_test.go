package tcpscript

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/tun"
)

// kernelTCP makes a network namespace with a TUN device.
var kernelTCP = maker{"linux", func(set settings) (*host, error) {
	ns, err := tun.NewNamespace()
	if err != nil {
		return nil, err
	}
	d, err := tun.Open(tun.Config{Namespace: ns, Addresses: hostNets, MTU: linkMTU})
	if err != nil {
		ns.Close()
		return nil, err
	}
	control := func(_, _ string, c syscall.RawConn) (err error) {
		if set.userTimeout > 0 {
			e := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(set.userTimeout.Milliseconds()))
			})
			if e != nil {
				err = e
			}
		}
		return err
	}
	b := &kernel.Backend{Dialer: net.Dialer{KeepAlive: -1, Control: control}, ListenConfig: net.ListenConfig{KeepAlive: -1, Control: control}}
	return &host{"linux", &inNamespace{ns, b}, d, func() { ns.Close() }}, nil
}}

// An inNamespace is a Backend whose sockets are in a network namespace.
type inNamespace struct {
	ns *tun.Namespace
	b  *kernel.Backend
}

func (n *inNamespace) Dial(ctx context.Context, network, address string) (s toe.Stream, err error) {
	e := n.ns.Do(func() error {
		s, err = n.b.Dial(ctx, network, address)
		return nil
	})
	if e != nil {
		return nil, e
	}
	return s, err
}

func (n *inNamespace) Listen(ctx context.Context, network, address string) (l toe.Listener, err error) {
	e := n.ns.Do(func() error {
		l, err = n.b.Listen(ctx, network, address)
		return nil
	})
	if e != nil {
		return nil, e
	}
	return l, err
}
