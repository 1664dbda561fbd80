package usertcp

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/usertcp/internal/turned"
)

// joined is two Stacks with a Pipe between them, and a Listener of the second one. Their clock
// advances only when the test turns it.
type joined struct {
	t        *testing.T
	clock    *turned.Clock
	stacks   [2]*Stack
	listener toe.Listener
}

func newJoined(t *testing.T) *joined {
	x := &joined{t: t, clock: turned.New(t)}
	a, b := Pipe(1500)
	for i, l := range []Link{a, b} {
		s, err := New(l, Config{Addresses: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 7, 0, byte(i + 1)}), 24)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		x.stacks[i] = s
	}
	var err error
	if x.listener, err = x.stacks[1].Listen(context.Background(), "tcp", "10.7.0.2:0"); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *joined) dial() *Stream {
	s, err := x.stacks[0].Dial(context.Background(), "tcp", x.listener.Addr().String())
	if err != nil {
		x.t.Fatal(err)
	}
	return s.(*Stream)
}

func (x *joined) accept() *Stream {
	s, err := x.listener.Accept()
	if err != nil {
		x.t.Fatal(err)
	}
	return s.(*Stream)
}

// A remnant is the part of a Stream that must be collected.
type remnant struct {
	stream weak.Pointer[Stream]
	flow   weak.Pointer[flow]
}

func remnantOf(s *Stream) remnant { return remnant{weak.Make(s), weak.Make(s.flow)} }

// use makes a connection and lets end end it. It is not inlined, so that no variable of its caller
// holds a Stream.
//
//go:noinline
func (x *joined) use(end func(dialed, accepted *Stream)) []remnant {
	dialed := x.dial()
	accepted := x.accept()
	end(dialed, accepted)
	return []remnant{remnantOf(dialed), remnantOf(accepted)}
}

// leaveWaiting makes a connection that nobody accepts.
//
//go:noinline
func (x *joined) leaveWaiting() remnant { return remnantOf(x.dial()) }

// wantEmptyTaps checks that the taps know no connection.
func (x *joined) wantEmptyTaps() {
	x.t.Helper()
	for i, s := range x.stacks {
		if flows, young, syns := s.tap.held(); flows > 0 || young > 0 || syns > 0 {
			x.t.Errorf("Stack %d knows %d connections, %d of them without a Stream, and %d SYNs", i, flows, young, syns)
		}
	}
}

// wantCollected checks that the garbage collector frees everything in left. A goroutine that has
// just used a Stream may hold it for a moment longer, so there may be several collections.
func (x *joined) wantCollected(left []remnant) {
	x.t.Helper()
	var streams, flows int
	for range 100 {
		runtime.GC()
		streams, flows = 0, 0
		for _, r := range left {
			if r.stream.Value() != nil {
				streams++
			}
			if r.flow.Value() != nil {
				flows++
			}
		}
		if streams == 0 && flows == 0 {
			break
		}
	}
	if streams > 0 || flows > 0 {
		x.t.Errorf("of %d Streams, %d are held, and %d flows", len(left), streams, flows)
	}
	runtime.KeepAlive(x)
}

// endpoints returns the number of endpoints of connections that gVisor holds for a Stack.
func (s *Stack) endpoints() (n int) {
	for _, e := range append(s.ip.RegisteredEndpoints(), s.ip.CleanupEndpoints()...) {
		if tcp.EndpointState(e.(*tcp.Endpoint).State()) != tcp.StateListen {
			n++
		}
	}
	return n
}

// dangling returns the number of endpoints that gVisor holds for all Stacks together, because they
// are closed and have not ended.
func dangling() int { return len(tcpip.GetDanglingEndpoints()) }

// An ending is a way in which a connection ends.
type ending struct {
	desc string
	end  func(dialed, accepted *Stream)
}

var endings = []ending{
	{"the end that dialed closes first", func(dialed, accepted *Stream) { closeInTurn(dialed, accepted) }},
	{"the end that accepted closes first", func(dialed, accepted *Stream) { closeInTurn(accepted, dialed) }},
	{"both ends close at once", func(dialed, accepted *Stream) {
		var wg sync.WaitGroup
		wg.Go(func() { dialed.Close() })
		accepted.Close()
		wg.Wait()
	}},
	{"the end that dialed resets", func(dialed, accepted *Stream) { reset(dialed, accepted) }},
	{"the end that accepted resets", func(dialed, accepted *Stream) { reset(accepted, dialed) }},
}

// closeInTurn closes a, and then b once b has seen that.
func closeInTurn(a, b *Stream) {
	a.Close()
	b.Read(make([]byte, 1))
	b.Close()
}

// reset resets the connection at a, and closes b once b has seen that.
func reset(a, b *Stream) {
	a.Abort()
	b.Read(make([]byte, 1))
	b.Close()
}

// TestConnectionsAreForgotten: when a connection has ended, in any way, and its TIME-WAIT is over,
// nothing of it remains in the tap or in TCP.
func TestConnectionsAreForgotten(t *testing.T) {
	for _, test := range endings {
		t.Run(test.desc, func(t *testing.T) {
			x := newJoined(t)
			before := dangling()
			var left []remnant
			for range 3 {
				left = append(left, x.use(test.end)...)
			}
			x.clock.Turn(tcp.DefaultTCPTimeWaitTimeout+time.Second, time.Second)
			if a, b, n := x.stacks[0].endpoints(), x.stacks[1].endpoints(), dangling()-before; a > 0 || b > 0 || n > 0 {
				t.Errorf("after TIME-WAIT there are %d and %d endpoints, and gVisor holds %d closed ones", a, b, n)
			}
			x.wantEmptyTaps()
			x.wantCollected(left)
		})
	}
}

// TestTimeWaitHoldsNoStream: only TCP's endpoint remains of a connection in TIME-WAIT.
func TestTimeWaitHoldsNoStream(t *testing.T) {
	x := newJoined(t)
	left := x.use(closeInTurn)
	x.clock.Settle()
	x.wantEmptyTaps()
	x.wantCollected(left)
	if n := x.stacks[0].endpoints(); n != 1 {
		t.Errorf("%d endpoints in TIME-WAIT, want 1", n)
	}
}

// TestClosedStackForgetsConnections: when a Stack is closed, it holds nothing of its connections,
// whether they are in TIME-WAIT or in use, or wait for Accept.
func TestClosedStackForgetsConnections(t *testing.T) {
	for _, test := range append([]ending{{"neither end closes", func(*Stream, *Stream) {}}}, endings...) {
		t.Run(test.desc, func(t *testing.T) {
			x := newJoined(t)
			before := dangling()
			left := append(x.use(test.end), x.leaveWaiting())
			for i, s := range x.stacks {
				s.Close()
				if n := s.endpoints(); n > 0 {
					t.Errorf("Stack %d has %d endpoints", i, n)
				}
			}
			if n := dangling() - before; n > 0 {
				t.Errorf("gVisor holds %d closed endpoints", n)
			}
			x.wantEmptyTaps()
			x.wantCollected(left)
		})
	}
}

// TestCloseOfStreamAfterStack: each of the two Closes adds the counts of the Stream at most once.
func TestCloseOfStreamAfterStack(t *testing.T) {
	w := newWire(t)
	w.tap.inbound(w.segment(500, make([]byte, 100)))
	w.flow.takeRun(make([]byte, 100), 0)
	want := EarlyStats{Runs: 1, Bytes: 100}
	for _, end := range []func(){w.tap.close, func() { w.tap.detach(w.flow) }, w.tap.close} {
		end()
		if got := w.tap.earlyStats(); got != want {
			t.Errorf("EarlyStats = %+v, want %+v", got, want)
		}
	}
}

// TestAcceptedConnectionsPushNoneOut: connections that get a Stream do not make the tap forget a
// handshake, however many there are.
func TestAcceptedConnectionsPushNoneOut(t *testing.T) {
	w := newBareWire(t)
	w.syn(peerISN, synOptions)
	w.synACK(ourISN, peerISN)
	for n := range maxHandshakes {
		src := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}), 1)
		other := &wire{t: t, tap: w.tap, ours: w.ours, peers: src}
		other.syn(peerISN, synOptions)
		other.synACK(ourISN, peerISN)
		other.accept()
		if n%2 == 0 {
			other.tap.detach(other.flow)
		}
	}
	if flows, young, _ := w.tap.held(); flows != maxHandshakes/2+1 || young != 1 {
		t.Errorf("%d flows, %d of them without a Stream, want %d and 1", flows, young, maxHandshakes/2+1)
	}
	if w.accept(); irsOf(w.flow) != peerISN {
		t.Error("the tap has forgotten the handshake")
	}
}

// TestOtherHandshakeBetweenSamePorts: the peer gives up a handshake and begins another one between
// the same ports, which is accepted. When the tap forgets old handshakes, it does not confuse the
// two.
func TestOtherHandshakeBetweenSamePorts(t *testing.T) {
	w := newBareWire(t)
	for n := range uint32(2) {
		w.syn(peerISN+n, synOptions)
		w.synACK(ourISN+n, peerISN+n)
	}
	if flows, young, _ := w.tap.held(); flows != 1 || young != 1 {
		t.Errorf("%d flows, %d of them without a Stream, want 1", flows, young)
	}
	w.accept()
	for n := range maxHandshakes + 1 {
		other := &wire{t: t, tap: w.tap, ours: w.ours, peers: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}), 1)}
		other.syn(peerISN, synOptions)
		other.synACK(ourISN, peerISN)
	}
	if w.tap.flow(w.flow.id) != w.flow {
		t.Error("the tap has forgotten a connection that has a Stream")
	}
}
