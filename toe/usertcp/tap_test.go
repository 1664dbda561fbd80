package usertcp

import (
	"context"
	"net/netip"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// synOptions are the options of a SYN: MSS 1460, SACK, timestamps, window scale.
var synOptions = []byte{2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 0}

// newBareWire makes a wire without a connection.
func newBareWire(t *testing.T) *wire {
	return &wire{t: t, tap: newTap(1500, true), ours: netip.MustParseAddrPort("10.0.0.1:7174"), peers: netip.MustParseAddrPort("10.0.0.2:9")}
}

// syn shows a SYN of the peer.
func (w *wire) syn(isn uint32, options []byte) {
	w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagSyn, isn, 0, ourWindow, options, nil))
}

// synACK shows our SYN-ACK for the peer's SYN with the sequence number isn.
func (w *wire) synACK(ours, isn uint32) {
	w.tap.outbound(w.packet(w.ours, w.peers, header.TCPFlagSyn|header.TCPFlagAck, ours, isn+1, ourWindow, synOptions, nil))
}

// accept makes a Stream of the connection.
func (w *wire) accept() {
	c := &Stream{id: tuple{w.ours, w.peers}}
	c.readable.L = &c.mu
	w.flow = w.tap.attach(c, w.tap.flow(c.id))
}

// irsOf returns the peer's initial sequence number, or 0 if the flow does not know it.
func irsOf(f *flow) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.hasIRS {
		return 0
	}
	return f.irs
}

// emss is the EMSS that follows from synOptions and an MTU of 1500 bytes.
const emss = 1500 - 20 - 20 - 40

// TestOtherSYN: only the SYN that our SYN-ACK acknowledges says what the peer's options are. A SYN
// that comes before or after it with another sequence number changes nothing, whether the
// connection is in SYN-RECEIVED, established, or accepted.
func TestOtherSYN(t *testing.T) {
	tiny := []byte{2, 4, 2, 24}
	for desc, when := range map[string]int{"before the SYN": 0, "before the SYN-ACK": 1, "in SYN-RECEIVED": 2, "before Accept": 3, "after Accept": 4} {
		t.Run(desc, func(t *testing.T) {
			w := newBareWire(t)
			other := func(now int) {
				if now == when {
					w.syn(12345, tiny)
					w.syn(peerISN+1, tiny)
				}
			}
			other(0)
			w.syn(peerISN, synOptions)
			other(1)
			w.synACK(ourISN, peerISN)
			other(2)
			w.syn(peerISN, synOptions) // a retransmission, as is our answer
			w.synACK(ourISN, peerISN)
			w.outbound(ourISN+1, peerISN+1, 10, nil)
			other(3)
			w.outbound(ourISN+1, peerISN+1, 10, nil) // the challenge ACK (RFC 5961 §4.2)
			w.accept()
			other(4)
			if n := w.flow.emss.Load(); n != emss {
				t.Errorf("EMSS %d, want %d", n, emss)
			}
			if irs := irsOf(w.flow); irs != peerISN {
				t.Errorf("initial sequence number %#x, want %#x", irs, peerISN)
			}
		})
	}
}

// TestSameAddressesAgain: the peer resets a connection, and opens another one between the same
// ports, before the program has closed the first Stream. Each Stream has its own flow, and the runs
// of the second Stream belong to its flow.
func TestSameAddressesAgain(t *testing.T) {
	w := newWire(t)
	first := w.flow
	irs := peerISN + 100*512
	w.syn(irs, synOptions)
	w.synACK(ourISN+5000, irs)
	w.accept()
	if w.flow == first {
		t.Fatal("both Streams have the same flow")
	}
	w.outbound(ourISN+5001, irs+1, 10, nil)
	w.flow.showFrom(0)
	w.tap.detach(first) // the first Stream is closed
	w.tap.inbound(w.packet(w.peers, w.ours, header.TCPFlagAck, irs+1+500, ourISN+5001, 5000, stamps(10, 77), make([]byte, 100)))
	if n, at := w.flow.takeRun(make([]byte, 2000), 0); n != 100 || at != 500 {
		t.Errorf("takeRun = %d, %d, want 100, 500", n, at)
	}
	if got, want := w.tap.earlyStats(), (EarlyStats{Runs: 1, Bytes: 100}); got != want {
		t.Errorf("EarlyStats = %+v, want %+v", got, want)
	}
	w.accept() // without a handshake that the tap has seen
	if irsOf(w.flow) != 0 {
		t.Error("a Stream has the flow of another one")
	}
}

// TestStreamsBetweenSamePorts does the same with two Stacks.
func TestStreamsBetweenSamePorts(t *testing.T) {
	x, y := Pipe(1500)
	a, err := New(x, Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := New(y, Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a.ip.SetPortRange(50_000, 50_000)
	l, err := b.Listen(context.Background(), "tcp", "10.7.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open := func() (s, r *Stream) {
		x, err := a.Dial(context.Background(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		y, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return x.(*Stream), y.(*Stream)
	}
	s, first := open()
	if _, err := s.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 5)
	first.Read(p)
	s.Abort()
	if _, err := first.Read(p); err == nil {
		t.Fatal("Read after a reset returns no error")
	}
	s, second := open()
	defer s.Close()
	defer second.Close()
	if first.id != second.id || first.flow == second.flow {
		t.Errorf("%v and %v have the same flow: %t", first.id, second.id, first.flow == second.flow)
	}
	s.flow.mu.Lock()
	want := s.flow.iss
	s.flow.mu.Unlock()
	if irs := irsOf(second.flow); irs != want {
		t.Errorf("initial sequence number %#x, want %#x", irs, want)
	}
	first.Close()
	if b.tap.flow(second.id) != second.flow {
		t.Error("Close of the first Stream makes the tap forget the second one")
	}
}

// TestFloodOfOtherPorts: SYNs that TCP does not answer do not make the tap forget a handshake that
// TCP has answered, and the tap remembers a limited number of them.
func TestFloodOfOtherPorts(t *testing.T) {
	w := newBareWire(t)
	w.syn(peerISN, synOptions)
	w.synACK(ourISN, peerISN)
	for n := range 3 * maxHandshakes {
		src := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}), 1)
		w.tap.inbound(w.packet(src, netip.AddrPortFrom(w.ours.Addr(), 1), header.TCPFlagSyn, 1, 0, 1, nil, nil))
	}
	if flows, young, syns := w.tap.held(); flows != 1 || young != 1 || syns > maxHandshakes {
		t.Errorf("%d flows, %d young, %d SYNs", flows, young, syns)
	}
	w.accept()
	if n := w.flow.emss.Load(); n != emss || irsOf(w.flow) != peerISN {
		t.Errorf("EMSS %d, want %d; initial sequence number %#x, want %#x", n, emss, irsOf(w.flow), peerISN)
	}
}
