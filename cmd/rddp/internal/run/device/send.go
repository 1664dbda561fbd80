package device

import (
	"bytes"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// A sender turns the work requests of a send queue into requests of the connection. The goroutine
// that holds the queue pair's sendMu owns it.
//
// A long work request takes several steps, and may have to wait between them: for the window, or
// for a buffer. The goroutine goes away then, and the one that ends the wait kicks the queue pair.
type sender struct {
	active bool // wr is not done
	wr     uverbs.SendWR
	entry  []byte // the copy that wr refers to
	flight *flight
	at     cursor // what comes next of the payload; of inline data nothing
	done   uint32 // bytes of the payload
	first  bool   // nothing of wr has been posted

	// flights of Writes that no frame follows yet
	unnumbered []*flight
	// since the last frame that asked for an acknowledgement: flights, frames, and whether the
	// program waits for one of them
	flights, frames int
	awaited         bool
	// depth is the maximum number of Reads and atomics under way, and patience how long the peer
	// may be silent
	depth    int
	patience time.Duration
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
	// batchLen is the maximum number of requests in a batch, but for an acknowledgement in front of
	// them, and the frame behind them that asks for one.
	batchLen = 32
	// shortLen is the maximum length in bytes of the payload of a request that is posted as Inline.
	shortLen = 4096
)

var batches = sync.Pool{New: func() any {
	return &batch{wrs: make([]rdmap.WorkRequest, 0, batchLen+2), memory: make([]byte, 0, (batchLen+2)*(shortLen+frameLen))}
}}

// send posts work requests until the queue is empty or they must wait. If begin is false, it only
// goes on with the one that has begun. A program may post as fast as this end sends; then another
// goroutine goes on, and whoever waits for sendMu has a turn.
func (s *sender) send(q *queuePair, l *link, begin bool) {
	b := batches.Get().(*batch)
	defer batches.Put(b)
	more := true
	for left := q.sq.Cap()/batchLen + 1; more && left > 0; left-- {
		b.reset()
		more = s.fill(q, l, b, begin)
		if !begin { // the end of the drain is awaited, whether the program waits for a completion or not
			s.awaited = s.awaited || s.flights > 0 || s.frames > 0 || len(s.unnumbered) > 0
		}
		if !l.plain {
			s.ask(l, b, more)
		}
		if b.len() == 0 {
			more = false
			break
		}
		if _, err := l.conn.PostBatch(b.all(l)); err != nil {
			more = false // the goroutine that receives gets the error too
		}
	}
	if more {
		go q.kick()
	}
	clear(b.wrs[:cap(b.wrs)]) // so that the garbage collector may free what they refer to
}

// reset empties the batch. The first place is that of an acknowledgement.
func (b *batch) reset() { b.wrs, b.memory, b.frame = b.wrs[:1], b.memory[:0], nil }

// len returns the number of requests in the batch.
func (b *batch) len() int { return len(b.wrs) - 1 }

// all returns the requests of the batch, behind an acknowledgement if one waits for them.
func (b *batch) all(l *link) []rdmap.WorkRequest {
	number, waits := l.receiver.answered()
	if !waits {
		return b.wrs[1:]
	}
	at := len(b.memory)
	b.memory = frame{kind: frameAck, number: number}.appendTo(b.memory)
	b.wrs[0] = rdmap.WorkRequest{Op: rdmap.WorkSend, Data: b.memory[at:], Inline: true, Unsignaled: true}
	return b.wrs
}

// fill fills the batch. It returns true if there is more to send right now.
func (s *sender) fill(q *queuePair, l *link, b *batch, begin bool) bool {
	for b.len() < batchLen {
		if !s.active && (!begin || !s.next(q, l)) || !s.step(l, b) {
			return false
		}
	}
	return true
}

// next takes the next work request from the ring.
func (s *sender) next(q *queuePair, l *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.out.mayBegin() || !s.take(q) {
		return false
	}
	s.checkDepth(l)
	l.out.begins(s.flight)
	if l.begun != nil {
		close(l.begun)
		l.begun = nil
	}
	l.watchLocked(s.patience)
	if s.flight.status != uverbs.Success {
		s.awaited = true // it completes behind those in front of it, which may be unsignaled
		l.retireLocked()
		return false
	}
	s.active = true
	s.flights++
	s.awaited = s.awaited || s.flight.signaled
	return true
}

// checkDepth fails a Read or an atomic that could never begin. A plain connection has its own rule.
func (s *sender) checkDepth(l *link) {
	f := s.flight
	switch {
	case l.plain || !isRead(s.wr.Op) || f.status != uverbs.Success:
	case s.depth == 0:
		f.status, f.why = uverbs.LocalQPErr, "a Read or an atomic, and max_rd_atomic of the queue pair is 0"
	case l.serves == 0: // a NIC would send it, and hear that the request is invalid
		f.status, f.why = uverbs.RemoteInvalidErr, "a Read or an atomic, and max_dest_rd_atomic of the peer's queue pair is 0"
	}
}

// mayRead reports whether as few Reads and atomics are under way that another one may begin.
func (s *sender) mayRead(l *link) bool {
	if !s.first {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.mayRead(s.depth)
}

// take copies an entry from the ring and checks it. The flight has the status of an entry that is
// wrong. It returns false if the ring is empty.
func (s *sender) take(q *queuePair) bool {
	if s.entry == nil {
		s.entry = make([]byte, q.sq.EntryLen())
	}
	if !q.sq.Take(s.entry) {
		return false
	}
	var err error
	s.wr, err = uverbs.ParseSendWR(s.entry)
	w := &s.wr
	n := uint64(w.Len)
	if w.Flags&uverbs.Inline == 0 {
		n = total(w.SGEs)
	}
	s.flight = &flight{
		id: w.ID, op: uverbs.WCOpOf(w.Op), n: uint32(n), signaled: q.signalAll || w.Flags&uverbs.Signaled != 0, isRead: isRead(w.Op) || isLocal(w.Op),
		isWrite: w.Op == uverbs.OpWrite || w.Op == uverbs.OpAtomicWrite,
		writes:  w.Op == uverbs.OpWrite || w.Op == uverbs.OpAtomicWrite || w.Op == uverbs.OpWriteImm,
	}
	s.at, s.done, s.first = cursor{pd: q.pd, list: w.SGEs}, 0, true
	s.flight.remote = s.remote()
	switch {
	case err != nil || !known(w.Op, q.kind) || s.flight.isRead && w.Flags&uverbs.Inline != 0:
		s.flight.status = uverbs.LocalQPErr
	case w.Op == uverbs.OpAtomicWrite && w.Addr%8 != 0: // a NIC would send it, and hear that the request is invalid
		s.flight.status, s.flight.why = uverbs.RemoteInvalidErr, "an atomic Write of a word that is not aligned"
	case isLocal(w.Op):
		s.flight.n = 0
	case n > uverbs.MaxMessage, isAtomic(w.Op) && n < 8:
		s.flight.status = uverbs.LocalLengthErr
	}
	if s.flight.isRead { // the entry is that of another work request before the answer comes
		s.flight.sink = cursor{pd: q.pd, list: bytes.Clone(w.SGEs)}
	}
	if isAtomic(w.Op) {
		s.flight.n = 8
	}
	return true
}

// isLocal reports whether the operation is this end's alone.
func isLocal(o uverbs.SendOp) bool { return o == uverbs.OpBindMW || o == uverbs.OpLocalInv }

func isAtomic(o uverbs.SendOp) bool { return o == uverbs.OpCmpSwap || o == uverbs.OpFetchAdd }
func isRead(o uverbs.SendOp) bool   { return o == uverbs.OpRead || isAtomic(o) }

// known reports whether the device has the operation for queue pairs of a type.
func known(o uverbs.SendOp, t uverbs.QPType) bool {
	if t == uverbs.UC && (isRead(o) || o == uverbs.OpSendInval || o == uverbs.OpAtomicWrite) {
		return false // these have answers, or need one to be safe
	}
	return o <= uverbs.OpSendInval || o == uverbs.OpAtomicWrite
}

// step posts the next piece of the work request. It returns false if that must wait.
func (s *sender) step(l *link, b *batch) bool {
	if l.plain {
		return s.plainStep(l, b)
	}
	switch s.wr.Op {
	case uverbs.OpWrite, uverbs.OpWriteImm, uverbs.OpAtomicWrite:
		// 8 bytes are one segment, and the kernel copies an aligned word at once.
		return s.isInOrder(l) && s.write(l, b)
	case uverbs.OpRead:
		return s.isInOrder(l) && s.mayRead(l) && s.read(l, b)
	case uverbs.OpCmpSwap, uverbs.OpFetchAdd:
		return s.isInOrder(l) && s.mayRead(l) && s.atomic(l, b)
	case uverbs.OpBindMW:
		return s.local(l, s.at.pd.bind(&s.wr.Bind, l.serving.QPNum()))
	case uverbs.OpLocalInv:
		return s.local(l, s.at.pd.invalidate(s.wr.InvalidateKey()))
	}
	return s.message(l, b)
}

// isInOrder reports whether the work request may begin, or has begun: see outgoing.isInOrder.
func (s *sender) isInOrder(l *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !s.first || l.out.isInOrder(s.flight)
}

// buffer returns memory for n bytes of payload behind a header of the given length. short requests
// use the batch's memory; for others there may be no chunk, and ok is false.
func (s *sender) buffer(l *link, b *batch, header, n int) (p []byte, id uint64, ok bool) {
	if n <= shortLen {
		at := len(b.memory)
		b.memory = b.memory[:at+header+n]
		return b.memory[at:], 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id, c := l.newChunkLocked(header+n, nil)
	if c == nil {
		return nil, 0, false
	}
	return c.b[:header+n], id, true
}

// payload copies the next len(p) bytes of the payload. If that fails, the flight has failed.
func (s *sender) payload(l *link, p []byte) bool {
	var err error
	if s.wr.Flags&uverbs.Inline != 0 {
		copy(p, s.wr.SGEs[s.done:])
	} else {
		err = s.at.gather(p)
	}
	s.done += uint32(len(p))
	if err == nil {
		return true
	}
	s.active, s.awaited = false, true // as in next
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.breaks(s.flight, localStatus(err), "")
	l.retireLocked()
	return false
}

// add adds a request to the batch. id is that of its chunk, or 0.
func (s *sender) add(b *batch, r rdmap.WorkRequest, id uint64) {
	r.ID, r.Fence = id, s.first && s.wr.Flags&uverbs.Fence != 0
	if id == 0 {
		r.Inline, r.Unsignaled = len(r.Data) > 0, true
	}
	b.wrs = append(b.wrs, r)
	s.first = false
}

// remote returns the peer's memory at the place that s has come to.
func (s *sender) remote() rdmap.Handle {
	return rdmap.Handle{STag: ddp.STag(s.wr.RKey), TO: s.wr.Addr + uint64(s.done)}
}

// write posts a piece of a Write. A Write with immediate data has a frame behind it.
func (s *sender) write(l *link, b *batch) bool {
	n := min(s.flight.n-s.done, chunkLen)
	if n > 0 || s.first {
		to := s.remote()
		p, id, ok := s.buffer(l, b, 0, int(n))
		if !ok || !s.payload(l, p) {
			return false
		}
		s.add(b, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: p, Remote: to}, id)
		if s.done < s.flight.n {
			return true
		}
	}
	if s.wr.Op == uverbs.OpWriteImm {
		if !l.mayNumber() {
			return false
		}
		s.unnumber()
		s.frame(l, b, frame{kind: frameWritten, flags: flagImmediate | s.solicited(), immediate: s.wr.Immediate, length: s.flight.n}, nil, 0)
	} else {
		s.unnumber()
	}
	s.active = false
	return true
}

// unnumber notes that the next frame ends the flight.
func (s *sender) unnumber() {
	if n := len(s.unnumbered); n == 0 || s.unnumbered[n-1] != s.flight {
		s.unnumbered = append(s.unnumbered, s.flight)
	}
}

func (s *sender) solicited() frameFlags {
	if s.wr.Flags&uverbs.Solicited != 0 {
		return flagSolicited
	}
	return 0
}

// message posts a piece of a Send.
func (s *sender) message(l *link, b *batch) bool {
	if !l.mayNumber() {
		return false
	}
	f := frame{kind: frameSend, flags: s.solicited(), immediate: s.wr.Immediate}
	n := min(s.flight.n-s.done, maxPiece)
	f.length = n
	if s.done == 0 {
		f.flags |= flagFirst
	}
	p, id, ok := s.buffer(l, b, frameLen, int(n))
	if !ok || !s.payload(l, p[frameLen:]) {
		return false
	}
	if s.done == s.flight.n {
		f.flags |= flagLast
		switch s.wr.Op {
		case uverbs.OpSendImm:
			f.flags |= flagImmediate
		case uverbs.OpSendInval:
			f.flags |= flagInvalidate
		}
		s.unnumber()
		s.active = false
	}
	s.frame(l, b, f, p, id)
	return true
}

// frame posts a frame that counts, for which the window has room. p has room for the header; if it
// is nil, the frame has no payload.
func (s *sender) frame(l *link, b *batch, f frame, p []byte, id uint64) {
	if p == nil {
		at := len(b.memory)
		b.memory = b.memory[:at+frameLen]
		p = b.memory[at:]
	}
	f.appendTo(p[:0])
	l.mu.Lock()
	l.out.numbers(f.kind, s.unnumbered)
	clear(s.unnumbered)
	s.unnumbered = s.unnumbered[:0]
	l.mu.Unlock()
	s.frames++
	b.frame = p[:frameLen]
	s.add(b, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: p}, id)
}

// mayNumber reports whether the window has room for another frame.
func (l *link) mayNumber() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.mayNumber()
}

// ask asks for an acknowledgement if one is due: because the program waits for a completion and has
// posted nothing more, or because much is outstanding.
func (s *sender) ask(l *link, b *batch, more bool) {
	due := s.flights >= askEvery || s.frames >= window/2 || !more && (s.awaited || s.active)
	if !due {
		return
	}
	if len(s.unnumbered) > 0 || s.frames > 0 && b.frame == nil {
		if !l.mayNumber() {
			return // a frame of the window asks already, and its acknowledgement leads back here
		}
		first := s.first
		s.first = false // the fence of a work request that has not begun is not the frame's
		s.frame(l, b, frame{kind: frameProbe}, nil, 0)
		s.first = first
	}
	if b.frame != nil {
		b.frame[1] |= byte(flagAck)
	}
	s.flights, s.frames, s.awaited = 0, 0, s.active && s.flight.signaled
}

// read posts a piece of a Read.
func (s *sender) read(l *link, b *batch) bool {
	n := min(s.flight.n-s.done, chunkLen)
	l.mu.Lock()
	defer l.mu.Unlock()
	id, c := l.newChunkLocked(int(n), s.flight)
	if c == nil {
		return false
	}
	s.flight.awaits++
	s.add(b, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: c.b[:n], Remote: s.remote()}, id)
	s.done += n
	if s.done == s.flight.n {
		s.flight.posted = true
		s.active = false
	}
	return true
}

// atomic posts an atomic.
func (s *sender) atomic(l *link, b *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ := l.newChunkLocked(8, s.flight)
	r := rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: s.wr.Operand, Remote: s.remote()}
	if s.wr.Op == uverbs.OpCmpSwap {
		r.Op, r.Compare, r.Operand = rdmap.WorkCmpSwap, s.wr.Operand, s.wr.Swap
	}
	s.flight.awaits, s.flight.posted = 1, true
	s.add(b, r, id)
	s.active = false
	return true
}

// local ends a work request that this end has carried out alone, or failed to.
func (s *sender) local(l *link, err error) bool {
	s.active = false
	l.mu.Lock()
	defer l.mu.Unlock()
	s.flight.posted = true
	if err != nil {
		s.awaited = true // as in next
		l.out.breaks(s.flight, localStatus(err), "")
	}
	l.retireLocked()
	return err == nil
}
