package bytestream

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/rddp/rddp/rdmap"
)

// The rendezvous moves a long Write from the writer's memory to the reader's by RDMA Write, with no
// copy at either end and no buffer in between:
//
//	writer ── offer: how many bytes ───────────▶ a Read waits, or none
//	       ◀── grant: handle of its memory ─────
//	       ── RDMA Writes, done: how many ─────▶ the Read returns
//
// The receiving side answers an offer at once, without its program: it grants the memory of a Read
// that waits for the next byte, and refuses if none does. So a Write never waits longer than it
// would as data, and two ends that both write first do not wait for each other.
//
// A writer offers one Write at a time and sends no data until it has posted the done or the cancel,
// so there is one offer, one grant, and at most one done or cancel for it. Meanwhile it may still
// send credits, and a grant for an offer of the other end. After a cancel, which a grant may cross,
// the writer offers no more. The Receiver holds the peer to these rules.

// A write is a long Write under way.
type write struct {
	data    []byte // what has not been given out
	sent    int    // bytes given out and not taken back
	givenUp bool   // nothing more is to be given out
	offers  bool   // data is to be offered, as long as the peer grants as much as crossover
	placed  bool   // the done of an offer is posted, and not all of the offer's RDMA Writes are completed
	minimum int    // the crossover
}

// take notes that n more bytes have been given out.
func (w *write) take(n int) {
	w.data = w.data[n:]
	w.sent += n
}

// An offering is the writer's side of the rendezvous.
type offering struct {
	open     bool // an offer is out, and no done or cancel posted
	answered bool
	grant    rdmap.Handle // the answer
	left     int          // bytes of the grant that have not been given out
	n        int          // bytes of the grant that have, from the first one on
	doneID   uint64       // the message of the last done
	counted  int          // bytes of the grant that Counts has
	closing  Kind         // the Write is over: Done or Cancel is to be posted; Data if neither
	off      bool         // no offers any more
	stale    bool         // a grant has come that had crossed a cancel
}

// Post begins a long Write, which is sent from where it is. If crossover is positive and no offer
// has been taken back yet, p is offered to a Read of the peer that waits; when the peer has memory
// for less than crossover bytes, the rest goes as data.
func (s *Sender) Post(p []byte, crossover int) {
	s.write = write{data: p, offers: crossover > 0 && !s.offer.off, minimum: crossover}
}

// MayOffer reports whether Post may still offer anything.
func (s *Sender) MayOffer() bool { return !s.offer.off }

// Write reports whether the long Write is over: everything has been given out, and is completed or
// detached. owns tells whether requests that are posted refer to its memory.
func (s *Sender) Write() (over, owns bool) {
	return s.own == 0 && (s.isGivenOut() || s.write.givenUp), s.own > 0
}

// IsSent reports whether all of the long Write has been given out and completed.
func (s *Sender) IsSent() bool { return s.own == 0 && s.isGivenOut() }

// isGivenOut reports whether Next has given out all of the long Write.
func (s *Sender) isGivenOut() bool {
	return len(s.write.data) == 0 && (!s.offer.open || s.offer.closing != Data)
}

// AsksPeer reports whether the long Write needs the peer to go on, and not only TCP: it has more
// data than credits, or is an offer.
func (s *Sender) AsksPeer() bool {
	w := &s.write
	return !s.isGivenOut() && (w.offers || s.offer.open || len(w.data) > (s.credits-Reserve)*s.longest)
}

// GiveUp makes Next give out nothing more of the long Write. The Write is over when the requests
// that have been given out are completed.
func (s *Sender) GiveUp() { s.write.givenUp = true }

// End ends the long Write and returns how many of its bytes go out.
func (s *Sender) End() (n int) {
	n = s.write.sent
	s.write = write{}
	if o := &s.offer; o.open && o.closing == Data {
		o.off = true
		if o.closing = Cancel; o.n > 0 {
			o.closing = Done
		}
	}
	return n
}

// Posts yields the posted requests of the long Write, the newest first. To take the Write back, the
// driver cancels them in this order until one cannot be canceled, and then calls Completed.
func (s *Sender) Posts() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if s.write.placed && !yield(s.offer.doneID) {
			return
		}
		for id := s.slots.posted.Tail(); id > s.slots.posted.Head(); id-- {
			if s.slots.at(id-1).own && !yield(id-1) {
				return
			}
		}
	}
}

// Detached notes that the requests of the long Write that are still posted no longer refer to the
// Write's memory.
func (s *Sender) Detached() {
	for id := s.slots.posted.Head(); id < s.slots.posted.Tail(); id++ {
		s.slots.at(id).own = false
	}
	s.own = 0
	s.write.placed = false
}

// writeDue says what is to be posted next of the long Write.
func (s *Sender) writeDue() output {
	o, w := &s.offer, &s.write
	switch {
	case s.closed || w.givenUp || o.closing != Data || w.placed:
		return nothing
	case o.open && o.answered && o.left > 0:
		return writePart // uses no credit
	case o.open && !(o.answered && o.left == 0) || !o.open && len(w.data) == 0:
		return nothing
	case !s.mayPost(Reserve):
		s.stall()
		return nothing
	}
	switch {
	case o.open:
		return endOffer
	case w.offers:
		return sendOffer
	}
	return sendData
}

// fillWrite makes wr the next RDMA Write to the grant.
func (s *Sender) fillWrite(wr *rdmap.WorkRequest, e *slot) {
	o := &s.offer
	k := min(o.left, piece)
	e.own, e.n = true, k
	wr.Op, wr.Data = rdmap.WorkWrite, s.write.data[:k]
	wr.Remote = rdmap.Handle{STag: o.grant.STag, TO: o.grant.TO + uint64(o.n), Len: uint32(k)}
}

// beginOffer notes that an offer is posted.
func (s *Sender) beginOffer() {
	o := &s.offer
	o.open, o.answered, o.n, o.counted = true, false, 0, 0
	o.left = min(len(s.write.data), MaxOffer)
	s.counts.Offers++
}

// endOffer notes that the offer's done or cancel is posted.
func (s *Sender) endOffer(id uint64) {
	o, w := &s.offer, &s.write
	w.placed = o.closing == Data && s.own > 0
	if o.n < w.minimum { // the reader does not wait, or not for much
		w.offers = false
	}
	o.open, o.closing, o.doneID = false, Data, id
	if o.n > o.counted { // else this done corrects one that was taken back
		s.counts.Placed += uint64(o.n - o.counted)
		o.counted = o.n
	}
}

// endDue says whether the end of an offer whose Write is over can be posted.
func (o *offering) endDue(s *Sender) output {
	switch {
	case o.closing == Done && s.mayPost(Reserve):
		return sendDone
	case o.closing == Cancel:
		return sendCancel
	}
	return nothing
}

// Granted notes the peer's grant. The error, an ErrStream, says that there was no offer. One grant
// without an offer is allowed: it has crossed the cancel of its offer.
func (s *Sender) Granted(h rdmap.Handle) error {
	o := &s.offer
	switch {
	case o.open && !o.answered && o.closing == Data:
		o.answered, o.grant = true, h
		o.left = int(min(uint64(o.left), uint64(h.Len)))
		if h.Len == 0 { // a refusal
			o.open = false
			s.write.offers = false
		}
	case !o.off || o.stale:
		return streamError("grant without an offer")
	default:
		o.stale = true
	}
	return nil
}

func appendLength(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

func streamError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrStream}, args...)...)
}
