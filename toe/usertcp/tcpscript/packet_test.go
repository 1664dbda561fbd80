package tcpscript

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// A segment is a TCP segment with the numbers that are on the wire.
type segment struct {
	src, dst netip.AddrPort
	flags    string // letters of flagLetters, in that order
	seq, ack uint32
	window   uint16
	urgent   uint16
	offset   int // data offset in words of 4 bytes; 0 means the right one
	options  []byte
	payload  []byte
}

// flagLetters are the letters of the flags. P comes last because expectations leave it out.
const flagLetters = "SFR.UECP"

// serialize encodes layers, and completes their lengths and checksums.
func serialize(lengths bool, all ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: lengths, ComputeChecksums: true}, all...); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// ipLayer returns the IP header of a packet from src to dst.
func ipLayer(src, dst netip.Addr, p layers.IPProtocol) (gopacket.SerializableLayer, gopacket.NetworkLayer) {
	if src.Is4() {
		ip := &layers.IPv4{Version: 4, TTL: 64, Id: 7, Protocol: p, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
		return ip, ip
	}
	ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: p, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	return ip, ip
}

// encode returns the TCP header with its checksum, and the payload. The options follow the header
// as they are, because some of them are malformed on purpose.
func (s *segment) encode() []byte {
	has := func(flag string) bool { return strings.Contains(s.flags, flag) }
	options := slices.Clone(s.options)
	for len(options)%4 != 0 {
		options = append(options, 0)
	}
	h := &layers.TCP{
		SrcPort: layers.TCPPort(s.src.Port()), DstPort: layers.TCPPort(s.dst.Port()), Seq: s.seq, Ack: s.ack, Window: s.window,
		Urgent: s.urgent, DataOffset: uint8(5 + len(options)/4),
		SYN: has("S"), FIN: has("F"), RST: has("R"), ACK: has("."), URG: has("U"), ECE: has("E"), CWR: has("C"), PSH: has("P"),
	}
	if s.offset > 0 {
		h.DataOffset = uint8(s.offset)
	}
	_, ip := ipLayer(s.src.Addr(), s.dst.Addr(), layers.IPProtocolTCP)
	h.SetNetworkLayerForChecksum(ip)
	return serialize(false, h, gopacket.Payload(append(options, s.payload...)))
}

// inIP returns the TCP bytes b in an IP packet.
func (s *segment) inIP(b []byte) []byte {
	ip, _ := ipLayer(s.src.Addr(), s.dst.Addr(), layers.IPProtocolTCP)
	return serialize(true, ip, gopacket.Payload(b))
}

// withOptions returns the TCP bytes b in an IP packet with options that mean nothing: NOPs of IPv4,
// or a Destination Options header of IPv6.
func (s *segment) withOptions(b []byte) []byte {
	if s.src.Addr().Is4() {
		ip, _ := ipLayer(s.src.Addr(), s.dst.Addr(), layers.IPProtocolTCP)
		ip.(*layers.IPv4).Options = []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 1}}
		return serialize(true, ip, gopacket.Payload(b))
	}
	ip, _ := ipLayer(s.src.Addr(), s.dst.Addr(), layers.IPProtocolIPv6Destination)
	padding := []byte{byte(layers.IPProtocolTCP), 0, 1, 4, 0, 0, 0, 0}
	return serialize(true, ip, gopacket.Payload(append(padding, b...)))
}

// sourceRouted returns the TCP bytes b in an IPv4 packet that has followed a loose source route.
func (s *segment) sourceRouted(b []byte) []byte {
	ip, _ := ipLayer(s.src.Addr(), s.dst.Addr(), layers.IPProtocolTCP)
	const looseSourceRoute = 131
	route := append([]byte{8}, s.src.Addr().AsSlice()...) // the pointer is after the only address
	ip.(*layers.IPv4).Options = []layers.IPv4Option{{OptionType: looseSourceRoute, OptionLength: 7, OptionData: route}, {OptionType: 0}}
	return serialize(true, ip, gopacket.Payload(b))
}

// inFragments returns the TCP bytes b in two IP fragments: b[:n], and b[from:]. Both numbers are
// multiples of 8.
func (s *segment) inFragments(b []byte, n, from int) [][]byte {
	return [][]byte{s.fragment(b[:n], 0, true), s.fragment(b[from:], from, false)}
}

// fragment returns the IP fragment that has b at this offset.
func (s *segment) fragment(b []byte, offset int, more bool) []byte {
	if s.src.Addr().Is4() {
		ip, _ := ipLayer(s.src.Addr(), s.dst.Addr(), layers.IPProtocolTCP)
		h := ip.(*layers.IPv4)
		if h.FragOffset = uint16(offset / 8); more {
			h.Flags = layers.IPv4MoreFragments
		}
		return serialize(true, h, gopacket.Payload(b))
	}
	if more {
		offset |= 1 // the lowest bit is M, and the lowest three are not part of the offset
	}
	h := binary.BigEndian.AppendUint16([]byte{byte(layers.IPProtocolTCP), 0}, uint16(offset))
	h = append(h, 0, 0, 0, 7) // identification
	ip, _ := ipLayer(s.src.Addr(), s.dst.Addr(), layers.IPProtocolIPv6Fragment)
	return serialize(true, ip, gopacket.Payload(append(h, b...)))
}

// tooBig returns an ICMP message which says that the packet quoted is longer than mtu.
func tooBig(src, dst netip.Addr, mtu int, quoted []byte) []byte {
	if src.Is4() {
		ip, _ := ipLayer(src, dst, layers.IPProtocolICMPv4)
		return serialize(true, ip, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 4), Seq: uint16(mtu)}, gopacket.Payload(quoted))
	}
	ip, network := ipLayer(src, dst, layers.IPProtocolICMPv6)
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(2, 0)}
	icmp.SetNetworkLayerForChecksum(network)
	return serialize(true, ip, icmp, gopacket.Payload(append(binary.BigEndian.AppendUint32(nil, uint32(mtu)), quoted...)))
}

// unreachable returns an ICMP message which says that no socket listens at the destination port of
// quoted.
func unreachable(src, dst netip.Addr, quoted []byte) []byte {
	if src.Is4() {
		ip, _ := ipLayer(src, dst, layers.IPProtocolICMPv4)
		return serialize(true, ip, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 3)}, gopacket.Payload(quoted))
	}
	ip, network := ipLayer(src, dst, layers.IPProtocolICMPv6)
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(1, 4)}
	icmp.SetNetworkLayerForChecksum(network)
	return serialize(true, ip, icmp, gopacket.Payload(append(make([]byte, 4), quoted...)))
}

// decode returns the TCP segment in an IP packet. ok is false if there is none.
func decode(p []byte) (s segment, ok bool) {
	if len(p) == 0 {
		return s, false
	}
	first := layers.LayerTypeIPv4
	if p[0]>>4 == 6 {
		first = layers.LayerTypeIPv6
	}
	packet := gopacket.NewPacket(p, first, gopacket.Default)
	h, ok := packet.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if !ok {
		return s, false
	}
	src, _ := netip.AddrFromSlice(packet.NetworkLayer().NetworkFlow().Src().Raw())
	dst, _ := netip.AddrFromSlice(packet.NetworkLayer().NetworkFlow().Dst().Raw())
	s = segment{
		src: netip.AddrPortFrom(src, uint16(h.SrcPort)), dst: netip.AddrPortFrom(dst, uint16(h.DstPort)),
		seq: h.Seq, ack: h.Ack, window: h.Window, urgent: h.Urgent, options: h.Contents[20:], payload: h.Payload,
	}
	for i, set := range []bool{h.SYN, h.FIN, h.RST, h.ACK, h.URG, h.ECE, h.CWR, h.PSH} {
		if set {
			s.flags += flagLetters[i : i+1]
		}
	}
	return s, true
}

// length returns how many sequence numbers the segment takes.
func (s *segment) length() uint32 {
	n := uint32(len(s.payload))
	for _, flag := range []string{"S", "F"} {
		if strings.Contains(s.flags, flag) {
			n++
		}
	}
	return n
}

// An optionList is the options of a segment by name: mss, ws, sackOK, ts and sb, each with its
// numbers.
type optionList map[string][]uint32

// parseOptions decodes the options of a segment that TCP has sent.
func parseOptions(b []byte) (optionList, error) {
	list := make(optionList)
	for len(b) > 0 && b[0] != 0 {
		if b[0] == 1 {
			b = b[1:]
			continue
		}
		if len(b) < 2 || int(b[1]) < 2 || int(b[1]) > len(b) {
			return nil, fmt.Errorf("malformed options %x", b)
		}
		value := b[2:b[1]]
		switch {
		case b[0] == 2 && len(value) == 2:
			list["mss"] = []uint32{uint32(binary.BigEndian.Uint16(value))}
		case b[0] == 3 && len(value) == 1:
			list["ws"] = []uint32{uint32(value[0])}
		case b[0] == 4 && len(value) == 0:
			list["sackOK"] = []uint32{}
		case b[0] == 5 && len(value)%8 == 0 || b[0] == 8 && len(value) == 8:
			name := map[byte]string{5: "sb", 8: "ts"}[b[0]]
			for ; len(value) > 0; value = value[4:] {
				list[name] = append(list[name], binary.BigEndian.Uint32(value))
			}
		default:
			return nil, fmt.Errorf("malformed option %x", b[:b[1]])
		}
		b = b[b[1]:]
	}
	return list, nil
}
