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
// For IPv4 it accepts them when it answers. For IPv6 the kernel first does Duplicate Address
// Detection (RFC 4862 §5.4) in the background, even on an interface that has no neighbors. Then it
// makes a local route, and until then it drops packets for the address.
func addAddress(name string, p netip.Prefix) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	routed := p.Addr().Is4()
	return request("RTM_NEWADDR", unix.RTMGRP_IPV6_ROUTE, addressMessage(i.Index, p), func(m syscall.NetlinkMessage) bool {
		routed = routed || m.Header.Type == unix.RTM_NEWROUTE && isLocalRoute(m, p.Addr())
		return routed
	})
}

// setQueueLen sets the length of the interface's queue in packets. SIOCSIFTXQLEN would need
// CAP_NET_ADMIN in the first user namespace.
func setQueueLen(name string, n int) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	body := make([]byte, unix.SizeofIfInfomsg)
	order.PutUint32(body[4:], uint32(i.Index))
	body = attribute(body, unix.IFLA_TXQLEN, order.AppendUint32(nil, uint32(n)))
	return request("RTM_NEWLINK", 0, message(unix.RTM_NEWLINK, 0, body), nil)
}

// request sends a message to the kernel, and waits until the kernel has answered and until over
// returns true for a message. If over is nil, request waits only for the answer.
func request(op string, groups uint32, message []byte, over func(m syscall.NetlinkMessage) bool) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fail("netlink socket", "CAP_NET_ADMIN", err)
	}
	defer unix.Close(s)
	if err := unix.Bind(s, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		return fail("bind of a netlink socket", "CAP_NET_ADMIN", err)
	}
	if err := unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
		return fail("setsockopt SO_RCVTIMEO", "CAP_NET_ADMIN", err)
	}
	if err := unix.Sendto(s, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fail("send of "+op, "CAP_NET_ADMIN", err)
	}
	b := make([]byte, 1<<16)
	for answered, done := false, over == nil; !answered || !done; {
		n, err := receive(s, b)
		if err != nil {
			return fail("receive of the answer to "+op, "CAP_NET_ADMIN", err)
		}
		messages, err := syscall.ParseNetlinkMessage(b[:n])
		if err != nil {
			return fail("the answer to "+op, "CAP_NET_ADMIN", err)
		}
		for _, m := range messages {
			if m.Header.Type == unix.NLMSG_ERROR {
				if errno := -int32(binary.NativeEndian.Uint32(m.Data)); errno != 0 {
					return fail(op, "CAP_NET_ADMIN", unix.Errno(errno))
				}
				answered = true
			}
			done = done || over(m)
		}
	}
	return nil
}

// receive waits for a message on the socket s. A signal ends each receive on a socket with
// SO_RCVTIMEO, although the Go runtime asks for calls to continue after a signal (SA_RESTART): see
// signal(7). Then receive waits again, and the timeout starts again.
func receive(s int, b []byte) (n int, err error) {
	for {
		if n, _, err = unix.Recvfrom(s, b, 0); err != unix.EINTR {
			return n, err
		}
	}
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
	body := []byte{family, byte(p.Bits()), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE}
	body = binary.NativeEndian.AppendUint32(body, uint32(index))
	for _, kind := range []uint16{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		body = attribute(body, kind, addr)
	}
	return message(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body)
}

// message returns a netlink message that asks for an answer.
func message(kind, flags uint16, body []byte) []byte {
	order := binary.NativeEndian
	b := order.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	b = order.AppendUint16(b, kind)
	b = order.AppendUint16(b, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b = order.AppendUint32(b, 1) // sequence number
	b = order.AppendUint32(b, 0) // from this process
	return append(b, body...)
}

// attribute appends an attribute to b. The length of value is a multiple of 4.
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(b, value...)
}
