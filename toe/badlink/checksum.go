package badlink

import (
	"encoding/binary"
	"math/bits"
)

// sum adds b to a sum of 16-bit words in ones' complement (RFC 1071). b begins at an even offset of
// the summed bytes. An odd last byte counts as if a zero byte followed it.
func sum(b []byte, acc uint64) uint64 {
	var carry uint64
	for len(b) >= 8 {
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(b), carry)
		b = b[8:]
	}
	var rest [8]byte
	copy(rest[:], b)
	acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(rest[:]), carry)
	acc, carry = bits.Add64(acc, 0, carry)
	return acc + carry
}

// fold makes a sum a 16-bit word.
func fold(acc uint64) uint16 {
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	return uint16(acc)
}

// adapt returns the checksum in which the word before has become after (RFC 1624 §3).
func adapt(checksum, before, after uint16) uint16 {
	return ^fold(uint64(^checksum) + uint64(^before) + uint64(after))
}
