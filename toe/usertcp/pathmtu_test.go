package usertcp_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// TestEMSSFollowsPathMTU makes the path MTU smaller while data are in flight. The EMSS becomes the
// size that fits the path, and segments of later data end where slices end.
//
// MPA-5044-2-1, MPA-5044-5.1-2
func TestEMSSFollowsPathMTU(t *testing.T) {
	const seed, options = 1, 40 // 12 for timestamps, and up to 28 for SACK blocks
	t.Logf("seed %d", seed)
	for _, test := range []struct {
		desc, address string
		mtu, headers  int
		noEarly       bool
	}{
		{"IPv4", "10.7.0.2:0", 1300, 20 + 20, false},
		{"IPv4, the smallest", "10.7.0.2:0", 576, 20 + 20, false},
		{"IPv6", "[fd07::2]:0", 1400, 40 + 20, false},
		{"IPv6, the smallest", "[fd07::2]:0", 1280, 40 + 20, false},
		{"no early runs", "10.7.0.2:0", 1300, 20 + 20, true},
	} {
		t.Run(test.desc, func(t *testing.T) {
			x, y, err := badlink.Pipe(badlink.Config{})
			if err != nil {
				t.Fatal(err)
			}
			link := newRecorder(x)
			a := newStack(t, link, usertcp.Config{Addresses: addrsA, NoEarlyRuns: test.noEarly})
			b := newStack(t, y, usertcp.Config{Addresses: addrsB})
			s, r := connect(t, a, b, "tcp", test.address)
			defer s.Close()
			defer r.Close()
			before := s.EMSS()
			if err := x.SetFaults(badlink.Faults{PathMTU: test.mtu, PacketTooBig: true}); err != nil {
				t.Fatal(err)
			}
			total := before // with more segments, gVisor would send the rest only when a timer expires
			writeAndRead(t, s, r, [][]byte{make([]byte, total)}, total)
			want := test.mtu - test.headers - options
			if got := s.EMSS(); got != want {
				t.Errorf("EMSS() = %d, want %d; before it was %d", got, want, before)
			}
			if got := r.EMSS(); got != before {
				t.Errorf("EMSS() of the other direction = %d, want %d", got, before)
			}
			bounds := writeSlices(t, rand.New(rand.NewPCG(seed, 0)), 15, s, r, total)
			link.check(t, total, bounds, want)
		})
	}
}

// TestForgedPathMTU sends ICMP messages that no router on the path would send. They do not change
// the EMSS. The last messages are some that a router would send.
func TestForgedPathMTU(t *testing.T) {
	type message struct {
		desc      string
		otherPort bool
		seq       int // counted from the first byte
		mtu       int
		damage    byte
		path      int // MTU after the message; 0 for that of the link
	}
	const done, underWay = 500, 1000
	ofBoth := func(small int) []message {
		return []message{
			{desc: "about what has arrived", seq: 0, mtu: 1300},
			{desc: "about the last byte that has arrived", seq: done - 1, mtu: 1300},
			{desc: "about what has not been sent", seq: done + underWay, mtu: 1300},
			{desc: "an MTU that is too small", seq: done, mtu: small - 1},
			{desc: "no MTU", seq: done},
			{desc: "a wrong checksum", seq: done, mtu: 1300, damage: 1},
			{desc: "another connection", otherPort: true, seq: done, mtu: 1300},
			{desc: "a larger MTU", seq: done, mtu: 9000},
			{desc: "a router's", seq: done, mtu: 1400, path: 1400},
			{desc: "a router's that is farther away", seq: done + underWay - 1, mtu: small, path: small},
			{desc: "the first router's again", seq: done, mtu: 1400, path: small},
		}
	}
	for _, test := range []struct {
		desc, address string
		headers       int
		messages      []message
	}{
		{"IPv4", "10.7.0.2:0", 20 + 20, ofBoth(576)},
		{"IPv6", "[fd07::2]:0", 40 + 20, ofBoth(1280)},
	} {
		t.Run(test.desc, func(t *testing.T) {
			x, y, err := badlink.Pipe(badlink.Config{})
			if err != nil {
				t.Fatal(err)
			}
			link := newRecorder(x)
			a := newStack(t, link, usertcp.Config{Addresses: addrsA})
			b := newStack(t, y, usertcp.Config{Addresses: addrsB})
			s, r := connect(t, a, b, "tcp", test.address)
			defer s.Abort()
			defer r.Abort()
			writeAndRead(t, s, r, [][]byte{make([]byte, done)}, done)
			if err := x.SetFaults(badlink.Faults{PathMTU: 200}); err != nil { // a black hole, but not for ACKs
				t.Fatal(err)
			}
			if _, err := s.Write(make([]byte, underWay)); err != nil {
				t.Fatal(err)
			}
			from, to, first := s.LocalAddr().(*net.TCPAddr), *s.RemoteAddr().(*net.TCPAddr), link.first()
			for _, m := range test.messages {
				to := to
				if m.otherPort {
					to.Port ^= 1
				}
				p := packetTooBig(t, from, &to, first+uint32(m.seq), m.mtu)
				p[len(p)-1] ^= m.damage
				if _, err := y.Write(p); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Write([]byte{1}); err != nil { // comes after the message
					t.Fatal(err)
				}
				if _, err := s.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				want := r.EMSS()
				if m.path != 0 {
					want = m.path - test.headers - 40
				}
				if got := s.EMSS(); got != want {
					t.Errorf("after the message %q EMSS() = %d, want %d", m.desc, got, want)
				}
			}
		})
	}
}

// packetTooBig returns the ICMP message of a router about a segment. It quotes 8 bytes of the
// segment.
func packetTooBig(t *testing.T, from, to *net.TCPAddr, seq uint32, mtu int) []byte {
	t.Helper()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	serialize := func(all ...gopacket.SerializableLayer) []byte {
		b := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(b, opts, all...); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(from.Port), DstPort: layers.TCPPort(to.Port), Seq: seq, ACK: true}
	if from.IP.To4() != nil {
		ip := &layers.IPv4{Version: 4, TTL: 63, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolTCP, SrcIP: from.IP.To4(), DstIP: to.IP.To4()}
		tcp.SetNetworkLayerForChecksum(ip)
		router := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: net.IPv4(10, 7, 0, 254).To4(), DstIP: ip.SrcIP}
		code := layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeFragmentationNeeded)
		return serialize(router, &layers.ICMPv4{TypeCode: code, Seq: uint16(mtu)}, gopacket.Payload(serialize(ip, tcp)[:20+8]))
	}
	ip := &layers.IPv6{Version: 6, HopLimit: 63, NextHeader: layers.IPProtocolTCP, SrcIP: from.IP, DstIP: to.IP}
	tcp.SetNetworkLayerForChecksum(ip)
	router := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolICMPv6, SrcIP: net.ParseIP("fd07::fe"), DstIP: ip.SrcIP}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypePacketTooBig, 0)}
	icmp.SetNetworkLayerForChecksum(router)
	return serialize(router, icmp, gopacket.Payload(binary.BigEndian.AppendUint32(nil, uint32(mtu))), gopacket.Payload(serialize(ip, tcp)[:40+8]))
}
