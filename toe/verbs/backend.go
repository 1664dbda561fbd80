package verbs

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/rnic"
)

// A Backend is for Config.Backend of package extsock: connections run on a device, and on the
// operating system's TCP in the process if they can't. The zero value is the first device that can
// be used. A Backend must not be copied after its first use. Its methods may be called from any
// goroutine.
type Backend struct {
	// Name is the name of the device, as for Open.
	Name string

	kernel.Backend // TCP in the process

	mu  locks.Mutex[locks.VerbsBackend]
	dev *Device // nil until it is open
}

var _ rnic.Deviced = (*Backend)(nil)

// Device opens the device if it is not open, or if it has failed.
func (b *Backend) Device() (rnic.Device, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dev != nil && b.dev.hasFailed() {
		_ = b.dev.Close() // it returns nil
		b.dev = nil
	}
	if b.dev == nil {
		d, err := Open(b.Name)
		if err != nil {
			return nil, err
		}
		b.dev = d
	}
	return device{b.dev}, nil
}

// Close closes the device, which ends all connections on it.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dev == nil {
		return nil
	}
	d := b.dev
	b.dev = nil
	return d.Close()
}

// A device is a Device as an rnic.Device.
type device struct{ *Device }

func (d device) IsRNIC() bool { return d.rnic }

func (d device) PrivateData() (request, answer int) {
	if d.rnic {
		return mostPrivate, mostPrivate
	}
	return mostPrivateRequest, mostPrivateAnswer
}

func (d device) NewRegion(n int, access ddp.Access) (rnic.Region, error) {
	r, err := d.Device.NewRegion(n, access)
	if err != nil {
		return nil, err // and not a nil *Region in an interface
	}
	return r, nil
}

func (d device) Resolve(ctx context.Context, network, address string) ([]string, error) {
	all, err := resolve(ctx, network, address)
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.String()
	}
	return out, err
}

func (d device) Dial(ctx context.Context, network, address string, cfg rnic.QPConfig) (rnic.QP, error) {
	all, err := resolve(ctx, network, address)
	if err != nil {
		return nil, err
	}
	q, err := d.Device.Dial(ctx, all[0], configOf(cfg))
	var c *ConnectError
	if errors.As(err, &c) && c.isProgram() {
		return nil, &rnic.RejectError{PrivateData: c.PrivateData, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return pair{q}, nil
}

func (d device) Listen(ctx context.Context, network, address string) (rnic.QPListener, error) {
	all, err := resolve(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l, err := d.Device.Listen(listenAt(all))
	if err != nil {
		return nil, err
	}
	return listener{l}, nil
}

// configOf converts a QPConfig to a Config of this package.
func configOf(c rnic.QPConfig) Config {
	out := Config{Sends: c.Sends, Receives: c.Receives, Reads: c.Reads, NoFlush: c.NoFlush, Segments: c.Segments, PrivateData: c.PrivateData, Answer: c.Answer}
	if c.Prepare != nil {
		out.Prepare = func(q *QP) error { return c.Prepare(pair{q}) }
	}
	return out
}

// A pair is a QP as an rnic.QP.
type pair struct{ *QP }

func (p pair) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(p.route.Src) }
func (p pair) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(p.route.Dst) }

// A listener is a Listener as an rnic.QPListener.
type listener struct{ *Listener }

func (l listener) Accept(ctx context.Context, cfg rnic.QPConfig) (rnic.QP, error) {
	q, err := l.Listener.Accept(ctx, configOf(cfg))
	if err != nil {
		return nil, err
	}
	return pair{q}, nil
}

func (l listener) IsPeer(err error) bool {
	var c *ConnectError
	return errors.As(err, &c)
}

func (l listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

// listenAt returns the address of all on which net.Listen would listen: the first IPv4 address, if
// there is one.
func listenAt(all []netip.AddrPort) netip.AddrPort {
	return all[max(slices.IndexFunc(all, func(a netip.AddrPort) bool { return a.Addr().Is4() }), 0)]
}

// resolve returns the addresses, at least one, that a name means in package net. The empty host
// means every IPv4 address, or with "tcp6" every IPv6 address.
func resolve(ctx context.Context, network, address string) ([]netip.AddrPort, error) {
	family := "ip" + strings.TrimPrefix(network, "tcp")
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &UnavailableError{Reason: NotSupported, Err: net.UnknownNetworkError(network)}
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	if err != nil {
		return nil, err
	}
	all := []netip.Addr{netip.IPv4Unspecified()}
	switch {
	case host == "" && network == "tcp6":
		all[0] = netip.IPv6Unspecified()
	case host != "":
		if all, err = net.DefaultResolver.LookupNetIP(ctx, family, host); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, os.ErrNotExist // LookupNetIP returns an error instead
	}
	out := make([]netip.AddrPort, len(all))
	for i, a := range all {
		out[i] = netip.AddrPortFrom(a.Unmap(), uint16(port))
	}
	return out, nil
}
