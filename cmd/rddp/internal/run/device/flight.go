package device

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// A flight is a work request on its way.
type flight struct {
	id       uint64
	op       uverbs.WCOp
	n        uint32
	signaled bool
	// isWrite says that the flight is a Write without immediate data: the peer's program takes no part in it.
	isWrite bool
	writes  bool         // it has a Write, with or without immediate data
	remote  rdmap.Handle // where it begins in the peer's memory
	// number is that of the frame with whose acknowledgement the flight is over, once it is known.
	number   uint32
	numbered bool
	// awaits is the number of answers to Reads and atomics that have not come, and posted says that
	// all questions have been asked. What this end does alone has no question. Other flights have
	// neither.
	isRead bool
	awaits int
	posted bool
	sink   cursor
	// status is not Success if the flight has failed here, and why says more about it, if there is more to say.
	status uverbs.WCStatus
	why    string
}

const (
	// window is the maximum number of frames that count and are not acknowledged.
	window = 32
	// askEvery is how many flights there are before the sender asks for an acknowledgement that
	// nobody waits for.
	askEvery = 32
	// maxFlights is the maximum number of flights.
	maxFlights = 128
	// maxChunks is the maximum number of chunks of a link.
	maxChunks = 8
	// chunkLen is the maximum length in bytes of an RDMA Write or Read on the wire. It bounds the
	// memory that a link needs.
	chunkLen = 128 << 10
	// depth is the depth of the queues of the connection: as many requests as all that can be
	// outstanding.
	depth = 4*maxFlights + 4*window + maxChunks
)

// chunks are buffers for payload that is on its way between TCP and a program.
var chunks = sync.Pool{New: func() any { return &chunk{b: make([]byte, chunkLen)} }}

// A chunk is a buffer, and what its work request was for.
type chunk struct {
	b      []byte
	n      int
	flight *flight // of a Read or atomic; nil if the buffer is all that the completion ends
}

// complete takes the Completions of the connection until it ends.
func (l *link) complete() {
	defer l.q.ctx.dev.work.Done()
	defer close(l.drained)
	var done [64]rdmap.Completion
	for {
		n, err := l.conn.SendCQ().WaitBatch(l.ctx, done[:], false)
		if err != nil {
			return
		}
		more := false
		for _, c := range done[:n] {
			more = l.completed(&c) || more
		}
		if more {
			l.q.kick()
		}
	}
}

// completed handles one Completion. It reports whether the send queue may go on because of it.
func (l *link) completed(c *rdmap.Completion) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.chunks[c.ID]
	if ch == nil {
		return false // the failure of a request that had no chunk; the connection has ended
	}
	delete(l.chunks, c.ID)
	if ch.n > chunkLen {
		l.long -= ch.n
	}
	if f := ch.flight; f != nil && !l.over {
		switch c.Status {
		case rdmap.StatusOK:
			if err := f.answered(ch, c); err != nil {
				f.status = localStatus(err)
			}
			f.awaits--
			l.retireLocked()
		case rdmap.StatusRemoteAccess, rdmap.StatusRemoteOperation:
			l.culprit = f
		}
	}
	if len(ch.b) == chunkLen {
		ch.flight = nil
		chunks.Put(ch)
	}
	return true
}

// answered copies the answer to a Read or atomic to the program.
func (f *flight) answered(ch *chunk, c *rdmap.Completion) error {
	b := ch.b[:ch.n]
	switch c.Op {
	case rdmap.WorkRead:
	case rdmap.WorkFetchAdd, rdmap.WorkCmpSwap:
		binary.NativeEndian.PutUint64(b, c.Original)
	default:
		return nil // the payload has left
	}
	return f.sink.scatter(b)
}

// newChunkLocked returns a buffer of n bytes and its number, or nil if too many are in use. f is the
// Read or atomic that waits for it, if any. Buffers of at most a word do not count.
//
// +checklocks:l.mu
func (l *link) newChunkLocked(n int, f *flight) (uint64, *chunk) {
	var ch *chunk
	switch {
	case n <= 8:
		ch = &chunk{b: make([]byte, 8)}
	case len(l.chunks) >= maxChunks:
		return 0, nil
	default:
		ch = chunks.Get().(*chunk)
	}
	ch.n, ch.flight = n, f
	l.lastChunk++
	l.chunks[l.lastChunk] = ch
	return l.lastChunk, ch
}

// isIdle reports whether no work request is on its way.
func (l *link) isIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.flights) == 0
}

// acknowledged completes the flights that the frame with the given number ends. An acknowledgement that
// another one has overtaken says nothing new: the peer sends some in front of what its program sends, and
// others from the goroutine that receives.
func (l *link) acknowledged(number uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int32(l.acked-number) >= 0 {
		return nil
	}
	if number-l.acked > l.sent-l.acked {
		return fmt.Errorf("%w: it acknowledges frame %d, and the last one is %d", errFrame, number, l.sent)
	}
	l.acked = number
	if int32(number-l.notReadyFrame) >= 0 {
		l.stopLocked()
	}
	l.retireLocked()
	return nil
}

// isOver reports whether the flight has got all answers, or its acknowledgement. acked is the last frame that the peer has
// acknowledged.
func (f *flight) isOver(acked uint32) bool {
	if f.isRead {
		return f.awaits == 0 && f.posted
	}
	return f.numbered && int32(acked-f.number) >= 0
}

// retireLocked completes the flights that are over, in order.
//
// +checklocks:l.mu
func (l *link) retireLocked() {
	for len(l.flights) > 0 && !l.over {
		f := l.flights[0]
		switch {
		case f.status != uverbs.Success:
			l.over = true
			go l.q.fail(l, f.status, cmp.Or(f.why, l.why, "a work request has failed"))
			return
		case !f.isOver(l.acked):
			return
		}
		if f.status = l.q.ctx.dev.faults.Send(); f.status != uverbs.Success {
			l.over = true
			go l.q.fail(l, f.status, "a fault to order")
			return
		}
		l.flights = l.flights[1:]
		if f.signaled {
			l.q.sendCQ.complete(&uverbs.WC{ID: f.id, Op: f.op, Len: f.n, QPN: l.q.num}, false)
		}
	}
}

// reached notes that the peer has received frame number and has not acted upon it, so everything in front of the frame
// is done. It returns the work request of the frame, or nil if the link has ended.
func (l *link) reached(number uint32) (*flight, error) {
	if err := l.acknowledged(number - 1); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.flights {
		if f.isWrite && f.numbered && f.number == number {
			f.number-- // a Write is in front of the frame that it has its number from
		}
	}
	l.retireLocked()
	for _, f := range l.flights {
		if !f.isRead && (!f.numbered || int32(f.number-number) >= 0) {
			return f, nil
		}
	}
	return nil, nil
}

// refused handles the peer's refusal of frame number.
func (l *link) refused(number uint32, status uverbs.WCStatus) error {
	f, err := l.reached(number)
	if err != nil {
		return err
	}
	l.refuse(f, status, "the peer has refused a work request")
	return nil
}

// refuse fails f with a status once the flights in front of it are over: Reads and atomics may still wait for their answers.
// If f is nil, the link fails at once.
func (l *link) refuse(f *flight, status uverbs.WCStatus, why string) {
	if f == nil {
		l.q.fail(l, status, why)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.culprit, f.status, l.why = f, status, why
	l.retireLocked()
}
