package dissect

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Link types as the capture files number them (LINKTYPE_ values). BSD systems use their own numbers
// for raw IP.
const (
	linkNull       = 0 // BSD loopback, family in the capturing host's byte order
	linkEthernet   = 1
	linkRawBSD     = 12
	linkRawOpenBSD = 14
	linkRaw        = 101
	linkLoop       = 108 // OpenBSD loopback
	linkLinuxSLL   = 113
	linkIPv4       = 228
	linkIPv6       = 229
	linkLinuxSLL2  = 276
)

// segment is one TCP segment. payload aliases the packet it came in.
type segment struct {
	src, dst           netip.AddrPort
	seq                uint32
	syn, ack, fin, rst bool
	cut                bool // the capture holds only the beginning of the packet
	payload            []byte
}

// segment finds the TCP segment in a packet. If a packet has no readable segment, why says what the
// packet is, and s has only addresses, if the packet is an IP fragment of TCP.
func (p packet) segment() (s segment, why unread) {
	b, why := network(p.link, p.data)
	if why != readable {
		return segment{}, why
	}
	h, why := transport(b)
	s.src, s.dst = netip.AddrPortFrom(h.src, 0), netip.AddrPortFrom(h.dst, 0)
	switch {
	case why == fragment && h.protocol == protocolTCP:
		return s, fragment
	case why != readable:
		return segment{}, why
	}
	s, why = parseTCP(h)
	s.cut = p.cut
	return s, why
}

// Flags of TCP, in the octet at 13.
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	_
	flagACK
)

// parseTCP parses a header. It ignores the options, and like a receiver's TCP it accepts a segment
// whose options are damaged.
func parseTCP(h datagram) (segment, unread) {
	b := h.payload
	if len(b) < 20 {
		return segment{}, damaged
	}
	header, flags := int(b[12]>>4)*4, b[13]
	if header < 20 || header > len(b) {
		return segment{}, damaged
	}
	return segment{
		src: netip.AddrPortFrom(h.src, binary.BigEndian.Uint16(b)),
		dst: netip.AddrPortFrom(h.dst, binary.BigEndian.Uint16(b[2:])),
		seq: binary.BigEndian.Uint32(b[4:]),
		syn: flags&flagSYN != 0, ack: flags&flagACK != 0, fin: flags&flagFIN != 0, rst: flags&flagRST != 0,
		payload: b[header:],
	}, readable
}

// network skips the link header of a packet and all its VLAN tags.
func network(link uint16, data []byte) (payload []byte, why unread) {
	header, typeAt := 0, -1
	switch link {
	case linkEthernet:
		header, typeAt = 14, 12
	case linkNull, linkLoop:
		header = 4
	case linkLinuxSLL:
		header, typeAt = 16, 14
	case linkLinuxSLL2:
		header, typeAt = 20, 0
	}
	if len(data) < header {
		return nil, damaged
	}
	payload = data[header:]
	if typeAt < 0 {
		return payload, readable
	}
	etherType := binary.BigEndian.Uint16(data[typeAt:])
	for slices.Contains(vlanTags, etherType) {
		if len(payload) < 4 {
			return nil, damaged
		}
		etherType, payload = binary.BigEndian.Uint16(payload[2:]), payload[4:]
	}
	if etherType == etherTypeIPv4 || etherType == etherTypeIPv6 {
		return payload, readable
	}
	return nil, etherTypes[etherType]
}

// knownLink reports whether packets of this link type can be decoded.
func knownLink(link uint16) bool {
	switch link {
	case linkNull, linkEthernet, linkRawBSD, linkRawOpenBSD, linkRaw, linkLoop, linkLinuxSLL, linkIPv4,
		linkIPv6, linkLinuxSLL2:
		return true
	}
	return false
}
