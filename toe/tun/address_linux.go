package tun

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// addAddress gives the interface an address, and returns when the kernel accepts packets for it.
// For IPv4 that is so when the kernel answers. For IPv6 the kernel first does Duplicate Address
// Detection (RFC 4862 §5.4) in the background, even on an interface that has no neighbours. Then it
// makes a local route, and until then it drops what comes for the address.
func addAddress(name string, p netip.Prefix) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fail("netlink socket", "CAP_NET_ADMIN", err)
	}
	defer unix.Close(s)
	if err := unix.Bind(s, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV6_ROUTE}); err != nil {
		return fail("bind of a netlink socket", "CAP_NET_ADMIN", err)
	}
	if err := unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
		return fail("setsockopt SO_RCVTIMEO", "CAP_NET_ADMIN", err)
	}
	if err := unix.Sendto(s, addressMessage(i.Index, p), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fail("send of RTM_NEWADDR", "CAP_NET_ADMIN", err)
	}
	b := make([]byte, 1<<16)
	for answered, routed := false, p.Addr().Is4(); !answered || !routed; {
		n, _, err := unix.Recvfrom(s, b, 0)
		if err != nil {
			return fail("receive of the answer to RTM_NEWADDR", "CAP_NET_ADMIN", err)
		}
		messages, err := syscall.ParseNetlinkMessage(b[:n])
		if err != nil {
			return fail("the answer to RTM_NEWADDR", "CAP_NET_ADMIN", err)
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_ERROR:
				if errno := -int32(binary.NativeEndian.Uint32(m.Data)); errno != 0 {
					return fail("RTM_NEWADDR", "CAP_NET_ADMIN", unix.Errno(errno))
				}
				answered = true
			case m.Header.Type == unix.RTM_NEWROUTE && isLocalRoute(m, p.Addr()):
				routed = true
			}
		}
	}
	return nil
}

// isLocalRoute reports whether the message m is about the route to an address of this host.
func isLocalRoute(m syscall.NetlinkMessage, a netip.Addr) bool {
	const typeOffset = 7 // of the type of a route in struct rtmsg
	if len(m.Data) < unix.SizeofRtMsg || m.Data[typeOffset] != unix.RTN_LOCAL {
		return false
	}
	attributes, err := syscall.ParseNetlinkRouteAttr(&m)
	if err != nil {
		return false
	}
	for _, at := range attributes {
		if at.Attr.Type == unix.RTA_DST && bytes.Equal(at.Value, a.AsSlice()) {
			return true
		}
	}
	return false
}

// addressMessage returns the netlink message that gives the interface index the address p.
func addressMessage(index int, p netip.Prefix) []byte {
	family, addr := byte(unix.AF_INET), p.Addr().AsSlice()
	if p.Addr().Is6() {
		family = unix.AF_INET6
	}
	const headers = unix.NLMSG_HDRLEN + unix.SizeofIfAddrmsg
	order := binary.NativeEndian
	b := make([]byte, 0, headers+2*(unix.SizeofRtAttr+16))
	b = order.AppendUint32(b, uint32(headers+2*(unix.SizeofRtAttr+len(addr))))
	b = order.AppendUint16(b, unix.RTM_NEWADDR)
	b = order.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = order.AppendUint32(b, 1) // sequence number
	b = order.AppendUint32(b, 0) // from this process
	b = append(b, family, byte(p.Bits()), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE)
	b = order.AppendUint32(b, uint32(index))
	for _, attribute := range []uint16{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		b = order.AppendUint16(b, uint16(unix.SizeofRtAttr+len(addr)))
		b = order.AppendUint16(b, attribute)
		b = append(b, addr...)
	}
	return b
}
