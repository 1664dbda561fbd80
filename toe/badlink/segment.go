package badlink

import (
	"bytes"
	"encoding/binary"
)

const (
	headerLen4   = 20 // of an IPv4 header without options
	headerLen6   = 40 // of an IPv6 header
	headerLenTCP = 20 // of a TCP header without options

	protocolTCP    = 6
	protocolICMP   = 1
	protocolICMP6  = 58
	nextHopByHop   = 0  // IPv6 Hop-by-Hop Options
	nextDestOpts   = 60 // IPv6 Destination Options
	dontFragment   = 0x4000
	moreFragments  = 0x2000
	fragmentOffset = 0x1fff

	flagFIN = 0x01
	flagSYN = 0x02
	flagRST = 0x04
	flagPSH = 0x08
	flagURG = 0x20
	flagECE = 0x40
	flagCWR = 0x80
)

// A segment is a TCP segment in an IP packet that is whole and well formed.
type segment struct {
	b    []byte // the IP packet
	tcp  int    // offset of the TCP header in b
	data int    // offset of the payload in b
}

// parseTCP finds the TCP segment in the IP packet b, which it aliases. It returns ok = false if b
// is anything other than one IPv4 or IPv6 packet with one whole TCP segment: another protocol, a
// fragment, a packet with other lengths than its headers say, with a wrong IPv4 header checksum, or
// with IPv6 extension headers other than Hop-by-Hop and Destination Options.
func parseTCP(b []byte) (s segment, ok bool) {
	tcp, ok := 0, false
	switch {
	case len(b) >= headerLen4 && b[0]>>4 == 4:
		tcp, ok = parse4(b)
	case len(b) >= headerLen6 && b[0]>>4 == 6:
		tcp, ok = parse6(b)
	}
	if !ok || len(b) < tcp+headerLenTCP {
		return segment{}, false
	}
	data := tcp + int(b[tcp+12]>>4)*4
	if data < tcp+headerLenTCP || data > len(b) {
		return segment{}, false
	}
	return segment{b, tcp, data}, true
}

// parse4 returns the offset of the TCP header in an IPv4 packet.
func parse4(b []byte) (tcp int, ok bool) {
	n := int(b[0]&15) * 4
	return n, n >= headerLen4 && n <= len(b) && int(binary.BigEndian.Uint16(b[2:])) == len(b) && b[9] == protocolTCP &&
		binary.BigEndian.Uint16(b[6:])&(moreFragments|fragmentOffset) == 0 && fold(sum(b[:n], 0)) == 0xffff
}

// parse6 returns the offset of the TCP header in an IPv6 packet.
func parse6(b []byte) (tcp int, ok bool) {
	if int(binary.BigEndian.Uint16(b[4:])) != len(b)-headerLen6 {
		return 0, false
	}
	next, n := b[6], headerLen6
	for next != protocolTCP {
		if next != nextDestOpts && (next != nextHopByHop || n != headerLen6) || n+2 > len(b) {
			return 0, false
		}
		next, n = b[n], n+8*(int(b[n+1])+1)
	}
	return n, n <= len(b)
}

func (s segment) is6() bool              { return s.b[0]>>4 == 6 }
func (s segment) payload() []byte        { return s.b[s.data:] }
func (s segment) flags() byte            { return s.b[s.tcp+13] }
func (s segment) sequence() uint32       { return binary.BigEndian.Uint32(s.b[s.tcp+4:]) }
func (s segment) checksum() uint16       { return binary.BigEndian.Uint16(s.b[s.tcp+16:]) }
func (s segment) setChecksum(sum uint16) { binary.BigEndian.PutUint16(s.b[s.tcp+16:], sum) }

// total returns the sum that the checksum covers: that of the pseudo-header and of the segment (RFC
// 9293 §3.1, RFC 8200 §8.1).
func (s segment) total() uint16 {
	addresses := s.b[12:headerLen4]
	if s.is6() {
		addresses = s.b[8:headerLen6]
	}
	return fold(sum(s.b[s.tcp:], sum(addresses, uint64(protocolTCP+len(s.b)-s.tcp))))
}

// isSound reports whether the checksum is right.
func (s segment) isSound() bool { return s.total() == 0xffff }

// seal sets the lengths in the IP header, and the checksums.
func (s segment) seal() {
	if s.is6() {
		binary.BigEndian.PutUint16(s.b[4:], uint16(len(s.b)-headerLen6))
	} else {
		header := s.b[:int(s.b[0]&15)*4]
		binary.BigEndian.PutUint16(header[2:], uint16(len(s.b)))
		binary.BigEndian.PutUint16(header[10:], 0)
		binary.BigEndian.PutUint16(header[10:], ^fold(sum(header, 0)))
	}
	s.setChecksum(0)
	s.setChecksum(^s.total())
}

// isPlain reports whether the segment may be cut or merged: it has payload, a right checksum, and
// no flag with a special meaning for the first or last byte.
func (s segment) isPlain() bool {
	return len(s.payload()) > 0 && s.flags()&(flagSYN|flagRST|flagURG) == 0 && s.isSound()
}

// piece makes dst the segment of the payload's bytes from i to j-1. dst has the length of the
// headers and of these bytes. As in TCP segmentation offload, CWR stays in the first piece, FIN and
// PSH in the last, and each IPv4 packet gets its own identification: number is 0 for the first
// piece, 1 for the next.
func (s segment) piece(dst []byte, i, j, number int) {
	copy(dst, s.b[:s.data])
	copy(dst[s.data:], s.payload()[i:j])
	p := segment{dst, s.tcp, s.data}
	binary.BigEndian.PutUint32(dst[s.tcp+4:], s.sequence()+uint32(i))
	if i > 0 {
		dst[s.tcp+13] &^= flagCWR
	}
	if j < len(s.payload()) {
		dst[s.tcp+13] &^= flagFIN | flagPSH
	}
	if !s.is6() {
		binary.BigEndian.PutUint16(dst[4:], binary.BigEndian.Uint16(s.b[4:])+uint16(number))
	}
	p.seal()
}

// continues reports whether t directly follows s in the same connection, and one header can
// describe both.
func (s segment) continues(t segment) bool {
	if s.is6() != t.is6() || s.tcp != t.tcp || s.data != t.data || t.sequence() != s.sequence()+uint32(len(s.payload())) ||
		s.flags()&flagFIN != 0 || t.flags()&flagCWR != 0 || (s.flags()^t.flags())&flagECE != 0 {
		return false
	}
	same := func(i, j int) bool { return bytes.Equal(s.b[i:j], t.b[i:j]) }
	if s.is6() {
		if !same(0, 4) || !same(6, s.tcp) {
			return false
		}
	} else if !same(0, 2) || !same(6, 10) || !same(12, s.tcp) {
		return false
	}
	// Ports, acknowledgement and options; the window is that of the later segment.
	return same(s.tcp, s.tcp+4) && same(s.tcp+8, s.tcp+12) && same(s.tcp+headerLenTCP, s.data)
}

// merge makes dst one segment of s and of t, which continues it. dst has the length of s and of t's
// payload.
func (s segment) merge(dst []byte, t segment) {
	n := copy(dst, s.b)
	copy(dst[n:], t.payload())
	dst[s.tcp+13] |= t.flags() & (flagFIN | flagPSH)
	copy(dst[s.tcp+14:s.tcp+16], t.b[s.tcp+14:]) // window
	segment{dst, s.tcp, s.data}.seal()
}
