package rdmap

import (
	"math"
	"sync"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/ring"
)

// A sendQueue holds the posted requests until their Completions, in posting order. In its ring
//
//	Head ≤ sent ≤ next ≤ Tail
//
// are positions. TCP has the messages of the requests before sent. NextMessage has given out the
// messages of the requests before next. A request leaves the ring when it is done and nobody refers
// to its memory.
type sendQueue struct {
	ring  ring.Ring[*sendEntry]
	depth int // the maximum number of requests
	sent  uint64
	next  uint64
	// The requests that await a response. awaited is a position at or before the oldest such
	// request that was given out. outstanding is the number of such requests given out.
	awaited     uint64
	outstanding int
	// early is the number of requests in the ring that Cancel has completed before their turn.
	early int
	// looking is the number of goroutines that keep a position while they do not hold QP.mu.
	looking    int
	requestMSN uint32 // of the last Read or Atomic Request given out; one sequence for both
	atomicID   uint32 // of the last Atomic Request given out
}

// A progress is how far a request's message has come.
type progress uint8

const (
	queued  progress = iota
	given            // by NextMessage: the transmit token's holder refers to its memory
	handed           // TCP has the whole message
	skipped          // the message will never be given out
)

// A sendEntry is one posted request.
type sendEntry struct {
	id         uint64
	cq         *CompletionQueue // nil for the RTR, which has no Completion
	op         WorkOp
	opcode     Opcode
	fence      bool
	unsignaled bool

	remote     Handle   // of a Write or Read
	invalidate ddp.STag // of a Send with Invalidate
	n          uint32   // bytes of payload or sink
	payload    [][]byte // the payload of the message, whatever the operation
	piece      [1][]byte
	header     [AtomicRequestLen]byte // the payload, if that is a header or Immediate Data
	inline     *inlineBuffer          // the memory of payload; nil if the user's

	sink     *ddp.Region // a Read's sink until it is deregistered; also nil if n is 0
	sinkSTag ddp.STag
	sinkTO   uint64
	msn      uint32 // of a Read or Atomic Request
	atomic   AtomicRequest

	progress  progress
	done      bool // status, err and original are final
	completed bool // its Completion was given out before its turn
	status    Status
	err       error
	original  uint64
}

// init leaves room for one more request: see pushRTR.
func (s *sendQueue) init(depth int) { s.depth = min(depth, math.MaxInt-1) }

func (s *sendQueue) at(pos uint64) *sendEntry { return *s.ring.At(pos) }

func (s *sendQueue) isFull() bool { return s.ring.Len() >= s.depth }

// makeRoom frees the places of the requests that Cancel has completed before their turn, and moves
// those behind them. It keeps requests whose messages are being written to TCP, and requests that
// the peer has not answered yet. It reports whether there is room then.
func (s *sendQueue) makeRoom() bool {
	if s.early == 0 || s.looking > 0 {
		return false
	}
	to, sent, next, awaited := s.ring.Head(), s.sent, s.next, s.awaited
	for pos := to; pos < s.ring.Tail(); pos++ {
		e := s.at(pos)
		if !e.completed || !e.done || e.progress == given || e.sink != nil {
			*s.ring.At(to) = e
			to++
			continue
		}
		e.recycle()
		s.early--
		for _, p := range []struct {
			was uint64
			is  *uint64
		}{{sent, &s.sent}, {next, &s.next}, {awaited, &s.awaited}} {
			if pos < p.was {
				*p.is--
			}
		}
	}
	s.ring.Cut(to)
	return !s.isFull()
}

// sendEntries holds the entries that no queue needs. No queue keeps unused ones of its own: an idle
// connection takes less memory, and among many connections the entry that was used last is in the
// CPU's cache.
var sendEntries = sync.Pool{New: func() any { return new(sendEntry) }}

// recycle gives the entry back to sendEntries.
func (e *sendEntry) recycle() {
	*e = sendEntry{}
	sendEntries.Put(e)
}

// setPiece makes b the whole payload of the message.
func (e *sendEntry) setPiece(b []byte) {
	e.piece[0] = b
	e.payload = e.piece[:]
}

// pushRTR appends the Ready to Receive indication. Its message names STag 1, which stands for no
// buffer: nobody checks the STag of a message of length 0, and some peers treat STag 0 specially.
func (s *sendQueue) pushRTR(op WorkOp) {
	s.depth++
	s.push(&WorkRequest{Op: op, Remote: Handle{STag: 1}}, 0, nil, nil, nil)
	s.at(s.ring.Tail() - 1).sinkSTag = 1
}

// isEmpty reports whether no request is left to be given out. It skips requests that never will be.
func (s *sendQueue) isEmpty() bool {
	for s.next < s.ring.Tail() && s.at(s.next).done {
		s.at(s.next).progress = skipped
		s.next++
	}
	return s.next == s.ring.Tail()
}

// isLast reports whether the next request is the one that was posted last.
func (s *sendQueue) isLast() bool { return s.next+1 == s.ring.Tail() }

// waits reports whether a request that has not been given out waits for the answer to an earlier
// one, or will.
func (s *sendQueue) waits(ord int) bool {
	n := s.outstanding
	for pos := s.next; pos < s.ring.Tail(); pos++ {
		e := s.at(pos)
		switch {
		case e.done:
			continue
		case e.fence && n > 0:
			return true
		case e.op.awaitsResponse():
			n++
		}
		if n > ord {
			return true
		}
	}
	return false
}

// oldestAwaited returns the oldest request whose response is outstanding, or nil if there is none.
func (s *sendQueue) oldestAwaited() *sendEntry {
	for s.awaited = max(s.awaited, s.ring.Head()); s.awaited < s.next; s.awaited++ {
		if e := s.at(s.awaited); e.op.awaitsResponse() && !e.done {
			return e
		}
	}
	return nil
}

// endAwaited ends the oldest request whose response is outstanding, if its operation is op, or an
// atomic like op.
func (s *sendQueue) endAwaited(op WorkOp, status Status, err error) {
	if e := s.oldestAwaited(); e != nil && e.op.isAtomic() == op.isAtomic() {
		s.end(e, status, err)
	}
}

// namedBy returns the Read or atomic that the peer's Terminate is about, or nil if it is about
// none. The sink's STag identifies the request more reliably than the MSN: some peers do not return
// the MSN that they received.
func (s *sendQueue) namedBy(t Terminate) *sendEntry {
	if t.Code.kind().layer() != 0 || len(t.DDPHeader) != ddp.UntaggedHeaderLen {
		return nil
	}
	h, _, err := ddp.ParseUntagged(t.DDPHeader)
	if err != nil || h.QN != ddp.QNReadRequest {
		return nil
	}
	for pos := s.ring.Head(); pos < s.next; pos++ {
		e := s.at(pos)
		if e.done || !e.op.awaitsResponse() {
			continue
		}
		if !t.R {
			if e.msn == h.MSN {
				return e
			}
		} else if r, _, err := ParseReadRequest(t.RDMAHeader); err == nil && e.op == WorkRead && e.sinkSTag == r.SinkSTag {
			return e
		}
	}
	return nil
}

// end sets how a request ended, unless the request is already done.
func (s *sendQueue) end(e *sendEntry, status Status, err error) {
	if e.done {
		return
	}
	e.done, e.status, e.err = true, status, err
	if e.op.awaitsResponse() && e.progress != queued {
		s.outstanding--
	}
}

// flush ends every request for which which returns true, with StatusFlushed.
func (s *sendQueue) flush(err error, which func(*sendEntry) bool) {
	for pos := s.ring.Head(); pos < s.ring.Tail(); pos++ {
		if e := s.at(pos); which(e) {
			s.end(e, StatusFlushed, err)
		}
	}
}

func everyRequest(*sendEntry) bool { return true }

// letGo records that nothing refers to the memory of the messages given out.
func (s *sendQueue) letGo() {
	for ; s.sent < s.next; s.sent++ {
		if e := s.at(s.sent); e.progress == given {
			e.progress = handed
		}
	}
}

// flushedSink returns the first request at pos or later that is done and whose sink is still
// registered, and its position. It returns nil if there is none. A caller that continues from the
// last position sees each request once.
func (s *sendQueue) flushedSink(pos uint64) (*sendEntry, uint64) {
	for pos = max(pos, s.ring.Head()); pos < s.ring.Tail(); pos++ {
		if e := s.at(pos); e.done && e.sink != nil {
			return e, pos
		}
	}
	return nil, pos
}
