package usertcp

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// A tuple identifies a connection of the Stack.
type tuple struct{ local, remote netip.AddrPort }

// A segment is a TCP segment in an IP packet. Its slices alias the packet.
type segment struct {
	src, dst netip.AddrPort
	seq, ack uint32
	flags    header.TCPFlags
	window   uint16 // as in the header, not scaled
	options  []byte
	payload  []byte
	tcp      []byte // header and payload
	ip       []byte // the two addresses, for the checksum
}

// decode finds the TCP segment in an IP packet. It returns false for everything that is not a whole
// segment after a plain IP header. IP handles fragments and extension headers, and such a segment
// is never shown early.
func decode(p []byte) (s segment, ok bool) {
	if len(p) == 0 {
		return s, false
	}
	switch p[0] >> 4 {
	case header.IPv4Version:
		ok = s.decodeIPv4(p)
	case header.IPv6Version:
		ok = s.decodeIPv6(p)
	}
	ok = ok && s.decodeTCP() // before s is returned
	return s, ok
}

func (s *segment) decodeIPv4(p []byte) bool {
	if len(p) < header.IPv4MinimumSize {
		return false
	}
	h := header.IPv4(p)
	n, total := int(h.HeaderLength()), int(h.TotalLength())
	fragment := h.More() || h.FragmentOffset() != 0
	if n < header.IPv4MinimumSize || total < n || total > len(p) || fragment || h.Protocol() != uint8(header.TCPProtocolNumber) {
		return false
	}
	s.ip, s.tcp = p[12:20], p[n:total]
	s.src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[12:16])), 0)
	s.dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[16:20])), 0)
	return true
}

func (s *segment) decodeIPv6(p []byte) bool {
	if len(p) < header.IPv6MinimumSize {
		return false
	}
	h := header.IPv6(p)
	total := header.IPv6MinimumSize + int(h.PayloadLength())
	if total > len(p) || h.NextHeader() != uint8(header.TCPProtocolNumber) {
		return false
	}
	s.ip, s.tcp = p[8:40], p[header.IPv6MinimumSize:total]
	s.src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(p[8:24])), 0)
	s.dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(p[24:40])), 0)
	return true
}

func (s *segment) decodeTCP() bool {
	if len(s.tcp) < header.TCPMinimumSize {
		return false
	}
	h := header.TCP(s.tcp)
	n := int(h.DataOffset())
	if n < header.TCPMinimumSize || n > len(s.tcp) {
		return false
	}
	s.src = netip.AddrPortFrom(s.src.Addr(), h.SourcePort())
	s.dst = netip.AddrPortFrom(s.dst.Addr(), h.DestinationPort())
	s.seq, s.ack = h.SequenceNumber(), h.AckNumber()
	s.flags, s.window = h.Flags(), h.WindowSize()
	s.options, s.payload = s.tcp[header.TCPMinimumSize:n], s.tcp[n:]
	return true
}

// sumIsValid reports whether the TCP checksum is right.
func (s *segment) sumIsValid() bool {
	sum := checksum.Checksum(s.ip, 0)
	sum = checksum.Combine(sum, uint16(header.TCPProtocolNumber))
	sum = checksum.Combine(sum, uint16(len(s.tcp)))
	return checksum.Checksum(s.tcp, sum) == 0xffff
}

// isSYN reports whether the segment is part of a handshake: a SYN with or without ACK.
func (s *segment) isSYN() bool { return s.flags&header.TCPFlagSyn != 0 }

// isACK reports whether the ACK field is valid.
func (s *segment) isACK() bool { return s.flags&header.TCPFlagAck != 0 }
