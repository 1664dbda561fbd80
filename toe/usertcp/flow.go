package usertcp

import (
	"container/list"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/rddp/rddp/internal/locks"
)

// A flow is what the tap knows about one connection. A flow is never reused for another connection.
type flow struct {
	id       tuple
	attached bool          // a Stream has been made; the tap's lock guards it
	young    *list.Element // the flow's place in tap.young, which it leaves when it is attached
	emss     atomic.Int32  // 0 until a Stream is attached; never grows after that
	stream   *Stream       // nil until a Stream is attached; runs come after that

	mu locks.Mutex[locks.Flow]

	// The handshake. These fields no longer change once a Stream is attached, with one exception:
	// if we have sent the first SYN, the first segment after it says which number our TCP has
	// acknowledged.

	// +checklocks:mu
	active bool // we have sent the first SYN
	// +checklocks:mu
	iss uint32 // our initial sequence number
	// +checklocks:mu
	irs uint32 // the peer's initial sequence number, which our TCP has acknowledged
	// +checklocks:mu
	hasIRS bool
	// +checklocks:mu
	peer header.TCPSynOptions // of the peer's SYN; MSS is 0 if they are not known
	// +checklocks:mu
	scale int // of our window, as in our SYN; -1 if it had none

	// +checklocks:mu
	sent sentState
	// +checklocks:mu
	seen seenState
	// +checklocks:mu
	runs runs
}

// A sentState is the state of our TCP as the segments that we send show it.
type sentState struct {
	next      uint32 // SND.NXT
	una       uint32 // SND.UNA, as the peer's segments with the right checksum say
	maxWindow uint32 // the largest window of the peer, in bytes
	oldest    uint32 // the lowest acceptable ACK
	answered  bool   // a SYN-ACK has left, and next, una, ack, right and timestamp are known
	known     bool   // the peer has acknowledged our SYN-ACK, or a segment with an ACK has left

	ack       uint32    // RCV.NXT when we sent last
	received  uint64    // number of the peer's bytes before ack, if irs is known
	right     uint32    // right edge of the largest window that we have sent
	window    uint16    // of the last segment
	timestamp uint32    // TS.Recent: our TCP echoes it
	stamped   time.Time // when timestamp changed; zero if the two ends don't use timestamps
}

const (
	timestampLen = 12 // with two NOPs
	sackLen      = 2 + 2 + 4*8
	maxOptions   = 40
)

// emssOf returns the EMSS in bytes if the path takes at most room bytes of TCP header and payload:
// the peer's MSS or that, less the options that a segment may carry. gVisor leaves room for the
// maximum number of SACK blocks, so a segment never shrinks because of a gap in the other
// direction. "The sender MUST reduce the TCP data length to account for any IP or TCP options that
// it is including in the packets that it sends." (RFC 6691 §2)
//
// +checklocks:f.mu
func (f *flow) emssOf(room int) int {
	options := 0
	if f.peer.TS {
		options += timestampLen
	}
	if f.peer.SACKPermitted {
		options = min(options+sackLen, maxOptions)
	}
	mss := max(int(f.peer.MSS), minMSS) // without the option the MSS is 536, too (RFC 9293 §3.7.1)
	return max(1, min(mss, room-header.TCPMinimumSize)-options)
}

// scales returns the shifts of our window and of the peer's. Both are 0 unless both SYNs had the
// option (RFC 7323 §2.2).
//
// +checklocks:f.mu
func (f *flow) scales() (ours, peers int) {
	if f.scale < 0 || f.peer.WS < 0 {
		return 0, 0
	}
	return f.scale, f.peer.WS
}

// isOf reports whether our SYN or SYN-ACK s belongs to the flow's connection.
func (f *flow) isOf(s *segment) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !s.isACK() || !f.hasIRS { // our SYN again, or both ends open the connection at once
		return f.active && f.iss == s.seq
	}
	return f.iss == s.seq && f.irs == s.ack-1
}

// isAnswered learns the options of a SYN-ACK that acknowledges ack. Only the first SYN-ACK counts.
func (f *flow) isAnswered(ack uint32, options header.TCPSynOptions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active && ack == f.iss+1 && f.peer.MSS == 0 {
		f.peer = options
	}
}

// begins learns from our SYN or SYN-ACK. peer is the options of the SYN that it answers, or the
// zero value if they are not known.
func (f *flow) begins(s *segment, peer header.TCPSynOptions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.iss = s.seq
	f.scale = header.ParseSynOptions(s.options, s.isACK()).WS
	if !s.isACK() {
		f.active = true
		return
	}
	f.irs, f.hasIRS = s.ack-1, true
	if f.peer.MSS == 0 {
		f.peer = peer
	}
	f.answersLocked(s)
}

// attach makes c the Stream of the connection. The path takes at most room bytes of TCP header and
// payload.
func (f *flow) attach(c *Stream, room int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stream = c
	f.emss.Store(int32(f.emssOf(room)))
}

// answersLocked learns from our SYN-ACK.
//
// +checklocks:f.mu
func (f *flow) answersLocked(s *segment) {
	if f.sent.known { // it is sent again
		return
	}
	f.sent = sentState{answered: true, next: s.seq + 1, una: s.seq + 1, oldest: s.seq + 1, ack: s.ack, right: s.ack + uint32(s.window)}
	if _, echo, ok := timestamps(s.options); ok {
		f.sent.timestamp, f.sent.stamped = echo, time.Now()
	}
}

// isBegunBy reports whether s is the ACK of our SYN-ACK. Then TCP is in the state ESTABLISHED, and
// the checks begin. Before that, TCP resets the peer for a wrong ACK (RFC 9293 §3.10.7.4).
//
// +checklocks:f.mu
func (f *flow) isBegunBy(s *segment) bool {
	t := &f.sent
	if !t.answered || s.ack != t.next || before(s.seq, t.ack) || before(t.right, s.seq) || !f.isTimelyLocked(s) || !s.sumIsValid() {
		return false
	}
	t.known = true
	f.seen.acknowledged(t.ack, false)
	return true
}

// outbound learns from a segment that leaves, other than a SYN.
func (f *flow) outbound(s *segment) {
	if !s.isACK() || s.flags&header.TCPFlagRst != 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &f.sent
	end := s.seq + uint32(len(s.payload))
	if s.flags&header.TCPFlagFin != 0 {
		end++
	}
	ours, _ := f.scales()
	right := s.ack + uint32(s.window)<<ours
	if !t.known {
		*t = sentState{known: true, next: end, una: s.seq, oldest: s.seq, ack: s.ack, right: right}
		if f.active {
			f.irs, f.hasIRS = s.ack-1, true
		}
		t.received = uint64(s.ack - f.irs - 1)
	}
	repeated := t.ack == s.ack && t.window == s.window && len(s.payload) == 0
	t.next, t.right, t.window = later(t.next, end), later(t.right, right), s.window
	if !before(s.ack, t.ack) {
		t.received += uint64(s.ack - t.ack)
		t.ack = s.ack
		f.runs.dropStale(t.received)
		if _, echo, ok := timestamps(s.options); ok && (echo != t.timestamp || t.stamped.IsZero()) {
			t.timestamp, t.stamped = echo, time.Now()
		}
	}
	f.seen.acknowledged(s.ack, repeated)
}

// showFrom makes the tap show early runs from now on, unless they are switched off. taken is the
// number of bytes that the program has read before stream offset 0.
func (f *flow) showFrom(taken uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hasIRS {
		f.runs.on, f.runs.base = true, taken
	}
}

// before reports whether sequence number a comes before b (RFC 9293 §3.4).
func before(a, b uint32) bool { return int32(a-b) < 0 }

// later returns the later of two sequence numbers.
func later(a, b uint32) uint32 {
	if before(a, b) {
		return b
	}
	return a
}

// timestamps returns the timestamps option among the options of a segment (RFC 7323 §3.2).
func timestamps(options []byte) (value, echo uint32, ok bool) {
	o := header.ParseTCPOptions(options)
	return o.TSVal, o.TSEcr, o.TS
}
