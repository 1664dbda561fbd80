package bytestream

import (
	"errors"
	"slices"

	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/rdmap"
)

// A Sender is the state of the way out: credits, the messages posted, what is to be posted next,
// and the writer's side of the rendezvous. It has no lock: one goroutine at a time uses it.
//
// One Write at a time uses it: Append for one that is copied; Post, then Write to look at it, then
// End for a long one.
type Sender struct {
	longest int // maximum bytes of data in one message
	granted int // credits at the start
	window  int // maximum number of the peer's messages on their way here or unread

	credits     int // messages that may be sent
	owed        int // freed buffers whose credits the peer has not got back
	owedControl int // part of owed: buffers that held a grant or a message with credits only
	givenBack   int // credits in messages posted since the last GivenBack, less those taken back

	// pending holds the messages of copied Writes that are not posted, the oldest first. Each
	// begins with room for a header, and has its credit.
	pending []*bufpool.Chunk
	copies  int // messages of copied Writes that are not completed
	own     int // messages with a Write's own memory that are posted and not completed
	slots   slots

	closed   bool   // nothing more will be written
	fin      bool   // the end of the stream is posted
	full     bool   // the send queue was full
	stalled  bool   // data waits for credits
	hasGrant bool   // toGrant is to be sent
	greets   bool   // see Greet
	ready    output // what Next has prepared

	counts Counts
	offer  offering
	write  write // the long Write under way

	toGrant rdmap.Handle // the answer to the peer's offer
}

// Counts has the counts of a Sender.
type Counts struct {
	Stalls   uint64 // how often data had to wait for credits
	Combined uint64 // Writes whose first byte went into a message with an earlier Write
	Offers   uint64 // rendezvous begun
	Placed   uint64 // bytes for which a done was posted, which may have been taken back
}

// NewSender returns the Sender of a stream whose peer has announced credits for messages of at most
// maxMessage bytes, the header included. window is how many messages the peer may send.
func NewSender(credits, maxMessage, window int) *Sender {
	s := &Sender{longest: maxMessage - HeaderLen, granted: credits, credits: credits, window: window}
	s.slots.depth = min(2*credits, MaxSlots)
	return s
}

// Slots returns how many messages may be posted at a time: the depth of the completion queue that
// the driver needs.
func (s *Sender) Slots() int { return s.slots.depth }

// Longest returns the maximum number of bytes of data in one message.
func (s *Sender) Longest() int { return s.longest }

// Owed returns the number of freed buffers whose credits the peer has not got back.
func (s *Sender) Owed() int { return s.owed }

// Counts returns the counts so far.
func (s *Sender) Counts() Counts { return s.counts }

// An output is what Next gives out.
type output uint8

const (
	nothing     output = iota
	sendPending        // the oldest message of copied Writes
	sendDone           // the end of an offer whose Write is over: some bytes are placed
	sendCancel         // or none
	sendGrant
	sendData  // of a long Write
	sendOffer // of it
	writePart // an RDMA Write of it
	endOffer  // its done
	sendFIN
	sendCredits
)

// mayPost reports whether a message may be sent that leaves so many credits.
func (s *Sender) mayPost(leave int) bool { return s.credits > leave }

// next returns the kind of the next message.
func (s *Sender) next() output {
	if s.full || s.slots.isFull() {
		return nothing
	}
	if s.greets && s.mayPost(0) {
		return sendCredits
	}
	if len(s.pending) > 0 { // has its credit
		return sendPending
	}
	if out := s.offer.endDue(s); out != nothing {
		return out
	}
	if s.hasGrant && s.mayPost(0) {
		return sendGrant
	}
	if out := s.writeDue(); out != nothing {
		return out
	}
	if s.finDue() {
		return sendFIN
	}
	if s.creditsDue() && s.mayPost(0) {
		return sendCredits
	}
	return nothing
}

// finDue reports whether the end of the stream is to be posted. While a Write waits, its done may
// still be taken back.
func (s *Sender) finDue() bool { return s.closed && !s.fin && !s.offer.open && s.own == 0 }

// creditsDue reports whether a message that carries nothing but credits is worth its own credit.
func (s *Sender) creditsDue() bool {
	return s.owed > 0 && s.owed >= s.window/2 || s.owedControl >= Reserve
}

// HasOutput reports whether Next would give a request out.
func (s *Sender) HasOutput() bool { return s.next() != nothing }

// IsWaiting reports whether messages wait for their Completions or for the send queue. If so,
// Completed must be called.
func (s *Sender) IsWaiting() bool { return s.full || !s.slots.isEmpty() }

// Next makes wr the next request for the queue pair, all but its CQ, and reports whether there is
// one. The driver posts it and calls Posted; if the queue pair does not take it, the driver calls
// Full.
func (s *Sender) Next(wr *rdmap.WorkRequest) bool {
	s.ready = s.next()
	if s.ready == nothing {
		return false
	}
	e := s.slots.next()
	*e = slot{kind: s.ready}
	*wr = rdmap.WorkRequest{ID: s.slots.posted.Tail()}
	if s.ready == writePart {
		s.fillWrite(wr, e)
		return true
	}
	h := Header{Credits: uint16(min(s.owed, maxCount))}
	e.credits, e.control = int(h.Credits), s.owedControl
	body := e.body[:0]
	switch s.ready {
	case sendPending:
		e.chunk, h.FIN = s.pending[0], s.closed && len(s.pending) == 1
	case sendData:
		body = s.write.data[:min(len(s.write.data), s.longest)]
		e.own, e.n = true, len(body)
	case sendOffer:
		h.Kind, body = Offer, appendLength(body, min(len(s.write.data), MaxOffer))
	case endOffer, sendDone:
		h.Kind, body = Done, appendLength(body, s.offer.n)
	case sendCancel:
		h.Kind = Cancel
	case sendGrant:
		h.Kind, body = Grant, s.toGrant.AppendTo(body)
	case sendFIN:
		h.FIN = true
	}
	e.fill(wr, h, body)
	return true
}

// Full notes that the queue pair has not taken the last request. Next gives it out again after the
// next Completed.
func (s *Sender) Full() {
	*s.slots.next() = slot{}
	s.ready, s.full = nothing, true
}

// Posted notes that the queue pair has taken the last request.
func (s *Sender) Posted() {
	e := s.slots.next()
	s.owed -= e.credits
	s.givenBack += e.credits
	if s.ready != writePart {
		s.owedControl = 0
	}
	if s.ready.usesCredit() {
		s.credits--
	}
	switch s.ready {
	case sendPending:
		s.pending = slices.Delete(s.pending, 0, 1)
		s.fin = s.closed && len(s.pending) == 0
	case sendData:
		s.write.take(e.n)
		s.own++
		s.stalled = false
	case sendOffer:
		s.beginOffer()
	case writePart:
		s.write.take(e.n)
		s.offer.n += e.n
		s.offer.left -= e.n
		s.own++
	case endOffer, sendDone, sendCancel:
		s.endOffer(s.slots.posted.Tail())
	case sendGrant:
		s.hasGrant = false
	case sendFIN:
		s.fin = true
	case sendCredits:
		s.greets = false
	}
	s.slots.post()
	s.ready = nothing
}

// usesCredit reports whether the message takes a credit when it is posted. Copied Writes have taken
// their credit before.
func (o output) usesCredit() bool {
	switch o {
	case sendPending, writePart, sendCancel, sendFIN:
		return false
	}
	return true
}

// Completed notes the Completions of requests that Next gave out; there may be none. If the send
// queue was full, Next gives the request out again.
func (s *Sender) Completed(done []rdmap.Completion) {
	s.full = false
	for i := range done {
		d := &done[i]
		e := s.slots.at(d.ID)
		if e.own {
			s.own--
		}
		if errors.Is(d.Err, rdmap.ErrCanceled) {
			s.canceled(e)
		}
		if e.chunk != nil {
			e.chunk.Put()
			s.copies--
		}
		*e = slot{done: true}
	}
	s.slots.retire()
	if s.own == 0 {
		s.write.placed = false
	}
}

// canceled undoes a message that does not go out.
func (s *Sender) canceled(e *slot) {
	s.owed += e.credits
	s.givenBack -= e.credits
	s.owedControl += e.control
	if e.kind.usesCredit() {
		s.credits++
	}
	switch e.kind {
	case sendData:
		s.write.sent -= e.n
	case writePart:
		s.write.sent -= e.n
		s.offer.n -= e.n
	case endOffer:
		s.offer.open = true
	}
}

// Append copies as much of a Write as there is room for. most is the maximum number of messages of
// copied Writes that are not posted; if most is more than 1, at most twice as many are not
// completed. Only the newest of them is shorter than Longest: a message ends where a Write ends
// only if it is posted before the next Write. n is less than len(p) if the Write has to wait: for
// the messages before it to be posted, for credits, or for the end of an offer. The caller tries
// again after Completed, Credit and Posted. A finished stream takes nothing.
func (s *Sender) Append(p []byte, most int) (n int) {
	if s.closed {
		return 0
	}
	if k := len(s.pending); k > 0 && len(p) > 0 {
		if n = s.copy(s.pending[k-1], p); n > 0 {
			s.counts.Combined++
		}
	}
	for n < len(p) && len(s.pending) < most && (most == 1 || s.copies < 2*most) && s.hasRoom() {
		s.stalled = false
		s.credits--
		c := bufpool.GetChunk(HeaderLen + s.longest)
		c.B = c.B[:HeaderLen]
		s.pending = append(s.pending, c)
		s.copies++
		n += s.copy(c, p[n:])
	}
	return n
}

// copy copies as much of p to a message as there is room for.
func (s *Sender) copy(c *bufpool.Chunk, p []byte) (n int) {
	n = min(len(p), HeaderLen+s.longest-len(c.B))
	c.B = append(c.B, p[:n]...)
	return n
}

// Copies returns how many messages of copied Writes are not completed. Each holds memory for the
// longest message.
func (s *Sender) Copies() int { return s.copies }

// hasRoom reports whether a message of copied Writes may be begun. It counts a stall if there are
// no credits.
func (s *Sender) hasRoom() bool {
	switch {
	case s.offer.open: // its end goes first
		return false
	case !s.mayPost(Reserve):
		s.stall()
		return false
	}
	return !s.slots.isFull()
}

// Abandon gives the memory of messages that are not posted back to its pool, because the stream has
// ended. After it, neither Append nor Next may be called.
func (s *Sender) Abandon() {
	for _, c := range s.pending {
		c.Put()
	}
	s.copies -= len(s.pending)
	s.pending = nil
}

// stall notes that data waits for credits, once until data goes out.
func (s *Sender) stall() {
	if !s.stalled {
		s.stalled = true
		s.counts.Stalls++
	}
}

// Finish ends the stream after the data that has been written. Of a long Write under way, only the
// bytes that have been given out are still sent.
func (s *Sender) Finish() { s.closed = true }

// IsFinished reports whether the end of the stream has been posted.
func (s *Sender) IsFinished() bool { return s.fin }

// Greet makes the stream begin with a message that carries neither data nor credits, because the
// peer may be unable to send before it has received something.
func (s *Sender) Greet() { s.greets = true }

// Credit adds n credits that the peer has given back. The error, an ErrStream, says that the peer
// has given back more than it had granted at the start.
func (s *Sender) Credit(n int) error {
	s.credits += n
	if s.credits > s.granted {
		return streamError("%d credits of %d", s.credits, s.granted)
	}
	return nil
}

// GivenBack returns how many credits the peer has been given since the last call, for the Receiver
// to count. They count from when their message is posted, so the peer can use none of them earlier.
// The result is negative if messages were taken back.
func (s *Sender) GivenBack() (n int) {
	n, s.givenBack = s.givenBack, 0
	return n
}

// Freed notes that n buffers are free again whose credits the peer gets back, and that the window
// is now so large. control says that the buffers held a grant or a message with credits only.
func (s *Sender) Freed(n, window int, control bool) {
	s.owed += n
	s.window = window
	if control {
		s.owedControl += n
	}
}

// Answer queues the answer to the peer's offer: memory that the peer may write to, or a refusal if
// h has no length.
func (s *Sender) Answer(h rdmap.Handle) { s.hasGrant, s.toGrant = true, h }
