package hostile_test

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"slices"
)

// Flags of a TCP segment.
const (
	tcpFIN = 1
	tcpSYN = 2
	tcpRST = 4
	tcpACK = 16
)

// spoofedTTL is the time to live of the packets that a test injects, so that a link can distinguish
// them from those of the connection.
const spoofedTTL = 99

const (
	ipHeaderLen  = 20
	tcpHeaderLen = 20
)

// A rawSegment is a TCP segment in an IPv4 packet that a test makes or examines.
type rawSegment struct {
	src, dst netip.AddrPort
	seq, ack uint32
	flags    byte
	window   uint16
	options  []byte // a multiple of 4 bytes
	payload  []byte
}

// parseRaw finds the segment in a packet. It aliases p. ok is false if p is not a TCP segment in an
// IPv4 packet.
func parseRaw(p []byte) (s rawSegment, ok bool) {
	if len(p) < ipHeaderLen+tcpHeaderLen || p[0] != 0x45 || p[9] != 6 {
		return s, false
	}
	tcp := p[ipHeaderLen:binary.BigEndian.Uint16(p[2:])]
	n := int(tcp[12]>>4) * 4
	s.src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[12:])), binary.BigEndian.Uint16(tcp))
	s.dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[16:])), binary.BigEndian.Uint16(tcp[2:]))
	s.seq, s.ack = binary.BigEndian.Uint32(tcp[4:]), binary.BigEndian.Uint32(tcp[8:])
	s.flags, s.window = tcp[13], binary.BigEndian.Uint16(tcp[14:])
	s.options, s.payload = tcp[tcpHeaderLen:n], tcp[n:]
	return s, true
}

// appendTo appends the packet of the segment to b, with its checksums.
func (s *rawSegment) appendTo(b []byte) []byte {
	n := ipHeaderLen + tcpHeaderLen + len(s.options) + len(s.payload)
	b = slices.Grow(b, n)
	at := len(b)
	b = append(b, 0x45, 0, byte(n>>8), byte(n), 0, 0, 0x40, 0, spoofedTTL, 6, 0, 0)
	b = append(b, s.src.Addr().AsSlice()...)
	b = append(b, s.dst.Addr().AsSlice()...)
	binary.BigEndian.PutUint16(b[at+10:], ^fold(sum16(0, b[at:])))
	tcp := len(b)
	b = binary.BigEndian.AppendUint16(b, s.src.Port())
	b = binary.BigEndian.AppendUint16(b, s.dst.Port())
	b = binary.BigEndian.AppendUint32(b, s.seq)
	b = binary.BigEndian.AppendUint32(b, s.ack)
	b = append(b, byte(tcpHeaderLen+len(s.options))<<2, s.flags)
	b = binary.BigEndian.AppendUint16(b, s.window)
	b = append(b, 0, 0, 0, 0)
	b = append(b, s.options...)
	b = append(b, s.payload...)
	pseudo := sum16(uint64(6+len(b)-tcp), b[at+12:at+20])
	binary.BigEndian.PutUint16(b[tcp+16:], ^fold(sum16(pseudo, b[tcp:])))
	return b
}

// sum16 adds the 16-bit words of b to sum (RFC 1071).
func sum16(sum uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] {
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) > 0 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

func fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// timestampsOption returns the timestamps option, with two NOPs.
func timestampsOption(value, echo uint32) []byte {
	b := []byte{1, 1, 8, 10}
	b = binary.BigEndian.AppendUint32(b, value)
	return binary.BigEndian.AppendUint32(b, echo)
}

// timestampsOf returns the timestamps among the options of a segment.
func (s *rawSegment) timestampsOf() (value, echo uint32, ok bool) {
	for o := s.options; len(o) > 0; {
		switch {
		case o[0] == 0:
			return 0, 0, false
		case o[0] == 1:
			o = o[1:]
		case o[0] == 8 && len(o) >= 10:
			return binary.BigEndian.Uint32(o[2:]), binary.BigEndian.Uint32(o[6:]), true
		case len(o) < 2 || o[1] < 2 || int(o[1]) > len(o):
			return 0, 0, false
		default:
			o = o[o[1]:]
		}
	}
	return 0, 0, false
}

// castagnoli is the polynomial of MPA's CRC.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// forgeFPDU returns the FPDU of a ULPDU that begins at stream offset off, with Markers and a valid
// CRC.
func forgeFPDU(off uint64, ulpdu []byte) []byte {
	body := append([]byte{byte(len(ulpdu) >> 8), byte(len(ulpdu))}, ulpdu...)
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	const interval = 512
	b := make([]byte, 0, len(body)+len(body)/32+8)
	begin := -1 // of the ULPDU_Length, in b
	for {
		at := off + uint64(len(b))
		if at%interval == 0 {
			distance := 0
			if begin >= 0 {
				distance = len(b) - begin
			}
			b = append(b, 0, 0, byte(distance>>8), byte(distance))
			at += 4
		}
		if begin < 0 {
			begin = len(b)
		}
		if len(body) == 0 {
			return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
		}
		n := min(len(body), interval-int(at%interval))
		b = append(b, body[:n]...)
		body = body[n:]
	}
}
