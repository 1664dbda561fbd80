package badlink

import "encoding/binary"

// corrupt inverts bit number bit(n) of the n bits of the TCP segment in b, or of b if there is
// none. A sum of 16-bit words always detects one inverted bit.
func corrupt(b []byte, bit func(n int) int) {
	from := 0
	if s, ok := parseTCP(b); ok {
		from = s.tcp
	}
	i := bit(8 * (len(b) - from))
	b[from+i/8] ^= 0x80 >> (i % 8)
}

// corruptRepaired inverts bit number bit(n) of the n bits of the TCP payload in b and adapts the
// checksum. It reports whether there is a payload.
func corruptRepaired(b []byte, bit func(n int) int) bool {
	s, ok := parseTCP(b)
	if !ok || len(s.payload()) == 0 {
		return false
	}
	i := bit(8 * len(s.payload()))
	at := s.data + i/8
	before := s.word(at)
	b[at] ^= 0x80 >> (i % 8)
	s.setChecksum(adapt(s.checksum(), before, s.word(at)))
	return true
}

// word returns the 16-bit word of the checksum that byte i of the packet belongs to.
func (s segment) word(i int) uint16 {
	i -= (i - s.tcp) % 2
	if i+1 == len(s.b) {
		return uint16(s.b[i]) << 8
	}
	return binary.BigEndian.Uint16(s.b[i:])
}
