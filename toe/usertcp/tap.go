package usertcp

import (
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/rddp/rddp/internal/locks"
)

// maxHandshakes is the maximum number of connections that the tap knows of and that no Stream has
// been made for. If there are more, it forgets the oldest: a SYN flood costs memory for so many.
const maxHandshakes = 4096

// A tap sees every packet between a Link and IP, in both directions and before TCP does. It knows
// what TCP does not tell: the initial sequence numbers, and the options that the peer has sent. It
// makes the checks of a segment that gVisor's TCP does not make.
type tap struct {
	mtu   int
	early bool // whether Streams show early runs

	mu locks.RWMutex[locks.Tap]
	// +checklocks:mu
	flows map[tuple]*flow
	// +checklocks:mu
	young []tuple // flows without a Stream, oldest first; some may have got one, or be gone
	// +checklocks:mu
	closed EarlyStats // of the Streams that are closed
}

func newTap(mtu int, early bool) *tap {
	return &tap{mtu: mtu, early: early, flows: make(map[tuple]*flow)}
}

// inbound looks at a packet that arrives, before IP gets it. It returns false if IP must not get the
// packet: see [flow.inbound] and partsHeader.
func (t *tap) inbound(p []byte) (accepted bool) {
	s, ok := decode(p)
	if !ok {
		return !partsHeader(p)
	}
	id := tuple{local: s.dst, remote: s.src}
	if s.isSYN() {
		t.inboundSYN(id, &s)
	} else if f := t.flow(id); f != nil {
		return f.inbound(&s)
	}
	return true
}

// outbound looks at a packet that leaves.
func (t *tap) outbound(p []byte) {
	s, ok := decode(p)
	if !ok {
		return
	}
	id := tuple{local: s.src, remote: s.dst}
	if s.isSYN() {
		t.outboundSYN(id, &s)
	} else if f := t.flow(id); f != nil {
		f.outbound(&s)
	}
}

// flow returns the flow of a connection, or nil if there is none.
func (t *tap) flow(id tuple) *flow {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.flows[id]
}

// inboundSYN learns the peer's options. It ignores a SYN for a connection that has a Stream, and a
// SYN-ACK that does not acknowledge our SYN or is not the first one.
func (t *tap) inboundSYN(id tuple, s *segment) {
	if !s.sumIsValid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[id]
	switch {
	case f != nil && f.attached:
	case s.isACK():
		if f != nil && f.active && s.ack == f.iss+1 && f.peer.MSS == 0 {
			f.peer = header.ParseSynOptions(s.options, true)
		}
	default:
		if f == nil || !f.active {
			f = t.addLocked(id)
		}
		f.peer = header.ParseSynOptions(s.options, false)
	}
}

// outboundSYN learns that we open a connection, or that TCP has accepted the peer's SYN. Only what
// our TCP acknowledges counts as the peer's initial sequence number: the SYN that came last may be
// another one.
func (t *tap) outboundSYN(id tuple, s *segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[id]
	if s.isACK() {
		if f == nil {
			f = t.addLocked(id)
		} else if f.attached {
			return
		}
		f.irs, f.hasIRS = s.ack-1, true
		f.answers(s)
	} else if f == nil || f.attached || !f.active || f.iss != s.seq {
		f = t.addLocked(id)
		f.active, f.iss = true, s.seq
	}
	f.scale = header.ParseSynOptions(s.options, s.isACK()).WS
}

// addLocked adds a flow, and forgets the oldest flow without a Stream if there are too many.
//
// +checklocks:t.mu
func (t *tap) addLocked(id tuple) *flow {
	f := &flow{}
	if _, exists := t.flows[id]; !exists {
		t.young = append(t.young, id)
	}
	t.flows[id] = f
	for len(t.young) > maxHandshakes {
		if old := t.flows[t.young[0]]; old != nil && !old.attached {
			delete(t.flows, t.young[0])
		}
		t.young = t.young[1:]
	}
	return f
}

// attach makes c the Stream of its connection, whose handshake is over, and returns the flow.
func (t *tap) attach(c *Stream) *flow {
	id := c.id
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[id]
	if f == nil {
		f = t.addLocked(id)
	}
	f.attached, f.stream = true, c
	f.emss.Store(int32(f.emssOf(t.mtu - ipHeaderLen(id.local.Addr().Is4()))))
	f.show(t.early)
	return f
}

// detach forgets a connection.
func (t *tap) detach(id tuple, f *flow) {
	f.stop()
	stats := f.earlyStats()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed.add(&stats)
	if t.flows[id] == f {
		delete(t.flows, id)
	}
}

// earlyStats returns the counts of all connections that there have been.
func (t *tap) earlyStats() EarlyStats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	sum := t.closed
	for _, f := range t.flows {
		if f.attached {
			stats := f.earlyStats()
			sum.add(&stats)
		}
	}
	return sum
}

// ipHeaderLen returns the length of an IP header without options.
func ipHeaderLen(is4 bool) int {
	if is4 {
		return header.IPv4MinimumSize
	}
	return header.IPv6MinimumSize
}
