package dissect

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// TestReadLinkTypes puts one capture under other link layers.
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

// TestSegmentIgnores: packets that hold no TCP segment, or not a whole header of one, are stepped
// over.
func TestSegmentIgnores(t *testing.T) {
	whole := splitFile(t, load(t, captures(t)[0]))[3]
	change := func(at int, v byte) packet {
		p := whole
		p.data = bytes.Clone(p.data)
		p.data[at] = v
		return p
	}
	d := newDecoder()
	if _, why := d.segment(whole); why != readable {
		t.Fatal("the packet that the test is made of has no segment")
	}
	fragment := append([]byte{0x60, 0, 0, 0, 0, 28, 44, 64}, make([]byte, 32)...) // IPv6
	fragment = append(fragment, 6, 0, 0, 8, 0, 0, 0, 1)                           // its second piece
	fragment = append(fragment, whole.data[14+20:14+20+20]...)
	fragment[40+8+12] = 0x50 // a TCP header of 20 octets
	for desc, p := range map[string]packet{
		"an IPv6 fragment":        {link: linkIPv6, data: fragment},
		"UDP":                     change(14+9, 17),
		"ARP":                     change(13, 6),
		"a fragment":              change(14+6, 0x20),
		"a later fragment":        change(14+7, 10),
		"IP header of 4 bytes":    change(14, 0x41),
		"IP length of 3":          change(14+3, 3),
		"TCP header of 60 bytes":  change(14+20+12, 0xF0),
		"empty":                   {link: linkEthernet},
		"empty raw":               {link: linkRaw},
		"raw IP version 5":        {link: linkRaw, data: []byte{0x55, 0}},
		"short cooked v2":         {link: linkLinuxSLL2, data: make([]byte, 19)},
		"cooked v2 without IP":    {link: linkLinuxSLL2, data: make([]byte, 60)},
		"short cooked":            {link: linkLinuxSLL, data: make([]byte, 15)},
		"cooked, address of 64 K": {link: linkLinuxSLL, data: bytes.Repeat([]byte{0xFF}, 60)},
	} {
		if s, why := d.segment(p); why == readable {
			t.Errorf("%s: segment() = %+v", desc, s)
		}
	}
	for n := range 14 + 20 + 20 {
		if _, why := d.segment(packet{link: linkEthernet, data: whole.data[:n]}); why != damaged {
			t.Errorf("segment() of %d bytes: %q", n, unreadWords[why])
		}
	}
}
