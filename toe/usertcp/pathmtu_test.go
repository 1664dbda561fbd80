package usertcp_test

import (
	"math/rand/v2"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// TestEMSSFollowsPathMTU makes the path MTU smaller while data is under way. The EMSS becomes what
// fits the path, and what is written after that has segments that end where slices end.
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
			total := before // of more segments gVisor would send the rest only when a timer expires
			writeAndRead(t, s, r, [][]byte{make([]byte, total)}, total)
			want := test.mtu - test.headers - options
			if got := s.EMSS(); got != want {
				t.Errorf("EMSS() = %d, want %d; before it was %d", got, want, before)
			}
			if got := r.EMSS(); got != before {
				t.Errorf("EMSS() of the other direction = %d, want %d", got, before)
			}
			bounds := writeSlices(t, rand.New(rand.NewPCG(seed, 0)), s, r, total)
			link.check(t, total, bounds, want)
		})
	}
}

// TestForgedPathMTU sends ICMP messages that no router on the path would send. They do not change
// the EMSS. The last message is one that a router would send.
func TestForgedPathMTU(t *testing.T) {
	x, y, err := badlink.Pipe(badlink.Config{})
	if err != nil {
		t.Fatal(err)
	}
	link := newRecorder(x)
	a := newStack(t, link, usertcp.Config{Addresses: addrsA})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Abort()
	defer r.Abort()
	const done, underWay = 500, 1000
	emss := s.EMSS()
	writeAndRead(t, s, r, [][]byte{make([]byte, done)}, done)
	if err := x.SetFaults(badlink.Faults{PathMTU: 200}); err != nil { // a black hole, but not for ACKs
		t.Fatal(err)
	}
	if _, err := s.Write(make([]byte, underWay)); err != nil {
		t.Fatal(err)
	}
	from, to := s.LocalAddr().(*net.TCPAddr), s.RemoteAddr().(*net.TCPAddr)
	other := &net.TCPAddr{IP: to.IP, Port: to.Port ^ 1}
	first := link.first()
	for _, test := range []struct {
		desc   string
		to     *net.TCPAddr
		seq    uint32
		mtu    uint16
		damage byte
		want   int
	}{
		{"about what has arrived", to, first, 600, 0, emss},
		{"about the last byte that has arrived", to, first + done - 1, 600, 0, emss},
		{"about what has not been sent", to, first + done + underWay, 600, 0, emss},
		{"an MTU that is too small", to, first + done, 575, 0, emss},
		{"no MTU", to, first + done, 0, 0, emss},
		{"a wrong checksum", to, first + done, 600, 1, emss},
		{"another connection", other, first + done, 600, 0, emss},
		{"a larger MTU", to, first + done, 9000, 0, emss},
		{"a router's", to, first + done, 1000, 0, 1000 - 20 - 20 - 40},
		{"a router's that is farther away", to, first + done + underWay - 1, 600, 0, 600 - 20 - 20 - 40},
		{"the first router's again", to, first + done, 1000, 0, 600 - 20 - 20 - 40},
	} {
		t.Run(test.desc, func(t *testing.T) {
			p := fragmentationNeeded(t, from, test.to, test.seq, test.mtu)
			p[len(p)-1] ^= test.damage
			if _, err := y.Write(p); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Write([]byte{1}); err != nil { // comes behind the message
				t.Fatal(err)
			}
			if _, err := s.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if got := s.EMSS(); got != test.want {
				t.Errorf("EMSS() = %d, want %d", got, test.want)
			}
		})
	}
}

// fragmentationNeeded returns the ICMP message of a router about a segment.
func fragmentationNeeded(t *testing.T, from, to *net.TCPAddr, seq uint32, mtu uint16) []byte {
	t.Helper()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	quote, message := gopacket.NewSerializeBuffer(), gopacket.NewSerializeBuffer()
	ip := &layers.IPv4{Version: 4, TTL: 63, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolTCP, SrcIP: from.IP.To4(), DstIP: to.IP.To4()}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(from.Port), DstPort: layers.TCPPort(to.Port), Seq: seq, ACK: true}
	tcp.SetNetworkLayerForChecksum(ip)
	if err := gopacket.SerializeLayers(quote, opts, ip, tcp); err != nil {
		t.Fatal(err)
	}
	router := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: net.IPv4(10, 7, 0, 254).To4(), DstIP: from.IP.To4()}
	icmp := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeFragmentationNeeded), Seq: mtu}
	if err := gopacket.SerializeLayers(message, opts, router, icmp, gopacket.Payload(quote.Bytes()[:20+8])); err != nil {
		t.Fatal(err)
	}
	return message.Bytes()
}
