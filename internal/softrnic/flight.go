package softrnic

import (
	"cmp"
	"encoding/binary"
	"sync"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/shm"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

const (
	// maxChunks is the maximum number of chunks of a link.
	maxChunks = 16
	// maxLong is how many bytes of payload longer than a chunk may be on their way. A single Send
	// may have more.
	maxLong = 64 << 20
	// depth is the depth of the send queue of the connection: it has room for all requests that can
	// be outstanding.
	depth = 4*maxFlights + 4*window + maxChunks
)

// chunks are for payload that is on its way between TCP and a program.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// A chunk is a buffer of a request, and the flight that waits for the request. A Read of a program
// that is not checked needs no buffer: its chunk is the sink of the request, which copies the
// answer to the program as it comes.
type chunk struct {
	b      []byte
	parcel toe.Parcel // which b is in; nil for other memory
	n      int
	flight *flight // nil if no flight waits for the Completion

	from uint32 // where the answer goes, in the flight's list
	err  error  // of copying it
}

// WriteAt copies a part of the answer to the program. The connection goes on if that fails: only
// the work request does not. Discard of the connection waits for WriteAt, and no other begins.
func (c *chunk) WriteAt(p []byte, off int64) (int, error) {
	if c.err == nil {
		to := c.flight.sink
		to.pass(c.from + uint32(off))
		c.err = to.scatter(p)
	}
	return len(p), nil
}

// complete takes the Completions of the connection until it ends.
func (l *link) complete() {
	defer l.q.ctx.dev.work.Done()
	defer close(l.drained)
	defer l.q.recovers()
	var done [64]rdmap.Completion
	for {
		n, err := l.conn.WaitCompletions(l.ctx, done[:])
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
	l.answers.Lock()
	defer l.answers.Unlock()
	ch, isOver := l.answeredChunk(c.ID)
	if ch == nil {
		return false // the failure of a request that had no chunk; the connection has ended
	}
	if f := ch.flight; f != nil && !isOver {
		var err error
		if c.Status == rdmap.StatusOK {
			err = f.answered(ch, c)
		}
		l.q.mu.Lock()
		l.endsLocked(f, c.Status, err)
		l.q.mu.Unlock()
	}
	l.freeChunk(ch)
	return true
}

// freeChunk returns a chunk that is not in use any more.
func (l *link) freeChunk(ch *chunk) {
	if ch.parcel != nil {
		ch.parcel.Release()
	}
	*ch = chunk{}
	chunks.Put(ch)
}

// answeredChunk returns the chunk of a request that has completed, which is not in use any more,
// and whether the link has ended.
func (l *link) answeredChunk(id uint64) (ch *chunk, isOver bool) {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if ch = l.chunks[id]; ch != nil {
		delete(l.chunks, id)
		if ch.n > chunkLen {
			l.long -= ch.n
		}
	}
	return ch, l.out.state == outOver
}

// endsLocked handles the end of a request of a flight. err is the error of copying its answer. The
// link may have ended meanwhile.
//
// +checklocks:l.q.mu
func (l *link) endsLocked(f *flight, status rdmap.Status, err error) {
	if l.out.state == outOver {
		return
	}
	switch status {
	case rdmap.StatusOK:
		if err != nil {
			l.out.breaks(f, localStatus(err), err.Error())
		}
		l.out.answers(f)
		l.retireLocked()
	case rdmap.StatusRemoteAccess, rdmap.StatusRemoteOperation:
		l.out.blames(f)
	}
}

// answered copies the answer to a Read or atomic to the program, unless it is there.
func (f *flight) answered(ch *chunk, c *rdmap.Completion) error {
	if c.Op == rdmap.WorkRead && ch.b == nil {
		return ch.err
	}
	b := ch.b[:ch.n]
	switch c.Op {
	case rdmap.WorkRead:
	case rdmap.WorkFetchAdd, rdmap.WorkCmpSwap:
		binary.NativeEndian.PutUint64(b, c.Original)
	default:
		return nil // the payload has left
	}
	f.checkSink()
	_, _ = ch.WriteAt(b, 0)
	return ch.err
}

// takesDirectly reports whether the flight is a Read whose answers are copied to the program as
// they come. Those for a program that is checked are not, because checkSink may sleep.
func (f *flight) takesDirectly() bool { return f.op == uverbs.OpRead && f.checked == nil }

// newChunkLocked returns a buffer of n bytes and its number, or nil if too many are in use. f is
// the flight that waits for it, if any. Buffers of at most 8 bytes do not count.
//
// +checklocks:l.q.mu
func (l *link) newChunkLocked(n int, f *flight) (uint64, *chunk) {
	var ch *chunk
	switch {
	case n <= 8:
		ch = &chunk{b: make([]byte, 8)}
	case n > chunkLen:
		if l.long > 0 && l.long+n > maxLong {
			return 0, nil
		}
		l.long += n
		ch = &chunk{b: make([]byte, n)}
	case len(l.chunks) >= maxChunks:
		return 0, nil
	default:
		ch = chunks.Get().(*chunk)
		if f == nil || !f.takesDirectly() {
			ch.parcel = l.newParcel(n)
			b, at := ch.parcel.Memory()
			ch.b = b[at : at+chunkLen : at+chunkLen]
		}
	}
	ch.n, ch.flight = n, f
	l.lastChunk++
	l.chunks[l.lastChunk] = ch
	return l.lastChunk, ch
}

// newParcel returns a parcel for n bytes, which goes to the peer without a copy if that is
// possible.
func (l *link) newParcel(n int) toe.Parcel {
	if l.near != nil {
		if p := l.near.NewParcel(n); p != nil {
			return p
		}
	}
	return shm.NewParcel()
}

// isIdle reports whether no work request is on its way.
func (l *link) isIdle() bool {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	return l.out.isIdle()
}

// acknowledged handles the peer's acknowledgement of the frames up to number.
func (l *link) acknowledged(number uint32) error {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	return l.advanceLocked(l.out.acknowledged(number))
}

// advanceLocked completes the flights that a frame of the peer has ended, or returns err, the error
// of that frame.
//
// +checklocks:l.q.mu
func (l *link) advanceLocked(err error) error {
	if err != nil {
		return err
	}
	if !l.out.isWaiting() {
		l.calmLocked(alarmNotReady)
	}
	l.retireLocked()
	return nil
}

// retireLocked completes the flights that are over, in order.
//
// +checklocks:l.q.mu
func (l *link) retireLocked() {
	for f := l.out.front(); f != nil && !l.mustExamineLocked(f); f = l.out.front() {
		if f.status == uverbs.Success {
			if s := l.q.ctx.dev.faults.Send(); s != uverbs.Success {
				l.out.breaks(f, s, "an injected fault")
			}
		}
		if !l.out.retires() {
			l.q.failLater(l, f.status, cmp.Or(f.why, l.out.why, "a work request has failed"))
			return
		}
		l.q.checkDone(f)
		l.q.traceDone(f, uverbs.Success)
		if f.signaled {
			l.q.sendCQ.complete(&uverbs.WC{ID: f.id, Op: uverbs.WCOpOf(f.op), Len: f.n, QPN: l.q.num}, false)
		}
	}
}

// refused handles the peer's refusal of frame number.
func (l *link) refused(number uint32, status uverbs.WCStatus) error {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if err := l.advanceLocked(l.out.reached(number)); err != nil {
		return err
	}
	l.refuseLocked(number, status, "the peer has refused a work request")
	return nil
}

// refuseLocked fails the work request of frame number, or the link at once if there is none.
//
// +checklocks:l.q.mu
func (l *link) refuseLocked(number uint32, status uverbs.WCStatus, why string) {
	f := l.out.of(number)
	if f == nil {
		l.q.failLater(l, status, why)
		return
	}
	l.out.refuses(f, status, why)
	l.retireLocked()
}
