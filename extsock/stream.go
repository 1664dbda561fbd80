package extsock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/rdmap"
)

// This file is the byte stream that two rddp ends make of Sends. Each message begins with a header:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+-------------------------------+
//	|     Type      |     Flags     |            Credits            |
//	+---------------+---------------+-------------------------------+
//
// Credits is how many buffers the sender of the header has freed since it last said so. A message uses one
// credit, whatever its type, and so one buffer of the peer's. What fills buffers until the peer's program reads
// leaves two credits: they are for grants and for messages that carry nothing but credits, which would
// otherwise be stuck behind data just when they are needed. Such a message is sent when half the buffers are owed,
// or two that held such messages, because the peer has no more of those than two. The end of the stream, if it
// comes alone, and the one cancel that there may be have a buffer of their own and use no credit. That this cannot come to a standstill is what
// conformance/models/credits.pml shows.
type header struct {
	kind    kind
	fin     bool // no data comes after this message
	credits uint16
}

const (
	headerLen = 4
	flagFIN   = 1

	// extraBuffers is how many buffers an end has that the peer gets no credits for: for the end of the stream, and
	// for a cancel, of which there is at most one.
	extraBuffers = 2

	// reserve is how many credits data leaves, and offers and their ends.
	reserve = 2

	minCredits = 4   // the fewest receive buffers of a byte stream's end
	minMessage = 512 // the shortest of them, in octets
)

// A kind is what a message of the stream is.
type kind uint8

const (
	kindData   kind = iota // octets of the stream behind the header, or none: then it is about credits
	kindOffer              // a large Write would like to place its octets itself; see rendezvous.go
	kindGrant              // where to
	kindDone               // they are there
	kindCancel             // the Write is over before they are
)

func (h header) put(b []byte) {
	b[0], b[1] = byte(h.kind), 0
	if h.fin {
		b[1] = flagFIN
	}
	binary.BigEndian.PutUint16(b[2:], h.credits)
}

func parseHeader(b []byte) (header, error) {
	h := header{kind: kind(b[0]), fin: b[1] == flagFIN, credits: binary.BigEndian.Uint16(b[2:])}
	if h.kind > kindCancel || b[1]&^flagFIN != 0 || h.fin && h.kind != kindData {
		return h, fmt.Errorf("%w: header %x", ErrStream, b[:headerLen])
	}
	return h, nil
}

// isData tells whether the payload of a segment begins a message with data.
func isData(payload []byte) bool { return len(payload) > headerLen && kind(payload[0]) == kindData }

// A byteStream is the sending half of a connection's byte stream, and the credits of both halves.
type byteStream struct {
	c  *Conn
	p  *pump
	in *inbox
	cq *rdmap.CompletionQueue // of its messages

	longest int           // most octets of data in one message
	granted int           // credits at the start
	lock    chan struct{} // capacity 1: held by the Write under way
	room    chan struct{} // capacity 1: the writer is to look again

	begin time.Time
	wrote time.Duration // when the last short Write was over, after begin; lock guards these two
	burst int           // how many in a row have come quickly
	heard atomic.Bool   // the peer has written since

	mu      sync.Mutex
	credits int               // +checklocks:mu messages that may be sent
	owed    int               // +checklocks:mu buffers freed that the peer has not been told of
	apart   int               // +checklocks:mu of those owed, the ones that held a grant or nothing but credits
	pending *bufpool.Chunk    // +checklocks:mu short Writes to be sent, and room for a header in front; has its credit
	own     int               // +checklocks:mu messages with a Write's own memory that TCP has not taken yet
	closed  error             // +checklocks:mu why nothing can be written any more
	fin     bool              // +checklocks:mu the end of the stream is posted
	stuck   bool              // +checklocks:mu the send queue was full
	slots   []*slot           // +checklocks:mu a ring of the messages posted, from head to tail
	free    []*slot           // +checklocks:mu a few of those without a message; the others are in spareSlots
	head    uint64            // +checklocks:mu
	tail    uint64            // +checklocks:mu
	request rdmap.WorkRequest // +checklocks:mu

	offering offering              // +checklocks:mu
	hasGrant bool                  // +checklocks:mu
	toGrant  rdmap.Handle          // +checklocks:mu to be sent if hasGrant is set
	scratch  [rdmap.HandleLen]byte // +checklocks:mu
	choice   choice                // lock guards it
}

// A slot is one message from its post to its Completion. Its number is the ID of the Send.
type slot struct {
	header  [headerLen]byte
	parts   [2][]byte
	chunk   *bufpool.Chunk // what is sent; nil if that is a Write's own memory, or nothing but a header
	own     bool           // a Write waits for it
	kind    kind
	n       int  // octets of data
	write   bool // an RDMA Write, which uses no credit
	credits int  // that the header carries
	apart   int  // of them
	body    [rdmap.HandleLen]byte
	done    bool
}

// maxSlots bounds the messages posted at a time.
const maxSlots = 256

// keptSlots is how many slots a stream keeps that has no use for them, not to ask spareSlots for each.
const keptSlots = 8

// spareSlots holds what streams have needed for many messages at a time. An idle one is small again after that.
var spareSlots = sync.Pool{New: func() any { return new(slot) }}

// newByteStream begins a stream whose peer has announced what its end is like.
func newByteStream(c *Conn, p *pump, in *inbox, peer capabilities, maxULPDU int) *byteStream {
	slots := min(2*int(peer.credits), maxSlots)
	// The peer states up to 2^32-1, which an int of 32 bits does not hold.
	longest := int(min(int64(peer.maxMessage), int64(maxULPDU-ddp.UntaggedHeaderLen)))
	return &byteStream{
		c: c, p: p, in: in, cq: rdmap.NewCompletionQueue(slots), slots: make([]*slot, slots),
		longest: longest - headerLen, granted: int(peer.credits), credits: int(peer.credits),
		lock: make(chan struct{}, 1), room: make(chan struct{}, 1), begin: time.Now(),
	}
}

// at returns the slot of a message that is posted.
//
// +checklocks:s.mu
func (s *byteStream) at(id uint64) *slot { return s.slots[id%uint64(len(s.slots))] }

// nextLocked returns the slot of the next message, for which there is room.
//
// +checklocks:s.mu
func (s *byteStream) nextLocked() *slot {
	e := &s.slots[s.tail%uint64(len(s.slots))]
	if n := len(s.free); *e == nil && n > 0 {
		*e, s.free = s.free[n-1], s.free[:n-1]
	} else if *e == nil {
		*e = spareSlots.Get().(*slot)
	}
	return *e
}

// popLocked frees the slot of the oldest message, which is done.
//
// +checklocks:s.mu
func (s *byteStream) popLocked() {
	e := &s.slots[s.head%uint64(len(s.slots))]
	**e = slot{}
	if len(s.free) < keptSlots {
		s.free = append(s.free, *e)
	} else {
		spareSlots.Put(*e)
	}
	*e = nil
	s.head++
}

// mayPostLocked reports whether a message may be posted that leaves so many credits.
//
// +checklocks:s.mu
func (s *byteStream) mayPostLocked(leave int) bool {
	return s.credits > leave && s.hasSlotLocked()
}

// +checklocks:s.mu
func (s *byteStream) hasSlotLocked() bool { return s.tail-s.head < uint64(len(s.slots)) }

// postPendingLocked posts what is pending, and the end of the stream with it if that is due.
//
// +checklocks:s.mu
func (s *byteStream) postPendingLocked() bool {
	h := header{kind: kindData, fin: s.closed != nil}
	if !s.hasSlotLocked() || !s.postLocked(h, s.pending.B, s.pending) {
		return false
	}
	s.pending = nil
	s.fin = h.fin
	return true
}

// postLocked posts one message, whose credit has been taken: data behind a header, or a chunk that has room for
// the header in front. It reports false if the queue pair does not take it.
//
// +checklocks:s.mu
func (s *byteStream) postLocked(h header, data []byte, c *bufpool.Chunk) bool {
	h.credits = uint16(min(s.owed, math.MaxUint16))
	e := s.nextLocked()
	own := c == nil && h.kind == kindData && len(data) > 0
	*e = slot{kind: h.kind, chunk: c, credits: int(h.credits), apart: s.apart, own: own}
	w := &s.request
	*w = rdmap.WorkRequest{ID: s.tail, Op: rdmap.WorkSend, CQ: s.cq}
	if c != nil {
		h.put(c.B)
		w.Data = c.B
	} else {
		h.put(e.header[:])
		if own {
			e.n = len(data)
		} else {
			data = e.body[:copy(e.body[:], data)]
		}
		e.parts = [2][]byte{e.header[:], data}
		w.Gather = e.parts[:]
	}
	err := s.p.qp.PostSend(w)
	w.Data, w.Gather = nil, nil // an idle connection is to keep no chunk from the garbage collector
	if err != nil {
		*e = slot{}
		s.stuck = true
		return false
	}
	s.tail++
	s.owed -= int(h.credits)
	s.apart = 0
	return true
}

// due reports whether there is something to post.
func (s *byteStream) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck || !s.hasSlotLocked() || s.p.qp.State() != rdmap.StateRTS {
		return false
	}
	return s.pending != nil || s.closeDueLocked() || s.grantDueLocked() || s.finDueLocked() || s.creditDueLocked()
}

// +checklocks:s.mu
func (s *byteStream) finDueLocked() bool {
	// Not while a done may still be taken back: that is so as long as a Write waits.
	return s.closed != nil && !s.fin && !s.offering.open && s.own == 0 && s.hasSlotLocked()
}

// +checklocks:s.mu
func (s *byteStream) creditDueLocked() bool {
	half := int(s.in.window.Load() / 2)
	return (s.owed >= half || s.apart >= reserve) && s.mayPostLocked(0)
}

// post posts what is due. The transmit token is held.
func (s *byteStream) post() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != nil && !s.postPendingLocked() {
		return
	}
	s.postCloseLocked()
	if s.grantDueLocked() {
		s.hasGrant = !s.postCountedLocked(header{kind: kindGrant}, s.toGrant.AppendTo(s.scratch[:0]))
	}
	if s.finDueLocked() {
		s.fin = s.postLocked(header{kind: kindData, fin: true}, nil, nil)
	}
	if s.creditDueLocked() {
		s.postCountedLocked(header{kind: kindData}, nil)
	}
}

// postCountedLocked posts a message that is not data and takes its credit.
//
// +checklocks:s.mu
func (s *byteStream) postCountedLocked(h header, body []byte) bool {
	s.credits--
	if s.postLocked(h, body, nil) {
		return true
	}
	s.credits++
	return false
}

// reap takes note of what TCP has taken.
func (s *byteStream) reap() {
	s.mu.Lock()
	s.reapLocked()
	s.mu.Unlock()
	signalOne(s.room)
}

// reapLocked returns how many octets of data were cancelled.
//
// +checklocks:s.mu
func (s *byteStream) reapLocked() (cancelled int) {
	s.stuck = false
	var done [16]rdmap.Completion
	for {
		n := s.cq.Poll(done[:])
		if n == 0 {
			break
		}
		for _, d := range done[:n] {
			e := s.at(d.ID)
			if e.own {
				s.own--
			}
			if e.chunk != nil {
				e.chunk.Put()
			}
			if errors.Is(d.Err, rdmap.ErrCancelled) {
				cancelled += e.n
				s.owed += e.credits
				s.apart += e.apart
				if !e.write { // nor a cancel, which is never taken back
					s.credits++
				}
				if e.kind == kindDone {
					s.offering.open = true
				}
			}
			*e = slot{done: true}
		}
	}
	for s.head < s.tail && s.at(s.head).done {
		s.popLocked()
	}
	return cancelled
}

// unblock has what was held back by a full queue tried again, now that the peer's answers may have let it go.
func (s *byteStream) unblock() {
	s.mu.Lock()
	held := s.stuck || s.tail-s.head == uint64(len(s.slots))
	s.reapLocked()
	s.mu.Unlock()
	if held {
		signalOne(s.room)
	}
}

// arrived takes in a message of n octets that has been placed. The receive role is held.
func (s *byteStream) arrived(n int) error {
	if n < headerLen {
		return fmt.Errorf("%w: message of %d octets", ErrStream, n)
	}
	h, err := parseHeader(s.in.head[:])
	if err != nil {
		return err
	}
	n -= headerLen
	if h.kind == kindData && n > 0 && s.in.ended() { // a grant may well come behind the end
		return fmt.Errorf("%w: %d octets after the end", ErrStream, n)
	}
	freed := 1
	if h.kind != kindData {
		if err := s.acceptControl(h.kind, n); err != nil {
			return err
		}
	} else if !s.in.accept(n) {
		freed = 0
	}
	if h.kind == kindData && n > 0 {
		s.heard.Store(true)
	}
	if h.fin {
		if err := s.in.end(); err != nil {
			return err
		}
	}
	control := h.kind == kindGrant || h.kind == kindData && n == 0 // what the reserve is for
	switch {
	case h.fin && n == 0 || h.kind == kindCancel:
		freed = 0 // that buffer was for nothing else
	case !control:
		freed = s.in.handBack(freed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed += freed
	if freed > 0 && control {
		s.apart++
	}
	if h.credits > 0 {
		s.credits += int(h.credits)
		if s.credits > s.granted {
			return fmt.Errorf("%w: %d credits of %d", ErrStream, s.credits, s.granted)
		}
		signalOne(s.room)
	}
	return nil
}

// acceptControl takes in a message of n octets behind the header that is no data.
func (s *byteStream) acceptControl(k kind, n int) error {
	var body [rdmap.HandleLen + 1]byte
	return s.rendezvous(k, body[:s.in.control(body[:], n)])
}

// freed notes that the reader has freed buffers, and tells the peer if that is due. It may be due where all of these
// credits are kept back, too: the window is smaller then, and what was owed before may be half of it now.
func (s *byteStream) freed(n int) {
	n = s.in.handBack(n)
	s.mu.Lock()
	s.owed += n
	due := s.creditDueLocked()
	s.mu.Unlock()
	if due {
		s.p.transmit()
	}
}

// finish ends the stream behind what has been written. Later Writes, and the one under way, get err.
func (s *byteStream) finish(err error) {
	s.mu.Lock()
	if s.closed == nil || err == net.ErrClosed { //nolint:errorlint // as Close has it
		s.closed = err
	}
	s.mu.Unlock()
	signalOne(s.room)
	s.p.transmit()
}

// close is Close's part: the end of the stream is behind what was written. It waits until all that is posted,
// and reports false when that takes too long.
func (s *byteStream) close(tooLong <-chan time.Time) bool {
	s.finish(net.ErrClosed)
	for {
		looked := s.p.freed.wait() // room is the Write's that may be under way
		s.mu.Lock()
		posted := s.fin
		s.mu.Unlock()
		if posted {
			return true
		}
		select {
		case <-looked:
		case <-s.p.life.over:
			return true
		case <-tooLong:
			return false
		}
	}
}
