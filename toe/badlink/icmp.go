package badlink

import "encoding/binary"

const (
	icmpLen          = 8    // of the header of an ICMP error
	maxICMP4         = 576  // RFC 1812 §4.3.2.3
	maxICMP6         = 1280 // RFC 4443 §2.4 (c)
	hopLimit         = 64
	icmpUnreachable  = 3
	icmpFragNeeded   = 4 // the code of icmpUnreachable
	icmp6TooBig      = 2
	icmp6FirstNotErr = 128
)

// tooBig appends to dst the ICMP message of a router that could not send b on because of mtu. It
// returns nil if no router would answer b. The answer comes from the destination of b, because
// the link has no address of its own.
func tooBig(dst, b []byte, mtu int) []byte {
	switch {
	case len(b) >= headerLen4 && b[0]>>4 == 4:
		return tooBig4(dst, b, mtu)
	case len(b) >= headerLen6 && b[0]>>4 == 6:
		return tooBig6(dst, b, mtu)
	}
	return nil
}

// tooBig4 makes a Destination Unreachable message with the code for fragmentation needed (RFC 1191
// §4), unless b may be fragmented, is not the first fragment, was multicast, or is an ICMP error
// itself (RFC 1122 §3.2.2).
func tooBig4(dst, b []byte, mtu int) []byte {
	n := int(b[0]&15) * 4
	fragment := binary.BigEndian.Uint16(b[6:])
	if n < headerLen4 || n > len(b) || fragment&dontFragment == 0 || fragment&fragmentOffset != 0 || b[16] >= 224 {
		return nil
	}
	if b[9] == protocolICMP && (len(b) == n || b[n] != 0 && b[n] != 8) { // not an echo
		return nil
	}
	quote := b[:min(len(b), maxICMP4-headerLen4-icmpLen)]
	total := headerLen4 + icmpLen + len(quote)
	dst = append(dst, 0x45, 0xc0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(total))
	dst = append(dst, 0, 0, 0, 0, hopLimit, protocolICMP, 0, 0)
	dst = append(dst, b[16:20]...)
	dst = append(dst, b[12:16]...)
	binary.BigEndian.PutUint16(dst[10:], ^fold(sum(dst[:headerLen4], 0)))
	dst = append(dst, icmpUnreachable, icmpFragNeeded, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(mtu))
	dst = append(dst, quote...)
	binary.BigEndian.PutUint16(dst[headerLen4+2:], ^fold(sum(dst[headerLen4:], 0)))
	return dst
}

// tooBig6 makes a Packet Too Big message (RFC 4443 §3.2), unless b was multicast or is an ICMP
// error itself.
func tooBig6(dst, b []byte, mtu int) []byte {
	if b[24] == 0xff || b[6] == protocolICMP6 && (len(b) == headerLen6 || b[headerLen6] < icmp6FirstNotErr) {
		return nil
	}
	quote := b[:min(len(b), maxICMP6-headerLen6-icmpLen)]
	dst = append(dst, 0x60, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(icmpLen+len(quote)))
	dst = append(dst, protocolICMP6, hopLimit)
	dst = append(dst, b[24:40]...)
	dst = append(dst, b[8:24]...)
	dst = append(dst, icmp6TooBig, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(mtu))
	dst = append(dst, quote...)
	pseudo := sum(dst[8:headerLen6], uint64(protocolICMP6+icmpLen+len(quote)))
	binary.BigEndian.PutUint16(dst[headerLen6+2:], ^fold(sum(dst[headerLen6:], pseudo)))
	return dst
}
