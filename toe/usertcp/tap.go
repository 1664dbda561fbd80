package usertcp

import (
	"container/list"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/rddp/rddp/internal/locks"
)

// maxHandshakes is the maximum number of connections without a Stream that the tap remembers, and
// of SYNs that TCP has not answered. If there are more, the tap forgets the oldest, so a SYN flood
// uses only a limited amount of memory. SYNs that TCP does not answer do not make the tap forget a
// connection.
const maxHandshakes = 4096

// A synID identifies a SYN of a peer.
type synID struct {
	tuple
	seq uint32
}

// A tap sees every packet between a Link and IP, in both directions and before TCP does. It knows
// facts that TCP does not report: the initial sequence numbers, and the options that the peer has
// sent. It makes the checks of a segment that gVisor's TCP omits.
type tap struct {
	mtu   int
	early bool // whether Streams show early runs

	mu locks.RWMutex[locks.Tap]
	// +checklocks:mu
	flows map[tuple]*flow // of the latest connection between two ports
	// +checklocks:mu
	streams map[*flow]struct{} // the flows of Streams that are not closed
	// +checklocks:mu
	young list.List // the flows without a Stream, oldest first
	// +checklocks:mu
	syns map[synID]header.TCPSynOptions // SYNs that TCP has not answered
	// +checklocks:mu
	recent []synID // those SYNs, oldest first; some may have been answered
	// +checklocks:mu
	closed EarlyStats // of the Streams that are closed
}

func newTap(mtu int, early bool) *tap {
	return &tap{
		mtu: mtu, early: early,
		flows: make(map[tuple]*flow), streams: make(map[*flow]struct{}), syns: make(map[synID]header.TCPSynOptions),
	}
}

// inbound looks at a packet that arrives, before IP gets it. It returns false if IP must not get
// the packet: see [flow.inbound] and partsHeader.
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

// outbound looks at a packet that leaves, and reports whether it is a segment with payload.
func (t *tap) outbound(p []byte) (data bool) {
	s, ok := decode(p)
	if !ok {
		return false
	}
	id := tuple{local: s.src, remote: s.dst}
	if s.isSYN() {
		t.outboundSYN(id, &s)
	} else if f := t.flow(id); f != nil {
		f.outbound(&s)
	}
	return len(s.payload) > 0
}

// flow returns the flow of a connection, or nil if there is none.
func (t *tap) flow(id tuple) *flow {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.flows[id]
}

// inboundSYN learns the options of a SYN-ACK that acknowledges our SYN. A SYN is only remembered,
// because it counts only if our TCP answers it.
func (t *tap) inboundSYN(id tuple, s *segment) {
	if !s.sumIsValid() {
		return
	}
	options := header.ParseSynOptions(s.options, s.isACK())
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.isACK() {
		t.rememberLocked(synID{id, s.seq}, options)
	} else if f := t.flows[id]; f != nil && !f.attached {
		f.isAnswered(s.ack, options)
	}
}

// rememberLocked remembers the options of a SYN, and forgets the oldest if there are too many. If
// the same SYN comes again, the first one counts, because TCP takes no options from the second one.
//
// +checklocks:t.mu
func (t *tap) rememberLocked(id synID, options header.TCPSynOptions) {
	if _, exists := t.syns[id]; exists {
		return
	}
	t.syns[id] = options
	if t.recent = append(t.recent, id); len(t.recent) > maxHandshakes {
		delete(t.syns, t.recent[0])
		t.recent = t.recent[1:]
	}
}

// outboundSYN learns that we open a connection, or that TCP has accepted the peer's SYN. The number
// that TCP acknowledges is the peer's initial sequence number. It identifies the SYN, because
// anybody can send others. A flow with other numbers belongs to an older connection, even if its
// Stream is not closed.
func (t *tap) outboundSYN(id tuple, s *segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[id]
	if f == nil || !f.isOf(s) {
		f = t.addLocked(id)
	}
	var peer header.TCPSynOptions
	if s.isACK() {
		syn := synID{id, s.ack - 1}
		peer = t.syns[syn]
		delete(t.syns, syn)
	}
	if !f.attached {
		f.begins(s, peer)
	}
}

// addLocked adds a flow and replaces the earlier flow of the same addresses. It forgets the oldest
// flow without a Stream if there are too many.
//
// +checklocks:t.mu
func (t *tap) addLocked(id tuple) *flow {
	if old := t.flows[id]; old != nil {
		t.young.Remove(old.young)
	}
	f := &flow{id: id}
	t.flows[id] = f
	if f.young = t.young.PushBack(f); t.young.Len() > maxHandshakes {
		oldest := t.young.Remove(t.young.Front()).(*flow)
		delete(t.flows, oldest.id)
	}
	return f
}

// attach makes c the Stream of its connection, whose handshake is over, and returns the flow. f is
// the flow that was found while the connection was established, so it does not belong to a later
// connection. If f is nil or belongs to another Stream, c gets a flow that knows nothing about the
// handshake.
func (t *tap) attach(c *Stream, f *flow) *flow {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f == nil || f.attached {
		f = t.addLocked(c.id)
	}
	f.attached = true
	t.young.Remove(f.young)
	t.streams[f] = struct{}{}
	f.attach(c, t.mtu-ipHeaderLen(c.id.local.Addr().Is4()))
	f.show(t.early)
	return f
}

// detach forgets the flow of a Stream that is closed.
func (t *tap) detach(f *flow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.detachLocked(f)
}

// detachLocked is detach for callers that hold the lock. Only the first call for a flow does
// something: if the Stack is closed before the Stream, there are two.
//
// +checklocks:t.mu
func (t *tap) detachLocked(f *flow) {
	if _, attached := t.streams[f]; !attached {
		return
	}
	f.stop()
	stats := f.earlyStats()
	t.closed.add(&stats)
	delete(t.streams, f)
	if t.flows[f.id] == f {
		delete(t.flows, f.id)
	}
}

// close forgets everything but the counts. No packet passes after that.
func (t *tap) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := range t.streams {
		t.detachLocked(f)
	}
	for t.young.Len() > 0 {
		t.young.Remove(t.young.Front())
	}
	t.flows, t.streams, t.syns = make(map[tuple]*flow), make(map[*flow]struct{}), make(map[synID]header.TCPSynOptions)
	t.recent = nil
}

// earlyStats returns the counts of all connections so far.
func (t *tap) earlyStats() EarlyStats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	sum := t.closed
	for f := range t.streams {
		stats := f.earlyStats()
		sum.add(&stats)
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
