package badlink_test

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/toe/badlink"
)

// TestPathMTU: packets longer than PathMTU vanish, and others pass. With PacketTooBig the sender
// gets the message of a router, with the beginning of the packet.
func TestPathMTU(t *testing.T) {
	for desc, f := range flows() {
		for _, tell := range []bool{false, true} {
			t.Run(desc, func(t *testing.T) {
				a, b := pipe(t, badlink.Config{AB: badlink.Faults{PathMTU: 1280, PacketTooBig: tell}})
				headers := len(f.segment(t, nil, nil))
				fits, long := f.segment(t, make([]byte, 1280-headers), nil), f.segment(t, make([]byte, 1281-headers), nil)
				a.Write(fits)
				a.Write(long)
				if got := drain(t, a, b); len(got) != 1 || !bytes.Equal(got[0], fits) {
					t.Errorf("%d packets arrived", len(got))
				}
				if s := a.Stats(); s.TooLong != 1 {
					t.Errorf("%+v", s)
				}
				answers := drain(t, b, a)
				if balance(t, b.Stats()); !tell {
					if len(answers) != 0 {
						t.Errorf("the black hole answered %x", answers)
					}
					return
				}
				if len(answers) != 1 || b.Stats().Injected != 1 {
					t.Fatalf("%d answers: %+v", len(answers), b.Stats())
				}
				checkTooBig(t, answers[0], long, 1280)
			})
		}
	}
}

// TestAnswersTravel: a router's messages take the delay and the jitter of the direction in which
// they go.
func TestAnswersTravel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, delay, jitter, gap = 100, 10 * time.Millisecond, 3 * time.Millisecond, 5 * time.Millisecond
		f := flows()["IPv4"]
		a, b := pipe(t, badlink.Config{Seed: 9, AB: badlink.Faults{PathMTU: 100, PacketTooBig: true}, BA: badlink.Faults{Delay: delay, Jitter: jitter}})
		seen := make(map[time.Duration]bool)
		for range n {
			start := time.Now()
			a.Write(f.segment(t, make([]byte, 200), nil))
			if _, err := a.Read(make([]byte, a.MTU())); err != nil {
				t.Fatal(err)
			}
			late := time.Since(start)
			if seen[late] = true; late < delay || late > delay+jitter {
				t.Errorf("an answer took %v, want %v to %v", late, delay, delay+jitter)
			}
			time.Sleep(gap)
		}
		if balance(t, b.Stats()); len(seen) < n/2 {
			t.Errorf("%d answers took %d different times", n, len(seen))
		}
	})
}

// checkTooBig checks the answer to the packet about, by gopacket's decoder.
func checkTooBig(t *testing.T, answer, about []byte, mtu int) {
	t.Helper()
	var quote []byte
	var most int
	again := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	var err error
	if about[0]>>4 == 4 {
		p := gopacket.NewPacket(answer, layers.LayerTypeIPv4, gopacket.Default)
		ip, icmp := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4), p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		if !bytes.Equal(ip.DstIP, about[12:16]) || !bytes.Equal(ip.SrcIP, about[16:20]) || int(icmp.Seq) != mtu ||
			icmp.TypeCode != layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeFragmentationNeeded) {
			t.Errorf("the answer is %v", p)
		}
		quote, most = icmp.Payload, 576
		err = gopacket.SerializeLayers(again, opts, ip, icmp, gopacket.Payload(quote))
	} else {
		p := gopacket.NewPacket(answer, layers.LayerTypeIPv6, gopacket.Default)
		ip, icmp := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6), p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
		if !bytes.Equal(ip.DstIP, about[8:24]) || !bytes.Equal(ip.SrcIP, about[24:40]) ||
			icmp.TypeCode != layers.CreateICMPv6TypeCode(layers.ICMPv6TypePacketTooBig, 0) || !bytes.Equal(icmp.Payload[:4], []byte{0, 0, byte(mtu >> 8), byte(mtu)}) {
			t.Errorf("the answer is %v", p)
		}
		quote, most = icmp.Payload[4:], 1280
		if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		err = gopacket.SerializeLayers(again, opts, ip, icmp, gopacket.Payload(icmp.Payload))
	}
	if err != nil || !bytes.Equal(again.Bytes(), answer) {
		t.Errorf("the answer\n%x has other lengths or checksums than\n%x, %v", answer, again.Bytes(), err)
	}
	if len(answer) > most || len(quote) < most-80 || !bytes.HasPrefix(about, quote) {
		t.Errorf("the answer has %d bytes, and quotes %x", len(answer), quote)
	}
}

// TestNoAnswer: no router answers these packets, however long they are.
func TestNoAnswer(t *testing.T) {
	four, six := flows()["IPv4"], flows()["IPv6"]
	data := make([]byte, 200)
	changed := func(p []byte, change func(p []byte)) []byte {
		p = slices.Clone(p)
		change(p)
		return p
	}
	for desc, packet := range map[string][]byte{
		"may be fragmented": changed(four.datagram(t, data), func(p []byte) { p[6] = 0 }),
		"later fragment":    changed(four.datagram(t, data), func(p []byte) { p[7] = 1 }),
		"IPv4 multicast":    changed(four.datagram(t, data), func(p []byte) { p[16] = 224 }),
		"ICMPv4 error":      changed(four.datagram(t, data), func(p []byte) { p[9], p[20] = 1, 3 }),
		"short IPv4 header": changed(four.datagram(t, data), func(p []byte) { p[0] = 0x44 }),
		"IPv6 multicast":    changed(six.datagram(t, data), func(p []byte) { p[24] = 0xff }),
		"ICMPv6 error":      changed(six.datagram(t, data), func(p []byte) { p[6], p[40] = 58, 1 }),
		"no IP":             make([]byte, 200),
	} {
		t.Run(desc, func(t *testing.T) {
			a, b := pipe(t, badlink.Config{AB: badlink.Faults{PathMTU: 68, PacketTooBig: true}})
			a.Write(packet)
			if s := b.Stats(); s.Injected != 0 {
				t.Errorf("the answer to %x is %x", packet, drain(t, b, a))
			}
		})
	}
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{PathMTU: 68, PacketTooBig: true}})
	echo := changed(four.datagram(t, data), func(p []byte) { p[9], p[20] = 1, 8 })
	a.Write(echo)
	if s := b.Stats(); s.Injected != 1 {
		t.Errorf("an echo request was not answered: %+v", s)
	}
}
