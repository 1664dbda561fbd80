package dissect

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Link types as the capture files number them (LINKTYPE_ values). BSD systems write raw IP under
// numbers of their own.
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

// decoder takes packets apart down to TCP. It is the reading half of the door to gopacket.
type decoder struct {
	tcp layers.TCP
}

func newDecoder() *decoder { return &decoder{} }

// segment finds the TCP segment in a packet. Of a packet without one that can be read, why tells
// what it is, and s has only the addresses of an IP fragment of TCP.
func (d *decoder) segment(p packet) (s segment, why unread) {
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
	if err := d.tcp.DecodeFromBytes(h.payload, gopacket.NilDecodeFeedback); err != nil {
		return segment{}, damaged
	}
	return segment{
		src: netip.AddrPortFrom(h.src, uint16(d.tcp.SrcPort)),
		dst: netip.AddrPortFrom(h.dst, uint16(d.tcp.DstPort)),
		seq: d.tcp.Seq,
		syn: d.tcp.SYN, ack: d.tcp.ACK, fin: d.tcp.FIN, rst: d.tcp.RST,
		cut:     p.cut,
		payload: d.tcp.Payload,
	}, readable
}

// network steps over the link header of a packet and its VLAN tags, as many as there are.
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

// knownLink reports whether packets of this link type can be taken apart.
func knownLink(link uint16) bool {
	switch link {
	case linkNull, linkEthernet, linkRawBSD, linkRawOpenBSD, linkRaw, linkLoop, linkLinuxSLL, linkIPv4,
		linkIPv6, linkLinuxSLL2:
		return true
	}
	return false
}
