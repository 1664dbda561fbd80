package pcapng

import (
	"encoding/binary"
	"time"
)

// A header contains the fields that differ between the TCP headers of packets.
type header struct {
	syn, ack, fin, psh bool
	seq, acked         uint32
}

const (
	ipv4Len     = 20
	tcpLen      = 20
	protocolTCP = 6
	hopLimit    = 64
	minFrame    = 60 // of Ethernet, without its checksum
)

// appendPacket appends an Ethernet frame with one TCP segment to b, which is empty.
func appendPacket(b []byte, from, to *end, h header, payload []byte) []byte {
	be := binary.BigEndian
	src, dst := from.addr.Addr(), to.addr.Addr()
	b = append(append(b, to.mac[:]...), from.mac[:]...)
	segment := tcpLen + len(payload)
	if h.syn {
		segment += 4 // the window scale option
	}
	sum := uint64(protocolTCP + segment) // of the pseudo header: protocol, length, addresses
	sum = add(add(sum, src.AsSlice()), dst.AsSlice())
	if src.Is6() {
		b = be.AppendUint16(b, 0x86DD)
		b = be.AppendUint32(b, 6<<28)
		b = be.AppendUint16(b, uint16(segment))
		b = append(b, protocolTCP, hopLimit)
		b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	} else {
		b = be.AppendUint16(b, 0x0800)
		ip := len(b)
		b = append(b, 4<<4|ipv4Len/4, 0)
		b = be.AppendUint16(b, uint16(ipv4Len+segment))
		b = append(b, 0, 0, 0x40, 0, hopLimit, protocolTCP, 0, 0) // "don't fragment"
		b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
		be.PutUint16(b[ip+10:], fold(add(0, b[ip:])))
	}
	tcp := len(b)
	b = be.AppendUint16(b, from.addr.Port())
	b = be.AppendUint16(b, to.addr.Port())
	b = be.AppendUint32(b, h.seq)
	b = be.AppendUint32(b, h.acked)
	b = append(b, byte((segment-len(payload))/4<<4), h.flags())
	b = be.AppendUint16(b, window)
	b = append(b, 0, 0, 0, 0) // checksum, urgent pointer
	if h.syn {
		b = append(b, 3, 3, windowScale, 0) // and the end of the options
	}
	b = append(b, payload...)
	be.PutUint16(b[tcp+16:], fold(add(sum, b[tcp:])))
	if n := minFrame - len(b); n > 0 {
		b = append(b, make([]byte, n)...)
	}
	return b
}

func (h *header) flags() (b byte) {
	for i, on := range []bool{h.fin, h.syn, false, h.psh, h.ack} {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// add adds b to a sum of 16-bit words (RFC 1071). It adds words of 32 bits, which is the same
// modulo 2^16-1. A packet has too few words for the sum to overflow.
func add(sum uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		sum += uint64(binary.BigEndian.Uint32(b)) + uint64(binary.BigEndian.Uint32(b[4:]))
	}
	for ; len(b) > 1; b = b[2:] {
		sum += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) > 0 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// fold returns the checksum of a sum.
func fold(sum uint64) uint16 {
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return ^uint16(sum)
}

// The types of blocks and options.
const (
	sectionBlock   = 0x0A0D0D0A
	interfaceBlock = 1
	packetBlock    = 6

	optionName        = 2 // of an interface
	optionApplication = 4 // of a section
	optionResolution  = 9 // of an interface: of its times
)

// appendHeader appends the beginning of a file: a section, and an Ethernet interface with times in
// nanoseconds.
func appendHeader(b []byte) []byte {
	le := binary.LittleEndian
	section := le.AppendUint32(nil, 0x1A2B3C4D) // shows the byte order
	section = append(section, 1, 0, 0, 0)       // version 1.0
	section = le.AppendUint64(section, 1<<64-1) // of unknown length
	section = appendOption(section, optionApplication, "rddp")
	b = appendBlock(b, sectionBlock, append(section, 0, 0, 0, 0))
	device := []byte{1, 0, 0, 0, 0, 0, 0, 0} // LINKTYPE_ETHERNET; packets are of any length
	device = appendOption(device, optionName, "rddp")
	device = appendOption(device, optionResolution, "\x09")
	return appendBlock(b, interfaceBlock, append(device, 0, 0, 0, 0))
}

func appendOption(b []byte, code uint16, value string) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return pad(append(b, value...), len(value))
}

// appendPacketBlock appends a block with a packet.
func appendPacketBlock(b []byte, at time.Time, packet []byte) []byte {
	le := binary.LittleEndian
	const fixed = 12 + 20
	total := uint32(fixed + (len(packet)+3)&^3)
	nano := uint64(at.UnixNano())
	for _, word := range []uint32{
		packetBlock, total, 0, uint32(nano >> 32), uint32(nano), uint32(len(packet)), uint32(len(packet)),
	} {
		b = le.AppendUint32(b, word)
	}
	return le.AppendUint32(pad(append(b, packet...), len(packet)), total)
}

// appendBlock appends a block whose body is a multiple of 4 bytes.
func appendBlock(b []byte, kind uint32, body []byte) []byte {
	le := binary.LittleEndian
	total := uint32(12 + len(body))
	b = le.AppendUint32(le.AppendUint32(b, kind), total)
	return le.AppendUint32(append(b, body...), total)
}

// pad appends zeros to b, which pad n bytes to a multiple of 4.
func pad(b []byte, n int) []byte { return append(b, make([]byte, -n&3)...) }
