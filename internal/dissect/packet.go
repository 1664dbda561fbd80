package dissect

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Link types as the capture files number them (LINKTYPE_ values). BSD systems write raw IP under
// numbers of their own.
const (
	linkNull       = 0 // BSD loopback, family in the capturing host's byte order
	linkEthernet   = 1
	linkRawBSD     = 12
	linkRawOpenBSD = 14
	linkRaw        = 101
	linkLoop       = 108 // OpenBSD loopback
	linkLinuxSLL   = 113
	linkIPv4       = 228
	linkIPv6       = 229
	linkLinuxSLL2  = 276
)

const sll2HeaderLen = 20

// segment is one TCP segment. payload aliases the packet it came in.
type segment struct {
	src, dst           netip.AddrPort
	seq                uint32
	syn, ack, fin, rst bool
	cut                bool // the capture holds only the beginning of the packet
	payload            []byte
}

// decoder takes packets apart down to TCP. It is the reading half of the door to gopacket.
type decoder struct {
	ethernet layers.Ethernet
	vlan     layers.Dot1Q
	sll      layers.LinuxSLL
	loopback layers.Loopback
	ip4      layers.IPv4
	ip6      layers.IPv6
	skip     layers.IPv6ExtensionSkipper
	tcp      layers.TCP
	found    []gopacket.LayerType
	parsers  map[gopacket.LayerType]*gopacket.DecodingLayerParser // by first layer; they share the layers above
}

func newDecoder() *decoder {
	d := &decoder{parsers: map[gopacket.LayerType]*gopacket.DecodingLayerParser{}}
	for _, first := range []gopacket.LayerType{
		layers.LayerTypeEthernet, layers.LayerTypeLinuxSLL, layers.LayerTypeLoopback, layers.LayerTypeIPv4, layers.LayerTypeIPv6,
	} {
		d.parsers[first] = gopacket.NewDecodingLayerParser(first,
			&d.ethernet, &d.vlan, &d.sll, &d.loopback, &d.ip4, &d.ip6, &d.skip, &d.tcp)
	}
	return d
}

// segment finds the TCP segment in a packet. ok is false for every packet without a whole TCP
// header: other protocols, fragments of IP packets, packets that are cut or damaged there.
func (d *decoder) segment(p packet) (s segment, ok bool) {
	first, data := firstLayer(p.link, p.data)
	parser := d.parsers[first]
	if parser == nil {
		return segment{}, false
	}
	// The error tells which layer is unknown or damaged, and found holds the good ones before it:
	// what lies above TCP is of no interest, and with damage below it TCP is not among them.
	_ = parser.DecodeLayers(data, &d.found)
	if !slices.Contains(d.found, layers.LayerTypeTCP) || slices.Contains(d.found, layers.LayerTypeIPv6Fragment) {
		return segment{}, false
	}
	src, dst, ok := d.addresses()
	if !ok {
		return segment{}, false
	}
	return segment{
		src: netip.AddrPortFrom(src, uint16(d.tcp.SrcPort)),
		dst: netip.AddrPortFrom(dst, uint16(d.tcp.DstPort)),
		seq: d.tcp.Seq,
		syn: d.tcp.SYN, ack: d.tcp.ACK, fin: d.tcp.FIN, rst: d.tcp.RST,
		cut:     p.cut,
		payload: d.tcp.Payload,
	}, true
}

// addresses returns those of the innermost IP header.
func (d *decoder) addresses() (src, dst netip.Addr, ok bool) {
	for _, layer := range slices.Backward(d.found) {
		switch layer {
		case layers.LayerTypeIPv4:
			src, _ = netip.AddrFromSlice(d.ip4.SrcIP)
			dst, ok = netip.AddrFromSlice(d.ip4.DstIP)
			return src, dst, ok
		case layers.LayerTypeIPv6:
			src, _ = netip.AddrFromSlice(d.ip6.SrcIP)
			dst, ok = netip.AddrFromSlice(d.ip6.DstIP)
			return src, dst, ok
		}
	}
	return src, dst, false
}

// firstLayer says what a packet of this link type begins with, and steps over headers that gopacket
// has no decoder for. LayerTypeZero means that nothing in it is of interest.
func firstLayer(link uint16, data []byte) (gopacket.LayerType, []byte) {
	switch link {
	case linkEthernet:
		return layers.LayerTypeEthernet, data
	case linkNull, linkLoop:
		return layers.LayerTypeLoopback, data
	case linkLinuxSLL:
		return layers.LayerTypeLinuxSLL, data
	case linkLinuxSLL2: // EtherType first, in 20 octets in all
		if len(data) < sll2HeaderLen {
			return gopacket.LayerTypeZero, nil
		}
		switch layers.EthernetType(binary.BigEndian.Uint16(data)) {
		case layers.EthernetTypeIPv4, layers.EthernetTypeIPv6:
			return ipVersion(data[sll2HeaderLen:])
		}
		return gopacket.LayerTypeZero, nil
	}
	return ipVersion(data)
}

func ipVersion(data []byte) (gopacket.LayerType, []byte) {
	switch {
	case len(data) > 0 && data[0]>>4 == 4:
		return layers.LayerTypeIPv4, data
	case len(data) > 0 && data[0]>>4 == 6:
		return layers.LayerTypeIPv6, data
	}
	return gopacket.LayerTypeZero, nil
}

// knownLink reports whether packets of this link type can be taken apart.
func knownLink(link uint16) bool {
	switch link {
	case linkNull, linkEthernet, linkRawBSD, linkRawOpenBSD, linkRaw, linkLoop, linkLinuxSLL, linkIPv4,
		linkIPv6, linkLinuxSLL2:
		return true
	}
	return false
}
