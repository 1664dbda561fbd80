package usertcp

import (
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/rddp/rddp/internal/locks"
)

// maxHandshakes is the maximum number of connections that the tap knows of and that no Stream has
// been made for. If there are more, it forgets the oldest: a SYN flood costs memory for so many.
const maxHandshakes = 4096

// A tap sees every packet between a Link and IP, in both directions and before TCP does. It knows
// what TCP does not tell: the initial sequence numbers, and the options that the peer has sent.
type tap struct {
	mtu   int
	early bool // as Config.NoEarlyRuns says

	mu locks.RWMutex[locks.Tap]
	// +checklocks:mu
	flows map[tuple]*flow
	// +checklocks:mu
	young []tuple // flows without a Stream, oldest first; some may have got one, or be gone
}

func newTap(mtu int, early bool) *tap {
	return &tap{mtu: mtu, early: early, flows: make(map[tuple]*flow)}
}

// inbound looks at a packet that arrives, before IP gets it.
func (t *tap) inbound(p []byte) {
	s, ok := decode(p)
	if !ok {
		return
	}
	id := tuple{local: s.dst, remote: s.src}
	if s.isSYN() {
		t.inboundSYN(id, &s)
	}
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
	}
}

// inboundSYN learns the peer's initial sequence number and options. It ignores a SYN for a
// connection that has a Stream, and a SYN-ACK that does not acknowledge our SYN.
func (t *tap) inboundSYN(id tuple, s *segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[id]
	if s.isACK() {
		if f != nil && f.active && s.ack == f.iss+1 {
			f.handshake(s.seq, s.options, true)
		}
		return
	}
	if f != nil && f.attached {
		return
	}
	if f == nil || !f.active {
		f = t.addLocked(id)
	}
	f.handshake(s.seq, s.options, false)
}

// outboundSYN learns that we open a connection, or that TCP has accepted the peer's SYN.
func (t *tap) outboundSYN(id tuple, s *segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[id]
	switch {
	case !s.isACK() && (f == nil || f.iss != s.seq || !f.active):
		f = t.addLocked(id)
		f.active, f.iss = true, s.seq
	case s.isACK() && (f == nil || f.irs+1 != s.ack):
		f = t.addLocked(id) // another SYN than that of the connection came last
		f.handshake(s.ack-1, nil, false)
	}
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

// attach returns the flow of a connection whose handshake is over.
func (t *tap) attach(id tuple) *flow {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flows[id]
	if f == nil {
		f = t.addLocked(id)
	}
	f.attached = true
	f.emss.Store(int32(f.emssAfterHandshake(t.mtu, id.local.Addr().Is4())))
	return f
}

// detach forgets a connection.
func (t *tap) detach(id tuple, f *flow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flows[id] == f {
		delete(t.flows, id)
	}
}

// ipHeaderLen returns the length of an IP header without options.
func ipHeaderLen(is4 bool) int {
	if is4 {
		return header.IPv4MinimumSize
	}
	return header.IPv6MinimumSize
}
