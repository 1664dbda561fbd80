package dissect

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// judged returns the TCP header of a packet as gopacket reads it, or nil if it finds none.
func judged(t *testing.T, p packet) *layers.TCP {
	t.Helper()
	first := map[uint16]gopacket.Decoder{linkEthernet: layers.LinkTypeEthernet, linkRaw: layers.LinkTypeRaw}[p.link]
	if first == nil {
		t.Fatalf("link type %d", p.link)
	}
	g := gopacket.NewPacket(p.data, first, gopacket.NoCopy)
	tcp, _ := g.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if g.ErrorLayer() != nil {
		return nil
	}
	return tcp
}

// TestSegmentAsOthers compares segment with gopacket for each packet of the captures, and for one
// of them with each bit of its TCP header changed, except the length of the header.
func TestSegmentAsOthers(t *testing.T) {
	var packets []packet
	for _, name := range captures(t) {
		if file := load(t, name); len(file) < 100_000 {
			packets = append(packets, splitFile(t, file)...)
		}
	}
	whole := packets[3]
	for bit := range 20 * 8 {
		if bit/4 == 12*2+1 {
			continue
		}
		p := whole
		p.data = bytes.Clone(p.data)
		p.data[14+20+bit/8] ^= 1 << (bit % 8)
		packets = append(packets, p)
	}
	for i, p := range packets {
		s, why := p.segment()
		want := judged(t, p)
		if (want != nil) != (why == readable) {
			t.Errorf("packet %d: %q, and gopacket reads %+v", i, unreadWords[why], want)
		}
		if want == nil || why != readable {
			continue
		}
		ports := layers.TCPPort(s.src.Port()) == want.SrcPort && layers.TCPPort(s.dst.Port()) == want.DstPort
		flags := s.syn == want.SYN && s.ack == want.ACK && s.fin == want.FIN && s.rst == want.RST
		if !ports || !flags || s.seq != want.Seq || !bytes.Equal(s.payload, want.Payload) {
			t.Errorf("packet %d: segment() = %+v, and gopacket reads %+v", i, s, want)
		}
	}
}

// TestSegmentDamagedOptions: a segment with damaged options still has its payload, as in TCP.
func TestSegmentDamagedOptions(t *testing.T) {
	p := splitFile(t, load(t, captures(t)[0]))[3]
	want, why := p.segment()
	header := len(p.data) - 14 - 20 - len(want.payload)
	if why != readable || len(want.payload) == 0 || header <= 20 {
		t.Fatalf("the packet that the test is made of has a header of %d bytes and a payload of %d", header, len(want.payload))
	}
	p.data = bytes.Clone(p.data)
	copy(p.data[14+20+20:14+20+header], bytes.Repeat([]byte{8, 0}, 20)) // timestamps of length 0
	if got, why := p.segment(); why != readable || !bytes.Equal(got.payload, want.payload) {
		t.Errorf("segment() = %+v, %q", got, unreadWords[why])
	}
}

// TestReadLinkTypes reads one capture with other link layers.
func TestReadLinkTypes(t *testing.T) {
	file := load(t, captureDir+"/peer-4096-v1-crc.pcap")
	want := lines(t, mustRead(t, file))
	for _, tt := range []struct {
		desc   string
		link   uint16
		header []byte
	}{
		{"Ethernet with a VLAN tag", linkEthernet, append(make([]byte, 12), 0x81, 0, 0, 5, 0x08, 0)},
		{"Ethernet with three tags", linkEthernet, append(make([]byte, 12), 0x91, 0, 0, 5, 0x88, 0xA8, 0, 6, 0x81, 0, 0, 7, 0x08, 0)},
		{"raw IP", linkRaw, nil},
		{"raw IP of BSD", linkRawBSD, nil},
		{"raw IP of OpenBSD", linkRawOpenBSD, nil},
		{"IPv4", linkIPv4, nil},
		{"loopback, little-endian family", linkNull, []byte{2, 0, 0, 0}},
		{"loopback, big-endian family", linkLoop, []byte{0, 0, 0, 2}},
		{"Linux cooked", linkLinuxSLL, append(make([]byte, 14), 0x08, 0)},
		{"Linux cooked with a VLAN tag", linkLinuxSLL, append(make([]byte, 14), 0x81, 0, 0, 5, 0x08, 0)},
		{"Linux cooked v2", linkLinuxSLL2, append([]byte{0x08, 0}, make([]byte, 18)...)},
		{"Linux cooked v2 with two tags", linkLinuxSLL2, append(append([]byte{0x91, 0}, make([]byte, 18)...), 0, 5, 0x81, 0, 0, 6, 0x08, 0)},
		{"IP in IP", linkIPv4, ipv4(4, 0)},
		{"AH", linkIPv4, append(ipv4(51, 0), append([]byte{4, 4}, make([]byte, 22)...)...)},
		{"a jumbogram around it", linkIPv6, append(ipv6(0), 4, 0, 0xC2, 4, 0, 1, 0, 0)},
		{"an IPv6 packet of length 0", linkIPv6, ipv6(4)},
		{"a fragment header of a whole packet", linkIPv6, append(ipv6(44), 4, 0, 0, 0, 1, 2, 3, 4)},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			packets := splitFile(t, file)
			for i := range packets {
				packets[i].data = append(slices.Clone(tt.header), packets[i].data[14:]...)
			}
			b := joinFile(t, packets)
			binary.LittleEndian.PutUint32(b[20:], uint32(tt.link))
			diff(t, tt.desc, lines(t, mustRead(t, b)), want)
		})
	}
}

// TestSegmentIgnores: packets without a TCP segment, or without its whole header, are skipped.
func TestSegmentIgnores(t *testing.T) {
	whole := splitFile(t, load(t, captures(t)[0]))[3]
	change := func(at int, v byte) packet {
		p := whole
		p.data = bytes.Clone(p.data)
		p.data[at] = v
		return p
	}
	if _, why := whole.segment(); why != readable {
		t.Fatal("the packet that the test is made of has no segment")
	}
	fragment := append([]byte{0x60, 0, 0, 0, 0, 28, 44, 64}, make([]byte, 32)...) // IPv6
	fragment = append(fragment, 6, 0, 0, 8, 0, 0, 0, 1)                           // its second piece
	fragment = append(fragment, whole.data[14+20:14+20+20]...)
	fragment[40+8+12] = 0x50 // a TCP header of 20 octets
	longer := change(14+20+12, 0xF0)
	longer.data = longer.data[:14+20+59]
	for desc, p := range map[string]packet{
		"an IPv6 fragment":             {link: linkIPv6, data: fragment},
		"UDP":                          change(14+9, 17),
		"ARP":                          change(13, 6),
		"a fragment":                   change(14+6, 0x20),
		"a later fragment":             change(14+7, 10),
		"IP header of 4 bytes":         change(14, 0x41),
		"IP length of 3":               change(14+3, 3),
		"TCP header of 16 bytes":       change(14+20+12, 0x40),
		"TCP header beyond its packet": longer,
		"empty":                        {link: linkEthernet},
		"empty raw":                    {link: linkRaw},
		"raw IP version 5":             {link: linkRaw, data: []byte{0x55, 0}},
		"short cooked v2":              {link: linkLinuxSLL2, data: make([]byte, 19)},
		"cooked v2 without IP":         {link: linkLinuxSLL2, data: make([]byte, 60)},
		"short cooked":                 {link: linkLinuxSLL, data: make([]byte, 15)},
		"cooked, address of 64 K":      {link: linkLinuxSLL, data: bytes.Repeat([]byte{0xFF}, 60)},
	} {
		if s, why := p.segment(); why == readable {
			t.Errorf("%s: segment() = %+v", desc, s)
		}
	}
	for n := range 14 + 20 + 20 {
		if _, why := (packet{link: linkEthernet, data: whole.data[:n]}).segment(); why != damaged {
			t.Errorf("segment() of %d bytes: %q", n, unreadWords[why])
		}
	}
}
