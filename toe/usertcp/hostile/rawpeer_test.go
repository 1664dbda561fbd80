package hostile_test

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/usertcp"
)

// A rawPeer is the peer of a Stack, one TCP segment at a time.
type rawPeer struct {
	t      testing.TB
	link   usertcp.Link
	stack  *usertcp.Stack
	to     netip.AddrPort // where the Stack listens
	accept toe.Listener

	src    netip.AddrPort
	isn    uint32
	packet []byte

	mu      sync.Mutex
	arrived sync.Cond
	last    rawSegment // the last segment of the Stack to src, without its payload
	stamp   uint32     // its timestamp
	seen    bool
}

// newRawPeer makes a Stack and its peer.
func newRawPeer(t testing.TB) *rawPeer {
	t.Helper()
	x, y := usertcp.Pipe(1500)
	stack, err := usertcp.New(y, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}})
	if err != nil {
		t.Fatal(err)
	}
	p := &rawPeer{t: t, link: x, stack: stack, to: netip.MustParseAddrPort("10.9.0.2:7174"), src: netip.MustParseAddrPort("10.9.0.1:1024")}
	p.arrived.L = &p.mu
	if p.accept, err = stack.Listen(t.Context(), "tcp", p.to.String()); err != nil {
		t.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(p.receive)
	t.Cleanup(func() { p.accept.Close(); stack.Close(); x.Close(); reader.Wait() })
	return p
}

// receive looks at the packets that the Stack sends.
func (p *rawPeer) receive() {
	b := make([]byte, p.link.MTU())
	for {
		n, err := p.link.Read(b)
		if err != nil {
			return
		}
		s, ok := parseRaw(b[:n])
		p.mu.Lock()
		if ok && s.dst == p.src {
			p.stamp, _, _ = s.timestampsOf()
			s.options, s.payload = nil, nil
			p.last, p.seen = s, true
			p.arrived.Broadcast()
		}
		p.mu.Unlock()
	}
}

// connect opens a connection from a new port.
func (p *rawPeer) connect() toe.Stream {
	p.t.Helper()
	p.mu.Lock()
	p.src = netip.AddrPortFrom(p.src.Addr(), p.src.Port()+1)
	p.isn, p.seen = p.isn+0x1234_5678, false
	p.mu.Unlock()
	syn := append([]byte{2, 4, 0x05, 0xb4, 4, 2, 1, 1, 1, 3, 3, 7}, timestampsOption(1, 0)...) // MSS 1460, SACK, window scale 7
	p.send(rawSegment{seq: p.isn, flags: tcpSYN, options: syn})
	p.mu.Lock()
	for !p.seen {
		p.arrived.Wait()
	}
	p.mu.Unlock()
	p.segment(0, nil)
	c, err := p.accept.Accept()
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// segment sends payload from stream offset off on, in as many segments as needed.
func (p *rawPeer) segment(off int, payload []byte) {
	for {
		n := min(len(payload), 1448)
		p.sendAt(off, tcpACK, payload[:n])
		off, payload = off+n, payload[n:]
		if len(payload) == 0 {
			return
		}
	}
}

// finish sends a FIN after the stream of n bytes. The FIN is a separate segment, because gVisor
// ignores a FIN in a segment whose bytes it already has.
func (p *rawPeer) finish(n int) { p.sendAt(n, tcpACK|tcpFIN, nil) }

func (p *rawPeer) sendAt(off int, flags byte, payload []byte) {
	p.mu.Lock()
	ack, stamp := p.last.seq, p.stamp
	if p.last.flags&tcpSYN != 0 {
		ack++
	}
	p.mu.Unlock()
	p.send(rawSegment{seq: p.isn + 1 + uint32(off), ack: ack, flags: flags, options: timestampsOption(2, stamp), payload: payload})
}

func (p *rawPeer) send(s rawSegment) {
	s.src, s.dst, s.window = p.src, p.to, 1000
	p.packet = s.appendTo(p.packet[:0])
	if _, err := p.link.Write(p.packet); err != nil {
		p.t.Error(err)
	}
}

// lent lends one piece of memory.
type lent []byte

func (l lent) Lend() []byte   { return l }
func (l lent) TakeBack() bool { return true }
