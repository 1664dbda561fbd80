package softrnic

import (
	"bytes"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// A sender turns the work requests of a send queue into requests of the connection, as its sending
// says. The goroutine that holds the queue pair's sendMu owns it. If a work request has to wait,
// the goroutine goes away, and the one that ends the wait kicks the queue pair.
type sender struct {
	sending
	entry []byte // the copy that wr refers to
	at    cursor // the rest of the payload, unless it is inline data
	// patience is how long the peer may be silent
	patience time.Duration
	// serves is how many Reads and atomics the peer serves at a time; 0 if that is not known
	serves int
	// If the program is checked: the last ones with payload, and what was there of those that wait
	recent  []*checkedFlight
	peer    *queuePair       // if it is one of this device
	reads   []*checkedFlight // the last Reads and atomics
	waiting []*seenMemory
}

// forget forgets what is under way.
func (s *sender) forget() { *s = sender{entry: s.entry} }

// A batch is what is posted to a connection at once.
type batch struct {
	wrs []rdmap.WorkRequest
	// memory has the payload of short requests, which are posted as Inline.
	memory []byte
	// frame is the header of the last frame of the batch that counts; nil if there is none.
	frame []byte
}

const (
	// batchLen is the maximum number of requests in a batch, apart from an acknowledgement in front
	// of them, and the frame behind them that asks for one.
	batchLen = 32
	// shortLen is the maximum length in bytes of the payload of a request that is posted as Inline.
	shortLen = 4096
)

var batches = sync.Pool{New: func() any {
	return &batch{wrs: make([]rdmap.WorkRequest, 0, batchLen+2), memory: make([]byte, 0, (batchLen+2)*(shortLen+frameLen))}
}}

// send posts work requests until the queue is empty or they must wait. If begin is false, it only
// goes on with the work request that has begun. A program may post as fast as this end sends. Then
// another goroutine goes on, after those that wait for sendMu.
func (s *sender) send(q *queuePair, l *link, begin bool) {
	b := batches.Get().(*batch)
	defer batches.Put(b)
	more := true
	for left := q.sq.Cap()/batchLen + 1; more && left > 0; left-- {
		b.reset()
		more = s.fill(q, l, b, begin)
		if !begin { // the end of the drain is awaited
			s.awaits()
		}
		s.ask(l, b, more)
		if b.len() == 0 {
			more = false
			break
		}
		if _, err := l.conn.PostBatch(b.all(l)); err != nil {
			more = false // the goroutine that receives gets the error too
		}
	}
	if more {
		q.kickLater()
	}
	clear(b.wrs[:cap(b.wrs)]) // so that the garbage collector may free what they refer to
}

// reset empties the batch. The first place is that of an acknowledgement.
func (b *batch) reset() { b.wrs, b.memory, b.frame = b.wrs[:1], b.memory[:0], nil }

// len returns the number of requests in the batch.
func (b *batch) len() int { return len(b.wrs) - 1 }

// take returns n bytes of the memory.
func (b *batch) take(n int) []byte {
	at := len(b.memory)
	b.memory = b.memory[:at+n]
	return b.memory[at:]
}

// all returns the requests of the batch, behind an acknowledgement if one waits to go out with
// them.
func (b *batch) all(l *link) []rdmap.WorkRequest {
	number, waits := l.receiver.answered()
	if !waits {
		return b.wrs[1:]
	}
	p := frame{kind: frameAck, number: number}.appendTo(b.take(frameLen)[:0])
	b.wrs[0] = rdmap.WorkRequest{Op: rdmap.WorkSend, Data: p, Inline: true, Unsignaled: true}
	return b.wrs
}

// fill fills the batch. It returns true if there is more to send right now.
func (s *sender) fill(q *queuePair, l *link, b *batch, begin bool) bool {
	for b.len() < batchLen {
		if begin && !s.active {
			q.checkAhead() // +checklocksignore: as all of a sender
		}
		if p := s.decide(q, l, begin); !s.post(l, b, p) {
			return false
		}
	}
	return true
}

// decide returns the next piece. If no work request has begun, it takes one from the ring.
func (s *sender) decide(q *queuePair, l *link, begin bool) (p piece) {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if s.serves = l.out.serves; !s.active {
		if !begin || !l.out.mayBegin() || !s.take(q) {
			return p
		}
		begun := s.begins(&l.out)
		if l.out.indebted && !l.q.agenda.has(alarmOwnWork) {
			l.alarmLocked(alarmOwnWork, ownWork)
		}
		if l.watchLocked(s.patience); !begun {
			l.q.checkBegun(s.flight, s.flight.noDepth)
			l.retireLocked()
			return p
		}
	}
	return s.next(&l.out)
}

// take copies an entry from the ring and checks it: see sending.takes. It returns false if the ring
// is empty.
func (s *sender) take(q *queuePair) bool {
	if s.entry == nil {
		s.entry = make([]byte, q.sq.EntryLen())
	}
	slot, _ := q.sq.Span()
	if !q.takeFromRing(s.entry) {
		return false
	}
	w, err := uverbs.ParseSendWR(s.entry)
	s.takes(w, err, q.kind, q.signalAll)
	q.checkPosted(s, slot)
	q.traceTaken(s.flight, &s.wr)
	s.at = cursor{pd: q.pd, list: w.SGEs, posted: s.flight.postedAt()}
	if s.flight.isRead { // the memory of the entry is used for another work request before the answer comes
		s.flight.sink = cursor{pd: q.pd, list: bytes.Clone(w.SGEs), posted: s.flight.postedAt()}
	}
	return true
}

// post adds a piece to the batch. It returns false if that must wait, or if the work request has
// failed.
func (s *sender) post(l *link, b *batch, p piece) bool {
	r, header := rdmap.WorkRequest{Remote: s.remote()}, 0
	switch p.kind {
	case pieceNone:
		return false
	case pieceLocal:
		return s.alone(l)
	case pieceWrite:
		r.Op = rdmap.WorkWrite
	case pieceSend, pieceFrame:
		r.Op, r.Remote, header = rdmap.WorkSend, rdmap.Handle{}, frameLen
	case pieceMessage:
		r.Op, r.Remote, r.Solicited = rdmap.WorkSend, rdmap.Handle{}, s.solicited() != 0
		if s.wr.Op == uverbs.OpSendInval {
			r.Op, r.Invalidate = rdmap.WorkSendInvalidate, ddp.STag(s.wr.InvalidateKey())
		}
	case pieceRead:
		r.Op = rdmap.WorkRead
	case pieceAtomic:
		r.Op, r.Operand = rdmap.WorkFetchAdd, s.wr.Operand
		if s.wr.Op == uverbs.OpCmpSwap {
			r.Op, r.Compare, r.Operand = rdmap.WorkCmpSwap, s.wr.Operand, s.wr.Swap
		}
	}
	if !s.buffer(l, b, p, header, &r) {
		return false
	}
	if p.kind < pieceRead && p.kind != pieceFrame {
		if s.done == 0 {
			s.flight.checkBegins()
		}
		if err := s.payload(r.Data[header:]); err != nil {
			return s.wrong(l, err)
		}
	}
	if header > 0 {
		p.frame.appendTo(r.Data[:0])
		b.frame = r.Data[:header]
	}
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	s.sent(&l.out, p)
	b.wrs = append(b.wrs, r)
	return true
}

// buffer gives r memory for the payload of p behind a header. Short requests use the batch's
// memory; for others there may be none, and buffer returns false. If the end of r matters to a
// flight, or its memory is a chunk's, r has the ID of a chunk, and a Completion.
func (s *sender) buffer(l *link, b *batch, p piece, header int, r *rdmap.WorkRequest) bool {
	n, waits := header+int(p.n), (*flight)(nil)
	if s.flight.isRead {
		waits = s.flight
	}
	if r.Inline = p.kind < pieceRead && p.n <= shortLen; r.Inline {
		r.Data = b.take(n)
		r.Inline, r.Unsignaled = n > 0, waits == nil
		if r.Unsignaled {
			return true
		}
		n = 0
	}
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	id, c := l.newChunkLocked(n, waits)
	if c == nil {
		return false
	}
	r.ID = id
	switch {
	case r.Data != nil || p.kind == pieceAtomic:
	case c.b == nil:
		c.from, r.Sink, r.SinkLen = s.done, c, p.n
	default:
		c.from, r.Data = s.done, c.b[:n]
	}
	return true
}

// payload copies the next len(p) bytes of the payload.
func (s *sender) payload(p []byte) error {
	if s.wr.Flags&uverbs.Inline != 0 {
		copy(p, s.wr.SGEs[s.done:])
		return nil
	}
	return s.at.gather(p)
}

// wrong fails the work request.
func (s *sender) wrong(l *link, err error) bool {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	s.fails(&l.out, localStatus(err), err.Error())
	l.retireLocked()
	return false
}

// alone carries out a work request of this end alone. A window belongs to the connection on which
// the peer's requests come.
func (s *sender) alone(l *link) bool {
	var err error
	if s.wr.Op == uverbs.OpBindMW {
		err = s.at.pd.bind(&s.wr.Bind, l.serving.QPNum())
	} else {
		err = s.at.pd.invalidate(s.wr.InvalidateKey())
	}
	if err != nil {
		return s.wrong(l, err)
	}
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	s.ends()
	l.retireLocked()
	return true
}

// ask asks for an acknowledgement if one is due.
func (s *sender) ask(l *link, b *batch, more bool) {
	l.q.mu.Lock()
	a := s.asks(&l.out, b.frame != nil, more)
	l.q.mu.Unlock()
	if a == askProbe {
		b.frame = frame{kind: frameProbe}.appendTo(b.take(frameLen)[:0])
		b.wrs = append(b.wrs, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: b.frame, Inline: true, Unsignaled: true})
	}
	if a != askNot && b.frame != nil {
		b.frame[1] |= byte(flagAck)
	}
}
