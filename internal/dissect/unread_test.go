package dissect

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// ipv4 returns the header of an IPv4 packet of any length.
func ipv4(protocol byte, fragment uint16) []byte {
	b := append([]byte{0x45, 0, 0, 0, 0, 1}, byte(fragment>>8), byte(fragment), 64, protocol, 0, 0)
	return append(b, 192, 0, 2, 1, 192, 0, 2, 2)
}

// ipv6 returns the header of an IPv6 packet of any length.
func ipv6(protocol byte) []byte {
	return append([]byte{0x60, 0, 0, 0, 0, 0, protocol, 64}, make([]byte, 32)...)
}

func ethernet(etherType uint16, payload ...byte) packet {
	b := binary.BigEndian.AppendUint16(make([]byte, 12), etherType)
	return packet{link: linkEthernet, data: append(b, payload...)}
}

// udp returns an IPv4 packet with 16 octets in UDP.
func udp(port uint16) packet {
	b := binary.BigEndian.AppendUint16(append(ipv4(17, 0), 0xC0, 0), port)
	return ethernet(0x0800, append(b, make([]byte, 20)...)...)
}

// TestSummary: packets that are not decoded are counted by reason, and no capture is skipped
// silently.
func TestSummary(t *testing.T) {
	gre, arp := ethernet(0x0800, ipv4(47, 0)...), ethernet(0x0806, make([]byte, 28)...)
	plain := newScript(t)
	plain.sendOctets(0, []byte("GET / HTTP/1.0\r\n\r\n"))
	iwarp := newScript(t)
	iwarp.send(0, helloRequest)
	iwarp.send(1, helloReply)
	cut := plain.packets[0]
	cut.data, cut.cut = cut.data[:50], true
	for _, tt := range []struct {
		desc    string
		packets []packet
		want    string
	}{
		{"nothing", nil, "the capture has no packets"},
		{"no iWARP", plain.packets[:1], "1 packet with TCP, but no iWARP"},
		{"iWARP", iwarp.packets, ""},
		{"tunnels", []packet{gre, udp(4789), udp(4789)}, "3 packets without TCP that rddp can read: 2 UDP port 4789 (VXLAN), 1 GRE"},
		{"tunnels beside iWARP", append([]packet{arp, gre, udp(53)}, iwarp.packets...),
			"3 packets without TCP that rddp can read: 2 other traffic, 1 GRE"},
		{"both", append([]packet{arp}, plain.packets[:2]...),
			"2 packets with TCP, but no iWARP; 1 packet without TCP that rddp can read: 1 other traffic"},
		{"a part of a header", []packet{cut},
			"1 packet without TCP that rddp can read: 1 cut off or damaged before the end of their headers"},
		{"others", []packet{udp(4791), udp(8472), udp(6081), udp(2152), udp(1701)},
			"5 packets without TCP that rddp can read: 1 UDP port 1701 (L2TP), 1 UDP port 2152 (GTP), 1 UDP port 4791 (RoCE v2), " +
				"1 UDP port 6081 (Geneve), 1 UDP port 8472 (VXLAN)"},
		{"links", []packet{ethernet(0x8847), ethernet(0x8848), ethernet(0x8864), ethernet(0x88E5), ethernet(0x88E7), ethernet(0x8915)},
			"6 packets without TCP that rddp can read: 2 MPLS, 1 MAC-in-MAC, 1 MACsec, 1 PPPoE, 1 RoCE v1"},
		{"protocols", []packet{ethernet(0x0800, ipv4(50, 0)...), ethernet(0x86DD, ipv6(97)...), ethernet(0x0800, ipv4(115, 0)...),
			ethernet(0x0800, ipv4(137, 0)...), ethernet(0x0800, ipv4(1, 0)...)},
			"5 packets without TCP that rddp can read: 1 ESP, 1 EtherIP, 1 L2TP, 1 MPLS in IP, 1 other traffic"},
	} {
		got := ""
		for _, r := range mustRead(t, joinFile(t, tt.packets)) {
			if r.Kind == KindSummary {
				got += r.String()
			}
		}
		if got != tt.want {
			t.Errorf("%s: the summary is %q, want %q", tt.desc, got, tt.want)
		}
	}
	got := lines(t, mustRead(t, joinFile(t, []packet{arp, gre})))
	const want = `{"t":0,"kind":"summary","tcp_packets":0,"unread_packets":2,"unread":{"GRE":1,"other traffic":1}}`
	diff(t, "as JSON", got, []string{want})
}

// TestFragments: octets that may be in fragments are not called missing in the capture.
func TestFragments(t *testing.T) {
	for _, tt := range []struct {
		desc     string
		fragment []byte
		told     bool
	}{
		{"the first one", ipv4(6, 0x2000), true},
		{"a later one", ipv4(6, 100), true},
		{"of UDP", ipv4(17, 100), false},
	} {
		s := newScript(t)
		s.send(0, helloRequest)
		s.send(1, helloReply)
		copy(tt.fragment[12:], s.packets[0].data[14+12:14+20]) // the addresses of half 0
		s.packets = append(s.packets, ethernet(0x0800, append(tt.fragment, make([]byte, 64)...)...))
		s.seq[0] += 8464
		s.seq[1] += 100
		s.send(0, sendHello)
		s.send(1, sendHello)
		var texts []string
		for _, r := range s.read() {
			texts = append(texts, r.String())
		}
		all := strings.Join(texts, "\n")
		if strings.Contains(all, "the capture does not have 8464 bytes") == tt.told ||
			strings.Contains(all, "IP fragments, which are not put together, and no whole packet has 8464 bytes") != tt.told ||
			!strings.Contains(all, "the capture does not have 100 bytes") || !strings.Contains(all, ": 1 IP fragments (not put together)") {
			t.Errorf("%s:\n%s", tt.desc, all)
		}
	}
}

// TestLateRequest: a Request that was captured after its Reply is found, whole or in pieces.
func TestLateRequest(t *testing.T) {
	marked := markStream(0, true, unhex(sendHelloULPDU))
	for _, tt := range []struct {
		desc string
		play func(s *script)
		want []string
	}{
		{"in one segment", func(s *script) { s.send(0, helloRequest+sendHello) }, []string{"mpa-request", "send good"}},
		{"in pieces", func(s *script) {
			for _, b := range unhex(helloRequest + sendHello) {
				s.sendOctets(0, []byte{b})
			}
		}, []string{"mpa-request", "send good"}},
		{"with private data", func(s *script) {
			request := append(unhex(helloRequest), "abc"...)
			request[19] = 3
			s.sendOctets(0, request[:21])
			s.sendOctets(0, append(bytes.Clone(request[21:]), unhex(sendHello)...))
		}, []string{"mpa-request", "send good"}},
		{"for markers", func(s *script) {
			request := unhex(helloRequest)
			request[16] |= 0x80
			s.sendOctets(0, request)
			s.sendOctets(1, marked)
		}, []string{"mpa-request", "send good"}},
		{"unusable", func(s *script) {
			s.send(0, "4d50412049442052 6571204672616d65 4009 0000")
			s.send(1, sendHello)
		}, []string{"error", "send good"}},
		{"none", func(s *script) { s.send(0, sendHello) }, []string{"send good"}},
		{"a part", func(s *script) { s.send(0, helloRequest[:19]) }, []string{"error"}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			s := newScript(t)
			s.send(1, helloReply)
			tt.play(s)
			wantOps(t, s.read(), append([]string{"error", "mpa-reply"}, tt.want...)...)
		})
	}
	s := newScript(t)
	s.send(1, helloReplyNoCRC)
	s.send(0, helloRequest+sendHello)
	wantOps(t, s.read(), "error", "mpa-reply", "mpa-request", "send good")
}
