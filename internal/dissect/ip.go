package dissect

import (
	"encoding/binary"
	"net/netip"
)

// Protocol numbers of IP that are skipped or decoded.
const (
	protocolHopByHop    = 0
	protocolIPv4        = 4
	protocolTCP         = 6
	protocolUDP         = 17
	protocolIPv6        = 41
	protocolRouting     = 43
	protocolFragment    = 44
	protocolAH          = 51
	protocolDestination = 60
)

// datagram is an IP packet, as far as it is decoded.
type datagram struct {
	src, dst netip.Addr
	protocol uint8 // of payload
	payload  []byte
}

// transport finds TCP in an IP packet, after extension headers and inside nested IP packets.
func transport(b []byte) (h datagram, why unread) {
	h, why = parseIP(b)
	for why == readable && h.protocol != protocolTCP {
		switch p := h.payload; h.protocol {
		case protocolIPv4, protocolIPv6:
			h, why = parseIP(p)
		case protocolHopByHop, protocolRouting, protocolDestination:
			why = h.skip(8, 8)
		case protocolAH: // the protected data are not encrypted
			why = h.skip(8, 4)
		case protocolFragment:
			if why = h.skip(8, 0); why == readable && binary.BigEndian.Uint16(p[2:])&^6 != 0 {
				why = fragment
			}
		case protocolUDP:
			why = damaged
			if len(p) >= 8 {
				why = udpPorts[binary.BigEndian.Uint16(p[2:])]
			}
		default:
			why = protocols[h.protocol]
		}
	}
	return h, why
}

// skip skips an extension header of base octets plus unit octets for each unit in its length field.
func (h *datagram) skip(base, unit int) unread {
	if len(h.payload) < base {
		return damaged
	}
	n := base + unit*int(h.payload[1])
	if len(h.payload) < n {
		return damaged
	}
	h.protocol, h.payload = h.payload[0], h.payload[n:]
	return readable
}

func parseIP(b []byte) (datagram, unread) {
	switch {
	case len(b) == 0:
		return datagram{}, damaged
	case b[0]>>4 == 4:
		return parseIPv4(b)
	case b[0]>>4 == 6:
		return parseIPv6(b)
	}
	return datagram{}, other
}

// parseIPv4 parses a header. A length of 0 means "all that is captured": a host's own packets have
// it if the network card will segment them.
func parseIPv4(b []byte) (datagram, unread) {
	if len(b) < 20 {
		return datagram{}, damaged
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = len(b)
	}
	if b = b[:min(len(b), total)]; header < 20 || header > len(b) {
		return datagram{}, damaged
	}
	h := datagram{
		src: netip.AddrFrom4([4]byte(b[12:])), dst: netip.AddrFrom4([4]byte(b[16:])),
		protocol: b[9], payload: b[header:],
	}
	if binary.BigEndian.Uint16(b[6:])&0x3FFF != 0 { // "more fragments", or an offset
		return h, fragment
	}
	return h, readable
}

// parseIPv6 parses a header without its extensions. A length of 0, that of a jumbogram, means "all
// that is captured".
func parseIPv6(b []byte) (datagram, unread) {
	if len(b) < 40 {
		return datagram{}, damaged
	}
	payload := b[40:]
	if n := int(binary.BigEndian.Uint16(b[4:])); n != 0 {
		payload = payload[:min(len(payload), n)]
	}
	return datagram{
		src: netip.AddrFrom16([16]byte(b[8:])), dst: netip.AddrFrom16([16]byte(b[24:])),
		protocol: b[6], payload: payload,
	}, readable
}
