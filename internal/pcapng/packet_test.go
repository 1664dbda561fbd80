package pcapng

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// TestPackets: gopacket encodes the same headers as the same bytes, including checksums.
func TestPackets(t *testing.T) {
	for _, addresses := range [][2]string{{"10.1.2.3:4000", "10.1.2.4:7174"}, {"[2001:db8::7]:4000", "[2001:db8::8]:7174"}} {
		from := &end{addr: netip.MustParseAddrPort(addresses[0]), mac: [6]byte{2, 0, 0, 0, 0, 1}}
		to := &end{addr: netip.MustParseAddrPort(addresses[1]), mac: [6]byte{2, 0, 0, 0, 0, 2}}
		for _, h := range []header{
			{syn: true, seq: 1 << 20}, {syn: true, ack: true, seq: 7, acked: 1<<20 + 1}, {ack: true, psh: true, seq: 1<<32 - 1}, {ack: true, fin: true},
		} {
			for _, n := range []int{0, 1, 2, 1461, maxMarked} {
				t.Run(fmt.Sprintf("%s %+v %d", addresses[0], h, n), func(t *testing.T) {
					payload := bytes.Repeat([]byte{0xFF, 0xA5, 3}, n)[:n]
					if got, want := appendPacket(nil, from, to, h, payload), byGopacket(t, from, to, h, payload); !bytes.Equal(got, want) {
						t.Errorf("%x,\nwant %x", got[:min(len(got), 80)], want[:min(len(want), 80)])
					}
				})
			}
		}
	}
}

func byGopacket(t *testing.T, from, to *end, h header, payload []byte) []byte {
	tcp := &layers.TCP{
		SrcPort: layers.TCPPort(from.addr.Port()), DstPort: layers.TCPPort(to.addr.Port()), Seq: h.seq, Ack: h.acked, Window: window,
		SYN: h.syn, ACK: h.ack, FIN: h.fin, PSH: h.psh,
	}
	if h.syn {
		tcp.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{windowScale}}}
	}
	src, dst := from.addr.Addr().AsSlice(), to.addr.Addr().AsSlice()
	ethernet := &layers.Ethernet{SrcMAC: from.mac[:], DstMAC: to.mac[:], EthernetType: layers.EthernetTypeIPv4}
	var ip gopacket.SerializableLayer
	if from.addr.Addr().Is6() {
		ethernet.EthernetType = layers.EthernetTypeIPv6
		ip6 := &layers.IPv6{Version: 6, NextHeader: layers.IPProtocolTCP, HopLimit: hopLimit, SrcIP: src, DstIP: dst}
		tcp.SetNetworkLayerForChecksum(ip6)
		ip = ip6
	} else {
		ip4 := &layers.IPv4{Version: 4, Protocol: layers.IPProtocolTCP, TTL: hopLimit, Flags: layers.IPv4DontFragment, SrcIP: src, DstIP: dst}
		tcp.SetNetworkLayerForChecksum(ip4)
		ip = ip4
	}
	b := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, options, ethernet, ip, tcp, gopacket.Payload(payload)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
