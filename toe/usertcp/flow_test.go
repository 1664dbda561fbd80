package usertcp

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// A wire makes the packets of one connection, and shows them to a tap in place of a link.
type wire struct {
	t     testing.TB
	tap   *tap
	ours  netip.AddrPort
	peers netip.AddrPort
	flow  *flow
}

const ourWindow = 60_000

// The initial sequence numbers. The peer's numbers wrap soon.
var ourISN, peerISN uint32 = 1000, 0xffff_ff00

// newWire makes a connection that the peer has opened, and whose reader has called ReadSegment.
func newWire(t testing.TB) *wire { return newScaledWire(t, 0) }

// newScaledWire makes one whose windows have a scale.
func newScaledWire(t testing.TB, scale byte) *wire {
	w := newHandshake(t, scale)
	w.outbound(ourISN+1, peerISN+1, 10, nil)
	w.flow.showFrom(0)
	return w
}

// newHandshake makes a connection that the peer has opened, and on which TCP has sent only its SYN.
func newHandshake(t testing.TB, scale byte) *wire {
	w := &wire{t: t, tap: newTap(1500, true), ours: netip.MustParseAddrPort("10.0.0.1:7174"), peers: netip.MustParseAddrPort("10.0.0.2:9")}
	syn := []byte{2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, scale} // MSS, SACK, timestamps, window scale
	w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagSyn, peerISN, 0, ourWindow, syn, nil))
	w.tap.outbound(w.packet(w.ours, w.peers, header.TCPFlagSyn|header.TCPFlagAck, ourISN, peerISN+1, ourWindow, syn, nil))
	c := &Stream{id: tuple{w.ours, w.peers}}
	c.readable.L = &c.mu
	w.flow = w.tap.attach(c, w.tap.flow(c.id))
	return w
}

// TestProbeFirst: the first segment that TCP sends after the handshake is a keep-alive probe,
// because the peer has been silent. The peer may still acknowledge the handshake.
func TestProbeFirst(t *testing.T) {
	w := newHandshake(t, 0)
	w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1, ourISN+1, 5000, stamps(10, 77), nil))
	w.outbound(ourISN, peerISN+1, 10, nil)
	if !w.tap.inbound(w.segment(0, []byte("first"))) {
		t.Error("TCP does not get the first segment of the peer")
	}
	if p := w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1, ourISN+2, 5000, stamps(10, 77), nil); w.tap.inbound(p) {
		t.Error("TCP gets an ACK of what was not sent")
	}
}

// stamps returns the timestamps option.
func stamps(value, echo uint32) []byte {
	b := []byte{1, 1, 8, 10}
	b = binary.BigEndian.AppendUint32(b, value)
	return binary.BigEndian.AppendUint32(b, echo)
}

// outbound shows a segment of ours, which echoes the peer's timestamp echo.
func (w *wire) outbound(seq, ack, echo uint32, payload []byte) {
	w.tap.outbound(w.packet(w.ours, w.peers, header.TCPFlagAck, seq, ack, ourWindow, stamps(77, echo), payload))
}

// packet returns an IPv4 packet.
func (w *wire) packet(src, dst netip.AddrPort, flags header.TCPFlags, seq, ack uint32, window uint16, options, payload []byte) []byte {
	p := make([]byte, header.IPv4MinimumSize+header.TCPMinimumSize+len(options)+len(payload))
	from, to := tcpip.AddrFromSlice(src.Addr().AsSlice()), tcpip.AddrFromSlice(dst.Addr().AsSlice())
	header.IPv4(p).Encode(&header.IPv4Fields{TotalLength: uint16(len(p)), TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: from, DstAddr: to})
	tcp := header.TCP(p[header.IPv4MinimumSize:])
	tcp.Encode(&header.TCPFields{
		SrcPort: src.Port(), DstPort: dst.Port(), SeqNum: seq, AckNum: ack, Flags: flags, WindowSize: window,
		DataOffset: uint8(header.TCPMinimumSize + len(options)),
	})
	copy(tcp[header.TCPMinimumSize:], options)
	copy(tcp[header.TCPMinimumSize+len(options):], payload)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, from, to, uint16(len(tcp)))
	tcp.SetChecksum(^checksum.Checksum(tcp, sum))
	return p
}

// segment returns a segment of the peer at a stream offset.
func (w *wire) segment(off int, payload []byte) []byte {
	return w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1+uint32(off), ourISN+1, 5000, stamps(10, 77), payload)
}

// held returns how much the flow holds: ranges, runs, and the bytes of the runs.
func (f *flow) held() (ranges, runs, bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen.ranges), len(f.runs.list), f.runs.bytes
}

// held returns how many flows the tap knows, and how many entries its lists of young ones and of
// SYNs have.
func (t *tap) held() (flows, young, syns int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.flows), t.young.Len(), len(t.syns)
}

// TestJudge shows segments behind a gap to the tap, one of them wrong in one way.
func TestJudge(t *testing.T) {
	payload := make([]byte, 100)
	for _, test := range []struct {
		desc string
		make func(w *wire) []byte
		want EarlyStats
	}{
		{"as TCP accepts it", func(w *wire) []byte { return w.segment(500, payload) }, EarlyStats{Runs: 1, Bytes: 100}},
		{"the shortest", func(w *wire) []byte { return w.segment(500, payload[:minRun]) }, EarlyStats{Runs: 1, Bytes: minRun}},
		{"too short", func(w *wire) []byte { return w.segment(500, payload[:minRun-1]) }, EarlyStats{Short: 1}},
		{"in order", func(w *wire) []byte { return w.segment(0, payload) }, EarlyStats{}},
		{"at the end of the window", func(w *wire) []byte { return w.segment(ourWindow-100, payload) }, EarlyStats{Runs: 1, Bytes: 100}},
		{"a byte behind the window", func(w *wire) []byte { return w.segment(ourWindow-99, payload) }, EarlyStats{Window: 1}},
		{"before the stream", func(w *wire) []byte { return w.segment(-1000, payload) }, EarlyStats{}},
		{"half of the sequence numbers away", func(w *wire) []byte { return w.segment(1<<31-1, payload) }, EarlyStats{Window: 1}},
		{"a wrong checksum", func(w *wire) []byte {
			p := w.segment(500, payload)
			p[len(p)-1] ^= 1
			return p
		}, EarlyStats{Checksum: 1}},
		{"an ACK of what was not sent", func(w *wire) []byte {
			return w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+501, ourISN+2, 5000, stamps(10, 77), payload)
		}, EarlyStats{ACK: 1}},
		{"an ACK from before the connection", func(w *wire) []byte {
			return w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+501, ourISN-10_000, 5000, stamps(10, 77), payload)
		}, EarlyStats{ACK: 1}},
		{"an old timestamp", func(w *wire) []byte {
			return w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+501, ourISN+1, 5000, stamps(9, 77), payload)
		}, EarlyStats{Timestamp: 1}},
		{"no timestamp", func(w *wire) []byte {
			return w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+501, ourISN+1, 5000, nil, payload)
		}, EarlyStats{Timestamp: 1}},
		{"no ACK", func(w *wire) []byte {
			return w.packet(w.peers, w.ours, header.TCPFlagPsh, peerISN+501, ourISN+1, 5000, stamps(10, 77), payload)
		}, EarlyStats{}},
		{"a reset", func(w *wire) []byte {
			return w.packet(w.peers, w.ours, header.TCPFlagAck|header.TCPFlagRst, peerISN+501, ourISN+1, 5000, stamps(10, 77), payload)
		}, EarlyStats{}},
		{"another connection", func(w *wire) []byte {
			other := netip.AddrPortFrom(w.peers.Addr(), 10)
			return w.packet(other, w.ours, header.TCPFlagAck, peerISN+501, ourISN+1, 5000, stamps(10, 77), payload)
		}, EarlyStats{}},
		{"a fragment", func(w *wire) []byte {
			p := w.segment(500, payload)
			header.IPv4(p).SetFlagsFragmentOffset(header.IPv4FlagMoreFragments, 0)
			return p
		}, EarlyStats{}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			w := newWire(t)
			w.tap.inbound(test.make(w))
			p := make([]byte, 2000)
			for n, _ := w.flow.takeRun(p, 0); n > 0; n, _ = w.flow.takeRun(p, 0) {
			}
			if got := w.flow.earlyStats(); got != test.want {
				t.Errorf("EarlyStats = %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestTCPsChecks shows segments to the tap, in order and behind a gap. TCP must get some of them
// and not others.
func TestTCPsChecks(t *testing.T) {
	payload := make([]byte, 100)
	for _, test := range []struct {
		desc    string
		ack     uint32
		options []byte
		want    bool
	}{
		{"a good one", ourISN + 1, stamps(10, 77), true},
		{"a later timestamp", ourISN + 1, stamps(1000, 77), true},
		{"an old timestamp", ourISN + 1, stamps(9, 77), false},
		{"no timestamp", ourISN + 1, nil, false},
		{"an ACK of what was not sent", ourISN + 2, stamps(10, 77), false},
		{"an ACK from before the connection", ourISN, stamps(10, 77), false},
	} {
		for _, off := range []int{-50, 0, 500} {
			for _, n := range []int{0, len(payload)} {
				w := newWire(t)
				p := w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1+uint32(off), test.ack, 5000, test.options, payload[:n])
				if got := w.tap.inbound(p); got != test.want {
					t.Errorf("%s, %d bytes at %d: accepted %t, want %t", test.desc, n, off, got, test.want)
				}
			}
		}
	}
}

// TestFirstSegments shows the tap segments of a connection that the peer opens, before our TCP has
// sent anything but its SYN-ACK. The checks begin with the ACK of the SYN-ACK: until then a wrong
// ACK must reach TCP, which answers it with a reset.
func TestFirstSegments(t *testing.T) {
	w := &wire{t: t, tap: newTap(1500, true), ours: netip.MustParseAddrPort("10.0.0.1:7174"), peers: netip.MustParseAddrPort("10.0.0.2:9")}
	syn := []byte{2, 4, 0x05, 0xb4, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 1}
	accepts := func(ack, value uint32, damage byte) bool {
		p := w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1, ack, 5000, stamps(value, 77), make([]byte, 10))
		p[len(p)-1] ^= damage
		return w.tap.inbound(p)
	}
	w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagSyn, peerISN, 0, ourWindow, syn, nil))
	for range 2 { // the SYN-ACK is sent again
		syn[9] = 0
		syn[13] = 9 // the echo
		w.tap.outbound(w.packet(w.ours, w.peers, header.TCPFlagSyn|header.TCPFlagAck, ourISN, peerISN+1, ourWindow, syn, nil))
		if !accepts(ourISN+2, 9, 0) || !accepts(ourISN+1, 8, 0) || !accepts(ourISN+1, 9, 1) || !accepts(ourISN+2, 9, 0) {
			t.Error("TCP does not get a segment in SYN-RECEIVED")
		}
	}
	if !accepts(ourISN+1, 9, 0) {
		t.Error("TCP does not get the ACK of its SYN-ACK")
	}
	w.tap.outbound(w.packet(w.ours, w.peers, header.TCPFlagSyn|header.TCPFlagAck, ourISN, peerISN+1, ourWindow, syn, nil))
	if accepts(ourISN+2, 9, 0) || accepts(ourISN-10_000, 9, 0) || accepts(ourISN+1, 8, 0) {
		t.Error("TCP gets a segment with a wrong ACK or timestamp")
	}
	if !accepts(ourISN+1, 10, 0) {
		t.Error("TCP does not get a good segment")
	}
}

// TestWindowLearned: an ACK of bytes that the peer had acknowledged before is acceptable within the
// largest window that the peer has announced in a segment in our window, and no further.
func TestWindowLearned(t *testing.T) {
	w := newWire(t)
	w.outbound(ourISN+1, peerISN+1, 10, make([]byte, 1400))
	accepts := func(off int, ack uint32, window uint16) bool {
		return w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1+uint32(off), ack, window, stamps(10, 77), nil))
	}
	if accepts(0, ourISN, 500) {
		t.Error("an ACK from before the connection is accepted")
	}
	if !accepts(0, ourISN+1001, 500) || !accepts(0, ourISN+501, 0) || accepts(0, ourISN+500, 0) {
		t.Error("the window of 500 bytes does not bound the ACKs")
	}
	for _, off := range []int{-1, ourWindow + 1, 1 << 30} { // segments that are not in our window
		accepts(off, ourISN+1001, 60_000)
	}
	if !accepts(0, ourISN+1401, 500) || !accepts(0, ourISN+901, 0) || accepts(0, ourISN+900, 0) {
		t.Error("the window of a segment that is not in our window counts")
	}
}

// TestTimestampOfLongAgo: after 24 days without a segment every timestamp is acceptable.
func TestTimestampOfLongAgo(t *testing.T) {
	w := newWire(t)
	old := w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1, ourISN+1, 5000, stamps(9, 77), nil)
	if w.tap.inbound(old) {
		t.Error("an old timestamp is accepted")
	}
	w.flow.mu.Lock()
	w.flow.sent.stamped = w.flow.sent.stamped.Add(-maxIdle)
	w.flow.mu.Unlock()
	if !w.tap.inbound(old) {
		t.Error("after 24 days an old timestamp is not accepted")
	}
}

// TestRunsInOffsets: a run has its place in the stream, across the wrap of the sequence numbers. A
// segment that was seen is not shown again, and a gap that has closed leaves no run.
func TestRunsInOffsets(t *testing.T) {
	w := newWire(t)
	payload := make([]byte, 100)
	for i := range payload {
		payload[i] = byte(i)
	}
	w.tap.inbound(w.segment(200, payload))
	w.tap.inbound(w.segment(200, payload))
	w.tap.inbound(w.segment(250, payload[:50]))
	w.tap.inbound(w.segment(300, payload))
	p := make([]byte, 2000)
	for _, want := range []int{100, 200} { // the second one comes with the first in front of it
		if n, off := w.flow.takeRun(p, 100); n != want || off != 200 || p[n-100] != 0 || p[n-1] != 99 {
			t.Errorf("takeRun = %d, %d, want %d, 200", n, off, want)
		}
	}
	w.tap.inbound(w.segment(500, payload))
	if w.flow.hasRun(500) {
		t.Error("there is a run to show to a reader that has read what is before it")
	}
	if got, want := w.flow.earlyStats(), (EarlyStats{Runs: 2, Bytes: 200, Again: 2, Stale: 1}); got != want {
		t.Errorf("EarlyStats = %+v, want %+v", got, want)
	}
	// The gap closes, and the next segment is in order.
	w.tap.inbound(w.segment(0, make([]byte, 200)))
	w.tap.inbound(w.segment(400, payload))
	w.tap.inbound(w.segment(600, payload))
	if w.flow.hasRun(400) {
		t.Error("a segment in order is shown early")
	}
}

// TestRunsAreJoined: a run that continues the one before is returned together with that one, unless
// the reader has already read that one in order, or there is no room for both.
func TestRunsAreJoined(t *testing.T) {
	for _, test := range []struct {
		desc    string
		off     uint64 // of the reader, when it takes the second run
		room    int
		start   int // of the second run, the first is at 200
		n       int
		at      uint64
		content string
	}{
		{"joined", 100, 200, 300, 200, 200, "ab"},
		{"the reader has come to the first one", 200, 200, 300, 100, 300, "b"},
		{"no room", 100, 199, 300, 100, 300, "b"},
		{"another gap", 100, 200, 301, 100, 301, "b"},
		{"behind the second one", 100, 200, 101, 99, 101, "b"},
	} {
		t.Run(test.desc, func(t *testing.T) {
			w := newWire(t)
			p := make([]byte, test.room)
			w.tap.inbound(w.segment(200, bytes.Repeat([]byte("a"), 100)))
			w.flow.takeRun(p, 100)
			w.tap.inbound(w.segment(test.start, bytes.Repeat([]byte("b"), test.n-100*(len(test.content)-1))))
			n, at := w.flow.takeRun(p, test.off)
			if n != test.n || at != test.at {
				t.Fatalf("takeRun = %d, %d, want %d, %d", n, at, test.n, test.at)
			}
			if first, last := p[0], p[n-1]; first != test.content[0] || last != 'b' {
				t.Errorf("takeRun shows %c to %c", first, last)
			}
			if got := w.flow.earlyStats(); got.Bytes != 100+uint64(test.n-100*(len(test.content)-1)) {
				t.Errorf("EarlyStats = %+v", got)
			}
		})
	}
}

// TestRunOfLongAgo: a run is not shown to a reader that has already read its bytes, however far the
// reader is ahead.
func TestRunOfLongAgo(t *testing.T) {
	for _, off := range []uint64{500, 1<<31 + 400, 1<<31 + 600, 3 << 30, 1<<32 + 400, 1<<32 + 500} {
		w := newWire(t)
		w.tap.inbound(w.segment(500, make([]byte, 100)))
		if n, at := w.flow.takeRun(make([]byte, 100), off); n > 0 {
			t.Errorf("the reader has read %d bytes, and is shown those at 500 at %d", off, at)
		}
	}
}

// TestRunsOfLongStream: after more bytes than there are sequence numbers, a run still has its place
// in the stream. The tap drops a run when TCP has acknowledged the bytes in front of it, whether
// the reader looks at the runs or not.
func TestRunsOfLongStream(t *testing.T) {
	w := newWire(t)
	p := make([]byte, 100)
	var acked uint64
	for range 9 {
		w.tap.inbound(w.segment(int(int32(acked+500)), p))
		if n, at := w.flow.takeRun(p, acked); n != 100 || at != acked+500 {
			t.Errorf("takeRun = %d, %d, want 100, %d", n, at, acked+500)
		}
		w.tap.inbound(w.segment(int(int32(acked+700)), p))
		acked += 1<<30 - 12345
		w.outbound(ourISN+1, peerISN+1+uint32(acked), 10, nil)
		if ranges, runs, bytes := w.flow.held(); ranges+runs+bytes != 0 {
			t.Errorf("%d ranges and %d runs of %d bytes are held", ranges, runs, bytes)
		}
	}
}

// TestGapIsTCPs: if TCP acknowledges the same byte again, TCP lacks it although the tap has seen
// it: its checksum may have been wrong.
func TestGapIsTCPs(t *testing.T) {
	w := newWire(t)
	w.tap.inbound(w.segment(0, make([]byte, 100)))
	w.outbound(ourISN+1, peerISN+1, 10, nil)
	w.tap.inbound(w.segment(100, make([]byte, 100)))
	if !w.flow.hasRun(0) {
		t.Error("the segment behind the gap is not shown early")
	}
}

// TestQueueAttack: a peer that sends every second byte, or more than the reader takes, gets no more
// memory than the bounds. TCP gets at most maxRanges segments that leave a gap, but it gets all
// that leave none, and later everything in order.
func TestQueueAttack(t *testing.T) {
	const window = 50_000
	for _, length := range []int{1, minRun - 1, minRun} {
		w := newWire(t)
		passed := 0
		for off := 1; off+length < window; off += length + 1 {
			if w.tap.inbound(w.segment(off, make([]byte, length))) {
				passed++
			}
			if ranges, runs, n := w.flow.held(); ranges > maxRanges || runs > maxRuns || n > maxRunBytes {
				t.Fatalf("%d ranges, %d runs of %d bytes", ranges, runs, n)
			}
		}
		if passed != maxRanges || w.flow.earlyStats().Full == 0 {
			t.Errorf("TCP got %d segments of %d bytes, want %d; %+v", passed, length, maxRanges, w.flow.earlyStats())
		}
		for off := 1; off < maxRanges*(length+1); off += length + 1 {
			if !w.tap.inbound(w.segment(off, make([]byte, length))) || !w.tap.inbound(w.segment(off+length, make([]byte, 1))) {
				t.Fatalf("TCP did not get what leaves no gap at %d", off)
			}
		}
		for off := 0; off < window; off++ {
			if !w.tap.inbound(w.segment(off, make([]byte, 1))) {
				t.Fatalf("TCP did not get byte %d in order", off)
			}
		}
	}
}

// TestRunsAreBounded: consecutive segments behind a gap are one range. The tap keeps a limited
// number of them, and of their bytes, until the reader takes them.
func TestRunsAreBounded(t *testing.T) {
	for desc, test := range map[string]struct {
		size, count        int
		wantRuns, wantFull int
	}{
		"number": {minRun, maxRuns + 10, maxRuns, 10},
		"bytes":  {60_000, maxRunBytes/60_000 + 10, maxRunBytes / 60_000, 10},
	} {
		t.Run(desc, func(t *testing.T) {
			w := newScaledWire(t, 7)
			for n := range test.count {
				w.tap.inbound(w.segment(1+n*test.size, make([]byte, test.size)))
			}
			ranges, runs, bytes := w.flow.held()
			if full := w.flow.earlyStats().Full; ranges != 1 || runs != test.wantRuns || bytes != runs*test.size || full != uint64(test.wantFull) {
				t.Errorf("%d ranges, %d runs of %d bytes, %d refused, want %d runs and %d refused", ranges, runs, bytes, full, test.wantRuns, test.wantFull)
			}
			for w.flow.hasRun(0) {
				w.flow.takeRun(make([]byte, test.size), 0)
			}
			if w.tap.inbound(w.segment(1+test.count*test.size, make([]byte, test.size))); !w.flow.hasRun(0) {
				t.Error("after the reader has taken all, no run is kept")
			}
		})
	}
}

// TestSYNFlood: of connections whose SYN our TCP has answered, the tap knows at most maxHandshakes
// without a Stream. It does not forget those that have one.
func TestSYNFlood(t *testing.T) {
	w := newWire(t)
	for n := range 3 * maxHandshakes {
		src := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}), 1)
		w.tap.inbound(w.packet(src, w.ours, header.TCPFlagSyn, 1, 0, 1, nil, nil))
		w.tap.outbound(w.packet(w.ours, src, header.TCPFlagSyn|header.TCPFlagAck, 1, 2, 1, nil, nil))
	}
	if flows, young, syns := w.tap.held(); flows > maxHandshakes+1 || young > maxHandshakes || syns > maxHandshakes {
		t.Errorf("%d flows, %d young, %d SYNs", flows, young, syns)
	}
	if w.tap.flow(tuple{w.ours, w.peers}) != w.flow {
		t.Error("the connection with a Stream is forgotten")
	}
}

// TestSpoofedSYN: a SYN for a connection that has a Stream changes nothing.
func TestSpoofedSYN(t *testing.T) {
	w := newWire(t)
	w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagSyn, 5, 0, 1, nil, nil))
	w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagSyn|header.TCPFlagAck, 5, ourISN+1, 1, nil, nil))
	w.tap.inbound(w.segment(500, make([]byte, 100)))
	if n, off := w.flow.takeRun(make([]byte, 100), 0); n != 100 || off != 500 {
		t.Errorf("takeRun = %d, %d, want 100, 500", n, off)
	}
}

// TestWrongChecksumTeachesNothing: the ACK of a segment with a wrong checksum does not make the tap
// believe that something has arrived. So the tap still accepts the message that the path MTU is too
// small for that segment.
func TestWrongChecksumTeachesNothing(t *testing.T) {
	w := newWire(t)
	w.outbound(ourISN+1, peerISN+1, 10, make([]byte, 1000))
	for _, test := range []struct {
		damage byte
		want   bool
	}{{1, true}, {0, false}} {
		p := w.packet(w.peers, w.ours, header.TCPFlagAck, peerISN+1, ourISN+1001, 5000, stamps(10, 77), nil)
		p[len(p)-1] ^= test.damage
		w.tap.inbound(p)
		if got := w.tap.packetTooBig(w.ours, w.peers, ourISN+1, 1280); got != test.want {
			t.Errorf("after an ACK with the checksum off by %d, packetTooBig = %t, want %t", test.damage, got, test.want)
		}
	}
}

// FuzzTap: no packet, in either direction, makes the tap panic or exceed its bounds.
func FuzzTap(f *testing.F) {
	w := newWire(new(testing.T))
	f.Add(w.segment(500, make([]byte, 100)), true)
	f.Add(w.segment(0, nil), false)
	f.Add([]byte{0x60, 0, 0, 0, 0, 20, 6, 64}, true)
	f.Fuzz(func(t *testing.T, p []byte, in bool) {
		w := newWire(t)
		for range 2 {
			if in {
				w.tap.inbound(p)
			} else {
				w.tap.outbound(p)
			}
			w.tap.inbound(w.segment(500, make([]byte, 100)))
		}
		_, runs, _ := w.flow.held()
		if flows, _, _ := w.tap.held(); runs > 4 || flows > 3 {
			t.Errorf("%d runs, %d flows", runs, flows)
		}
	})
}

// TestQuotedSYN: an ICMP message that ends a handshake must quote the number of our SYN or SYN-ACK,
// and later the number of an outstanding segment.
func TestQuotedSYN(t *testing.T) {
	ours, peers := netip.MustParseAddrPort("10.0.0.1:7174"), netip.MustParseAddrPort("10.0.0.2:9")
	for _, active := range []bool{true, false} {
		w := &wire{t: t, tap: newTap(1500, true), ours: ours, peers: peers}
		if !w.tap.isUnderWay(ours, peers, 5) {
			t.Error("a message about a connection that the tap does not know is dropped")
		}
		if active {
			w.tap.outbound(w.packet(ours, peers, header.TCPFlagSyn, ourISN, 0, ourWindow, nil, nil))
		} else {
			w.tap.inbound(w.packet(peers, ours, header.TCPFlagSyn, peerISN, 0, ourWindow, nil, nil))
			w.tap.outbound(w.packet(ours, peers, header.TCPFlagSyn|header.TCPFlagAck, ourISN, peerISN+1, ourWindow, nil, nil))
		}
		for _, quoted := range []uint32{ourISN - 1, ourISN, ourISN + 1, ourISN + 1000} {
			if got, want := w.tap.isUnderWay(ours, peers, quoted), quoted == ourISN; got != want {
				t.Errorf("active %t: number %d is under way: %t, want %t", active, quoted-ourISN, got, want)
			}
		}
		w.tap.outbound(w.packet(ours, peers, header.TCPFlagAck, ourISN+1, peerISN+1, ourWindow, nil, make([]byte, 10)))
		for _, quoted := range []uint32{ourISN, ourISN + 1, ourISN + 10, ourISN + 11} {
			if got, want := w.tap.isUnderWay(ours, peers, quoted), quoted != ourISN && quoted != ourISN+11; got != want {
				t.Errorf("active %t, with data: number %d is under way: %t, want %t", active, quoted-ourISN, got, want)
			}
		}
	}
}
