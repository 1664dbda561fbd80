package softrnic

import (
	"fmt"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/shm"
	"github.com/rddp/rddp/rdmap"
)

// A sending decides which part of the work requests of a send queue goes out next. It is a value
// without lock, goroutine or clock, as a life is.
//
// A long work request goes out in pieces, and may have to wait between them: for the window, or for
// a buffer.
type sending struct {
	active bool // wr is not done
	wr     uverbs.SendWR
	flight *flight
	done   uint32 // bytes of the payload that have been posted
	first  bool   // nothing of wr has been posted

	// flights of Writes that no frame follows yet
	unnumbered []*flight
	// since the last frame that asked for an acknowledgement: flights, frames, and whether the
	// program waits for one of them
	flights, frames int
	awaited         bool
	// depth is the maximum number of Reads and atomics under way.
	depth int
	// strict says that Reads beyond what the peer serves are refused, as by a card, and do not wait
	strict bool
}

const (
	// askEvery is how many flights there are before the sender asks for an acknowledgement that the
	// program does not wait for.
	askEvery = 32
	// chunkLen is the maximum length in bytes of an RDMA Write or Read on the wire, and of a piece
	// of a Send with its header. It bounds the memory that a link needs. See shm.ParcelLen.
	chunkLen = shm.ParcelLen
	// maxDatagram is the maximum length in bytes of a datagram's payload: the MTU of the port.
	maxDatagram = 4096
)

// A pieceKind says what goes out.
type pieceKind uint8

const (
	pieceNone    pieceKind = iota // nothing, for now
	pieceWrite                    // an RDMA Write
	pieceSend                     // a frame with payload
	pieceFrame                    // a frame without
	pieceMessage                  // a Send as it is, on a connection without frames
	pieceRead                     // an RDMA Read
	pieceAtomic                   // an atomic operation
	pieceLocal                    // nothing: this end carries it out alone
)

// A piece is what goes out of a work request at once.
type piece struct {
	kind  pieceKind
	last  bool   // nothing of the work request follows
	n     uint32 // bytes of payload
	frame frame
}

// takes is the event that w comes from the queue; err is the error of its parsing. If the work
// request is wrong, its flight gets a status that says so.
func (s *sending) takes(w uverbs.SendWR, err error, kind uverbs.QPType, signalAll bool) {
	n := uint64(w.Len)
	if w.Flags&uverbs.Inline == 0 {
		n = total(w.SGEs)
	}
	f := &flight{
		id: w.ID, op: w.Op, n: uint32(n), signaled: signalAll || w.Flags&uverbs.Signaled != 0, isRead: isRead(w.Op) || isLocal(w.Op),
	}
	s.wr, s.flight, s.done, s.first = w, f, 0, true
	f.remote = s.remote()
	switch {
	case err != nil || !known(w.Op, kind) || f.isRead && w.Flags&uverbs.Inline != 0:
		f.status, f.why = uverbs.LocalQPErr, "the device does not have this operation for such a queue pair, or its entry in the queue is wrong"
	case w.Op == uverbs.OpAtomicWrite && w.Addr%8 != 0: // a NIC would send it, and learn that the request is invalid
		f.status, f.why = uverbs.RemoteInvalidErr, "an atomic Write of a word that is not aligned"
	case isLocal(w.Op):
		f.n = 0
	case n > uverbs.MaxMessage, kind == uverbs.UD && n > maxDatagram, isAtomic(w.Op) && n < 8:
		f.status, f.why = uverbs.LocalLengthErr, fmt.Sprintf("its list has %d bytes", n)
	}
	if isAtomic(w.Op) {
		f.n = 8
	}
}

// isLocal reports whether the operation is one of this end alone.
func isLocal(o uverbs.SendOp) bool { return o == uverbs.OpBindMW || o == uverbs.OpLocalInv }

func isAtomic(o uverbs.SendOp) bool { return o == uverbs.OpCmpSwap || o == uverbs.OpFetchAdd }
func isRead(o uverbs.SendOp) bool   { return o == uverbs.OpRead || isAtomic(o) }

// known reports whether the device has the operation for queue pairs of a type.
func known(o uverbs.SendOp, t uverbs.QPType) bool {
	switch {
	case t == uverbs.UD:
		return o == uverbs.OpSend || o == uverbs.OpSendImm
	case t == uverbs.UC && (isRead(o) || o == uverbs.OpSendInval || o == uverbs.OpAtomicWrite):
		return false // these have answers, or need one to be safe
	}
	return o <= uverbs.OpSendInval || o == uverbs.OpAtomicWrite
}

// isPlain reports whether RFC 5040 has the operation.
func isPlain(o uverbs.SendOp) bool {
	switch o {
	case uverbs.OpWrite, uverbs.OpAtomicWrite, uverbs.OpSend, uverbs.OpSendInval, uverbs.OpRead:
		return true
	}
	return isLocal(o)
}

// begins is the event that the work request that was taken begins on a link. It returns false if it
// has failed.
func (s *sending) begins(o *outgoing) bool {
	f := s.flight
	switch reads := isRead(s.wr.Op); {
	case f.status != uverbs.Success:
	case o.kind == linkPlain && (!isPlain(s.wr.Op) || reads && o.serves == 0):
		f.status, f.why = uverbs.LocalQPErr, "a connection to an RNIC does not have this operation"
	case o.kind == linkPlain || !reads:
	case s.depth == 0:
		f.lacksDepth(uverbs.LocalQPErr, "a Read or an atomic, and max_rd_atomic of the queue pair is 0")
	case o.serves == 0: // a NIC would send it, and learn that the request is invalid
		f.lacksDepth(uverbs.RemoteInvalidErr, "a Read or an atomic, and max_dest_rd_atomic of the peer's queue pair is 0")
	case s.strict && s.depth > o.serves && !o.mayRead(o.serves):
		f.lacksDepth(uverbs.RemoteInvalidErr, fmt.Sprintf("more Reads and atomics are under way than max_dest_rd_atomic of the peer's queue pair, %d", o.serves))
	}
	f.isRead = f.isRead || o.kind == linkPlain // it ends with the Completions of its pieces
	if o.begins(f); f.status != uverbs.Success {
		s.awaited = true // it completes behind those in front of it, which may be unsignaled
		return false
	}
	s.active = true
	s.flights++
	s.awaited = s.awaited || f.signaled
	return true
}

// next returns the next piece of the work request. Once it has left, sent must be called.
func (s *sending) next(o *outgoing) piece {
	f, op, left := s.flight, s.wr.Op, s.flight.n-s.done
	var p piece
	switch {
	case s.first && s.wr.Flags&uverbs.Fence != 0 && o.isReading(): // its payload may be what a Read brings
	case isLocal(op):
		p.kind, p.last = pieceLocal, true
	case o.kind == linkPlain && !isRead(op) && !f.isWrite():
		p.kind, p.n, p.last = pieceMessage, f.n, true
	case !isRead(op) && !f.writes():
		return s.nextOfSend(o, p)
	case s.first && !o.isInOrder(f), s.first && isRead(op) && o.kind != linkPlain && !o.mayRead(s.depth):
	case isAtomic(op):
		p.kind, p.n, p.last = pieceAtomic, 8, true
	case isRead(op):
		p.kind, p.n = pieceRead, min(left, chunkLen)
		p.last = p.n == left
	case left > 0 || s.first: // 8 bytes are one segment, and the kernel copies an aligned word at once
		p.kind, p.n = pieceWrite, min(left, chunkLen)
		p.last = p.n == left && f.isWrite()
	case o.mayNumber():
		p.kind, p.last = pieceFrame, true
		p.frame = frame{kind: frameWritten, flags: flagImmediate | s.solicited(), immediate: s.wr.Immediate, length: f.n}
	}
	return p
}

// nextOfSend returns the next piece of a Send.
func (s *sending) nextOfSend(o *outgoing, p piece) piece {
	if !o.mayNumber() {
		return p
	}
	left := s.flight.n - s.done
	p.kind, p.n = pieceSend, min(left, chunkLen-frameLen)
	p.last = p.n == left
	p.frame = frame{kind: frameSend, flags: s.solicited(), immediate: s.wr.Immediate, length: p.n}
	if s.first {
		p.frame.flags |= flagFirst
	}
	if p.last {
		p.frame.flags |= flagLast
		switch s.wr.Op {
		case uverbs.OpSendImm:
			p.frame.flags |= flagImmediate
		case uverbs.OpSendInval:
			p.frame.flags |= flagInvalidate
		}
	}
	return p
}

func (s *sending) solicited() frameFlags {
	if s.wr.Flags&uverbs.Solicited != 0 {
		return flagSolicited
	}
	return 0
}

// sent is the event that a piece goes out.
func (s *sending) sent(o *outgoing, p piece) {
	f := s.flight
	s.done += p.n
	s.first = false
	switch {
	case f.isRead:
		f.awaits++
		f.posted = p.last
	case p.last: // the next frame ends it
		s.unnumbered = append(s.unnumbered, f)
	}
	if p.kind == pieceSend || p.kind == pieceFrame {
		s.numbers(o, p.frame.kind)
	}
	s.active = !p.last
}

// numbers is the event that a frame that counts goes out.
func (s *sending) numbers(o *outgoing, kind frameType) {
	o.numbers(kind, s.unnumbered)
	clear(s.unnumbered)
	s.unnumbered = s.unnumbered[:0]
	s.frames++
}

// fails is the event that the work request fails at this end.
func (s *sending) fails(o *outgoing, status uverbs.WCStatus, why string) {
	s.active, s.awaited = false, true // as in begins
	o.breaks(s.flight, status, why)
}

// ends is the event that this end has carried out the work request alone.
func (s *sending) ends() { s.active, s.flight.posted = false, true }

// An asking says how a batch asks for an acknowledgement.
type asking uint8

const (
	askNot   asking = iota // it does not
	askLast                // its last frame does, if it has one
	askProbe               // a frame of its own does, behind the others
)

// asks is the event that a batch of pieces goes out. It asks for an acknowledgement if one is due:
// because the program waits for a completion and has posted nothing more, or because much is
// outstanding. framed says that the batch has a frame that counts, and more that another batch
// follows at once.
func (s *sending) asks(o *outgoing, framed, more bool) (a asking) {
	due := s.flights >= askEvery || s.frames >= window/2 || !more && (s.awaited || s.active)
	if o.kind == linkPlain || !due {
		return askNot
	}
	a = askLast
	if len(s.unnumbered) > 0 || s.frames > 0 && !framed {
		if !o.mayNumber() {
			return askNot // a frame of the window asks already, and its acknowledgement leads back here
		}
		s.numbers(o, frameProbe)
		a = askProbe
	}
	s.flights, s.frames, s.awaited = 0, 0, s.active && s.flight.signaled
	return a
}

// awaits is the event that everything that has gone out is awaited, whether the program waits for a
// completion or not.
func (s *sending) awaits() {
	s.awaited = s.awaited || s.flights > 0 || s.frames > 0 || len(s.unnumbered) > 0
}

// remote returns the place in the peer's memory that s has reached.
func (s *sending) remote() rdmap.Handle {
	return rdmap.Handle{STag: ddp.STag(s.wr.RKey), TO: s.wr.Addr + uint64(s.done)}
}
