//go:build linux

package cm

import (
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
)

// +checklocks:c.cm.mu
func (c *Channel) bindIPLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.bindToLocked(ucma.ParseBindIP(in))
}

// +checklocks:c.cm.mu
func (c *Channel) bindLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.bindToLocked(ucma.ParseBind(in))
}

// +checklocks:c.cm.mu
func (c *Channel) bindToLocked(r ucma.BindRequest, err error) error {
	i, err := c.askedLocked(r.ID, err)
	switch {
	case err != nil:
		return err
	case i.state != idle:
		return uverbs.Refuse(syscall.EINVAL, "the id is %v, and binds only while it is idle", i.state)
	case r.Addr.IB: // a probe of the program for the address family
		i.become(bound)
		return nil
	case !r.Addr.IsValid():
		return uverbs.Refuse(syscall.EINVAL, "the address is neither of IPv4 nor of IPv6")
	}
	return i.bind(r.Addr.AddrPort)
}

// bind gives i a local address and port.
func (i *id) bind(a netip.AddrPort) error { return i.bindWith(a, i.ports() != noPorts) }

// bindSource is bind for an id that is going to connect. If any port will do, resolve chooses it.
func (i *id) bindSource(a netip.AddrPort) error {
	return i.bindWith(a, i.ports() != noPorts && a.Port() != 0)
}

// bindWith gives i a local address and, if takes is set, a port.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) bindWith(a netip.AddrPort, takes bool) error {
	switch {
	case a.Addr().IsUnspecified() || i.cm.dev.IsOwn(a.Addr().Unmap()):
	case isOurs(a.Addr().Unmap()):
		return uverbs.Refuse(syscall.ENODEV, "%v is an address of this host, but no GID of the device", a.Addr())
	default:
		return uverbs.Refuse(syscall.EADDRNOTAVAIL, "%v is no address of this host", a.Addr())
	}
	if takes {
		p, at, err := i.takePort(a)
		if err != nil {
			return err
		}
		i.port, a = p, at
	}
	i.src, i.near = a, !a.Addr().IsUnspecified()
	i.become(bound)
	return nil
}

// A portSpace is a set of port numbers.
type portSpace uint8

const (
	noPorts           portSpace = iota
	tcpPorts                    // of an RNIC's connections
	connectionNumbers           // of joined connections: see number.go
	datagramNumbers             // of datagrams
)

// ports returns the set from which i has its port.
func (i *id) ports() portSpace {
	switch {
	case i.space == ucma.IB:
		return noPorts
	case i.space.Datagrams():
		return datagramNumbers
	case i.cm.wire == softrnic.Plain:
		return tcpPorts
	}
	return connectionNumbers
}

// isFree returns the kernel's error if another id has the TCP port of a. The check is needed
// because two sockets that do not listen may share a port.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) isFree(a netip.AddrPort) syscall.Errno {
	me := holder{a.Addr(), i.afOnly}
	for _, other := range i.cm.ids {
		if a.Port() != 0 && other.port != nil && other.ports() == tcpPorts && other.src.Port() == a.Port() && !(i.reuse && other.reuse) {
			if e := me.conflict(holder{other.src.Addr(), other.afOnly}); e != 0 {
				return e
			}
		}
	}
	return 0
}

// takePort takes the port of a for i, or any if it is 0.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) takePort(a netip.AddrPort) (*port, netip.AddrPort, error) {
	var p *port
	var err error
	switch {
	case i.ports() == tcpPorts:
		if e := i.isFree(a); e != 0 {
			return nil, a, uverbs.Refuse(e, "port %d: another id of the device has it", a.Port())
		}
		p, a, err = reserve(a, false, i.afOnly)
	case a.Port() == 0:
		p, a, err = i.claimAny(a.Addr())
	default:
		p, err = claim(i.ports(), a, i.afOnly, i.reuse)
	}
	if err != nil {
		return nil, a, uverbs.Refuse(errnoOf(err, syscall.EADDRNOTAVAIL), "port %d: %v", a.Port(), err)
	}
	return p, a, nil
}

// isOurs reports whether a is an address of this host. All loopback addresses are.
func isOurs(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(all, func(x net.Addr) bool {
		n, ok := x.(*net.IPNet)
		return ok && n.IP.Equal(net.IP(a.AsSlice()))
	})
}
