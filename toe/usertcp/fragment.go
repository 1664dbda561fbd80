package usertcp

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// minTransport is the length in bytes of the shortest header after the IP header: that of ICMP and
// UDP.
const minTransport = 8

// partsHeader reports whether p is the first fragment of a packet and ends before the end of the
// transport header. "When a host fragments an IPv6 datagram, it MUST include the entire IPv6 Header
// Chain in the First Fragment." (RFC 7112 §5) No host has a reason to split a TCP header over IPv4
// either, and RFC 3128 shows how attackers use that. gVisor must not get such a fragment: when it
// has reassembled the packet, it copies the split header, frees the memory of the first fragment,
// and then reads the IP header there. Another goroutine may have written to that memory, and gVisor
// may panic.
func partsHeader(p []byte) bool {
	if len(p) == 0 {
		return false
	}
	switch p[0] >> 4 {
	case header.IPv4Version:
		return partsHeader4(p)
	case header.IPv6Version:
		return partsHeader6(p)
	}
	return false
}

func partsHeader4(p []byte) bool {
	if len(p) < header.IPv4MinimumSize {
		return false
	}
	h := header.IPv4(p)
	n, total := int(h.HeaderLength()), min(int(h.TotalLength()), len(p))
	if !h.More() || h.FragmentOffset() != 0 || n < header.IPv4MinimumSize || n > total {
		return false
	}
	return endsInHeader(h.Protocol(), p[n:total])
}

// partsHeader6 walks through the extension headers. IP drops a packet whose headers are malformed.
func partsHeader6(p []byte) bool {
	if len(p) < header.IPv6MinimumSize {
		return false
	}
	h := header.IPv6(p)
	next, rest := h.NextHeader(), p[header.IPv6MinimumSize:]
	rest = rest[:min(int(h.PayloadLength()), len(rest))]
	for len(rest) >= 8 {
		switch header.IPv6ExtensionHeaderIdentifier(next) {
		case header.IPv6HopByHopOptionsExtHdrIdentifier, header.IPv6RoutingExtHdrIdentifier, header.IPv6DestinationOptionsExtHdrIdentifier:
			n := 8 + 8*int(rest[1])
			if n > len(rest) {
				return false
			}
			next, rest = rest[0], rest[n:]
		case header.IPv6FragmentExtHdrIdentifier:
			const more = 1
			fragment := binary.BigEndian.Uint16(rest[2:]) // the offset times 8, two reserved bits, and more
			return fragment&^6 == more && endsInHeader(rest[0], rest[8:])
		default:
			return false
		}
	}
	return false
}

// endsInHeader reports whether b, which begins with a header of this protocol, ends before the
// header does. An extension header after a fragment header counts as incomplete.
func endsInHeader(protocol uint8, b []byte) bool {
	switch uint32(protocol) {
	case uint32(header.TCPProtocolNumber):
		return len(b) < header.TCPMinimumSize || len(b) < int(header.TCP(b).DataOffset())
	case uint32(header.UDPProtocolNumber), uint32(header.ICMPv4ProtocolNumber), uint32(header.ICMPv6ProtocolNumber):
		return len(b) < minTransport
	}
	return true
}
