package badlink_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/toe/badlink"
)

// pipe makes a link. Its ends are closed when the test ends.
func pipe(t testing.TB, cfg badlink.Config) (a, b *badlink.End) {
	t.Helper()
	a, b, err := badlink.Pipe(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// A flow makes the TCP segments of one direction of a connection.
type flow struct {
	src, dst netip.Addr
	next     uint32 // sequence number
	options  []layers.TCPOption
	id       uint16
}

// flows returns a flow over IPv4, and one over IPv6.
func flows() map[string]*flow {
	timestamps := []layers.TCPOption{
		{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop},
		{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: []byte{1, 2, 3, 4, 5, 6, 7, 8}},
	}
	return map[string]*flow{
		"IPv4": {src: netip.MustParseAddr("10.0.0.1"), dst: netip.MustParseAddr("10.0.0.2"), options: timestamps, next: 0xffff_f000},
		"IPv6": {src: netip.MustParseAddr("fd00::1"), dst: netip.MustParseAddr("fd00::2"), next: 1000},
	}
}

// segment returns the packet with the next payload of the flow. set, unless it is nil, changes the
// header first.
func (f *flow) segment(t testing.TB, payload []byte, set func(*layers.TCP)) []byte {
	t.Helper()
	tcp := &layers.TCP{SrcPort: 1024, DstPort: 7174, Seq: f.next, Ack: 77, ACK: true, Window: 500, Options: f.options}
	if set != nil {
		set(tcp)
	}
	f.next += uint32(len(payload))
	f.id++
	return f.packet(t, layers.IPProtocolTCP, tcp, payload)
}

// datagram returns a packet with UDP.
func (f *flow) datagram(t testing.TB, payload []byte) []byte {
	t.Helper()
	return f.packet(t, layers.IPProtocolUDP, &layers.UDP{SrcPort: 1024, DstPort: 7174}, payload)
}

func (f *flow) packet(t testing.TB, protocol layers.IPProtocol, transport gopacket.SerializableLayer, payload []byte) []byte {
	t.Helper()
	type network interface {
		gopacket.SerializableLayer
		gopacket.NetworkLayer
	}
	var ip network = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: protocol, SrcIP: f.src.AsSlice(), DstIP: f.dst.AsSlice()}
	if f.src.Is4() {
		ip = &layers.IPv4{Version: 4, TTL: 64, Protocol: protocol, Id: f.id, Flags: layers.IPv4DontFragment,
			SrcIP: f.src.AsSlice(), DstIP: f.dst.AsSlice()}
	}
	if c, ok := transport.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok {
		if err := c.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, ip, transport, gopacket.Payload(payload)); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// decode returns the TCP segment in a packet, by gopacket's decoder. The lengths and checksums in
// its headers must be those that gopacket computes.
func decode(t testing.TB, b []byte) *layers.TCP {
	t.Helper()
	first := layers.LayerTypeIPv6
	if b[0]>>4 == 4 {
		first = layers.LayerTypeIPv4
	}
	p := gopacket.NewPacket(b, first, gopacket.Default)
	tcp, ok := p.TransportLayer().(*layers.TCP)
	if !ok || p.ErrorLayer() != nil {
		t.Fatalf("%x is no packet with TCP: %v", b, p.ErrorLayer())
	}
	if err := tcp.SetNetworkLayerForChecksum(p.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	sum := tcp.Checksum
	if err := gopacket.SerializeLayers(buf, opts, p.NetworkLayer().(gopacket.SerializableLayer), tcp, gopacket.Payload(tcp.Payload)); err != nil {
		t.Fatal(err)
	}
	if want := buf.Bytes(); string(want) != string(b) {
		t.Fatalf("the packet\n%x has other lengths or checksums than\n%x", b, want)
	}
	tcp.Checksum = sum
	return tcp
}

// numbered returns a packet of n bytes, at least 12, with the number i. It is not an IP packet.
func numbered(i, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(i)}).Read(b)
	b[0] = 0
	binary.BigEndian.PutUint64(b[4:], uint64(i))
	return b
}

// number returns the number of a packet.
func number(b []byte) int { return int(binary.BigEndian.Uint64(b[4:])) }

// drain returns the packets that can be read at once.
func drain(t testing.TB, from, to *badlink.End) (packets [][]byte) {
	t.Helper()
	b := make([]byte, to.MTU())
	for n := from.Stats(); n.Waiting > 0; n.Waiting-- {
		m, err := to.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, append([]byte(nil), b[:m]...))
	}
	return packets
}

// balance checks the equation that holds for all Stats.
func balance(t testing.TB, s badlink.Stats) {
	t.Helper()
	in := s.In + s.Duplicated + s.Pieces + s.Injected
	out := s.Out + uint64(s.Waiting) + s.BlackHoled + s.TooLong + s.Lost + s.Split + s.Merged + s.QueueDrops
	if in != out {
		t.Errorf("%d packets came and %d went: %+v", in, out, s)
	}
}
