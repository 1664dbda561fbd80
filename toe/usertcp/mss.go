package usertcp

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// minMSS is the smallest MSS in bytes that a Stack accepts. Every host accepts packets of 576 bytes
// (RFC 9293 §3.7.1), so a smaller MSS is a mistake or an attack: tiny segments multiply the work
// for each byte (CVE-2019-11477 to 11479). gVisor would accept 48, that is, 8 bytes of payload.
const minMSS = header.TCPDefaultMSS

// DeliverTransportPacket passes on a segment. IP has reassembled its fragments, and has skipped
// extension headers.
func (d *dispatcher) DeliverTransportPacket(p tcpip.TransportProtocolNumber, pkt *stack.PacketBuffer) stack.TransportPacketDisposition {
	if p == header.TCPProtocolNumber {
		if h := tcpHeader(pkt); len(h) > header.TCPMinimumSize && header.TCP(h).Flags()&header.TCPFlagSyn != 0 {
			raiseMSS(h)
		}
	}
	return d.TransportDispatcher.DeliverTransportPacket(p, pkt)
}

// tcpHeader returns the TCP header of a packet with its options, or nil if it is not whole.
func tcpHeader(pkt *stack.PacketBuffer) []byte {
	if h := pkt.TransportHeader().Slice(); len(h) > 0 {
		return h
	}
	h, ok := pkt.Data().PullUp(header.TCPMinimumSize) // reassembled from fragments
	if !ok {
		return nil
	}
	if h, ok = pkt.Data().PullUp(int(header.TCP(h).DataOffset())); !ok {
		return nil
	}
	return h
}

// raiseMSS makes the MSS in the SYN with the header h at least minMSS. A right checksum remains
// right, and a wrong one remains wrong. The walk over the options is gVisor's: it ends at an option
// that is malformed.
func raiseMSS(h []byte) {
	for at := header.TCPMinimumSize; at+1 < len(h) && h[at] != header.TCPOptionEOL; {
		if h[at] == header.TCPOptionNOP {
			at++
			continue
		}
		n := int(h[at+1])
		if n < 2 || at+n > len(h) {
			return
		}
		if h[at] == header.TCPOptionMSS && n == 4 {
			if mss := binary.BigEndian.Uint16(h[at+2:]); mss < minMSS {
				replace(h, at+2, minMSS)
			}
		}
		at += n
	}
}

// replace writes v at an offset of a TCP header and adapts the checksum (RFC 1624 §3).
func replace(h []byte, at int, v uint16) {
	var now [2]byte
	binary.BigEndian.PutUint16(now[:], v)
	sum := uint32(^header.TCP(h).Checksum())
	for i, b := range now {
		shift := 8 * ((at + i + 1) % 2) // the first byte of each pair counts 256 times
		sum += uint32(^(uint16(h[at+i]) << shift))
		sum += uint32(b) << shift
		h[at+i] = b
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	header.TCP(h).SetChecksum(^uint16(sum))
}
