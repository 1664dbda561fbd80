//go:build linux

package cm

import (
	"net/netip"
	"syscall"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// +checklocks:c.cm.mu
func (c *Channel) resolveIPLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.resolveToLocked(ucma.ParseResolveIP(in))
}

// +checklocks:c.cm.mu
func (c *Channel) resolveAddrLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	return a, c.resolveToLocked(ucma.ParseResolveAddr(in))
}

// +checklocks:c.cm.mu
func (c *Channel) resolveToLocked(r ucma.Resolution, err error) error {
	i, err := c.askedLocked(r.ID, err)
	switch {
	case err != nil:
		return err
	case i.state != idle && i.state != bound:
		return uverbs.Refuse(syscall.EINVAL, "the id is %v, and resolves an address only while it is idle or bound", i.state)
	case !r.Dst.IsValid():
		return uverbs.Refuse(syscall.EINVAL, "the address is neither of IPv4 nor of IPv6")
	case r.Src.IsValid() && r.Src.Addr().BitLen() != r.Dst.Addr().BitLen():
		return uverbs.Refuse(syscall.EINVAL, "%v and %v are of different families", r.Src.Addr(), r.Dst.Addr())
	}
	if i.state == idle && r.Src.IsValid() {
		if err := i.bindSource(r.Src.AddrPort); err != nil {
			return err
		}
	}
	i.resolve(r.Dst.AddrPort)
	return nil
}

// resolve finds the local address for the peer's address, and reports the outcome in an event.
func (i *id) resolve(dst netip.AddrPort) {
	if dst.Addr().IsUnspecified() { // this host, as in the kernel
		loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if dst.Addr().Is6() {
			loopback = netip.IPv6Loopback()
		}
		dst = netip.AddrPortFrom(loopback, dst.Port())
	}
	if !i.near {
		a, err := sourceFor(dst.Addr())
		if err != nil || !i.cm.dev.IsOwn(a) {
			i.tell(ucma.AddrError, syscall.ENODEV, ucma.ConnParam{})
			return
		}
		i.src, i.near = netip.AddrPortFrom(a, i.src.Port()), true
	}
	if i.src.Port() == 0 { // the program may query the port
		switch i.ports() {
		case tcpPorts:
			if p, at, err := reserve(i.src, false, false); err == nil {
				i.port, i.src = p, at
			}
		case connectionNumbers, datagramNumbers: // nobody connects to it, so it need not be claimed
			i.src = netip.AddrPortFrom(i.src.Addr(), i.freeNumber())
		}
	}
	i.dst = dst
	i.become(addressed)
	i.tell(ucma.AddrResolved, 0, ucma.ConnParam{})
}

// +checklocks:c.cm.mu
func (c *Channel) resolveRouteLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	n, err := ucma.ParsePlain(in)
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	if i.state != addressed {
		return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, and resolves a route only once its address is resolved", i.state)
	}
	i.become(routed)
	i.tell(ucma.RouteResolved, 0, ucma.ConnParam{})
	return a, nil
}

// route returns the answer to QUERY and QUERY_ROUTE.
func (i *id) route() ucma.Route {
	r := ucma.Route{Src: i.src, Dst: i.dst}
	if i.near {
		r.GUID = i.cm.dev.GUID()
	}
	return r
}

// +checklocks:c.cm.mu
func (c *Channel) queryRouteLocked(_ Caller, in []byte, room int) (a answer, err error) {
	n, err := ucma.ParseAnswered(in)
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	r := i.route()
	return fit(n.Response, r.AppendRoute(nil), room, 200)
}

// +checklocks:c.cm.mu
func (c *Channel) queryLocked(_ Caller, in []byte, room int) (a answer, err error) {
	n, err := ucma.ParseAnswered(in)
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	r := i.route()
	switch n.Other {
	case ucma.QueryAddr:
		return fit(n.Response, r.AppendAddr(nil), room, 272)
	case ucma.QueryPath:
		return fit(n.Response, ucma.AppendPaths(nil), room, 8)
	case ucma.QueryGID:
		return fit(n.Response, r.AppendGIDs(nil), room, 272)
	}
	return a, syscall.ENOSYS
}
