package softrnic

import (
	"bytes"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file tells package check about the memory of receives that are posted. A method does nothing
// unless the program is checked.

const (
	// undefinedLimit bounds the bytes that the device fills in the memory of a Read, and
	// behindLimit those behind a message.
	undefinedLimit, behindLimit = 4 << 10, 256
	// behindMargin is how much of the end of a receive is left alone: the lists of UCX 1.13 for UD
	// are 8 bytes longer than its buffers.
	behindMargin = 64
	// receiveLimit bounds the bytes of a receive that are looked at, and seenMost the receives of a
	// queue.
	receiveLimit, seenMost = 4 << 10, 64
)

// undefined is what the device fills memory with whose contents are undefined.
var undefined = func() []byte {
	unit := make([]byte, 8)
	_, _ = rand.Read(unit)
	return bytes.Repeat(unit, undefinedLimit/len(unit))
}()

// hasUndefined reports whether b has some of undefined.
func hasUndefined(b []byte) bool { return bytes.Contains(b, undefined[:8]) }

// A seenReceive is a receive in its queue, and what was in its memory when the device looked at it.
type seenReceive struct {
	id    uint64
	spans []check.Span
	list  []byte
	pd    *protectionDomain
	sum   uint32
	// sum is valid: the device itself has not written to that memory
	known atomic.Bool
	// Another receive, or a payload, has the same memory: nobody looks at what arrives there
	shared atomic.Bool
	// a work request of a peer that uses the memory; nil if there is none
	used atomic.Pointer[string]
}

// A filledMemory has the memory that the device has filled last, for receives and answers. What was
// there before may be the payload of a work request, which the program has not changed then.
type filledMemory struct {
	mu   locks.Mutex[locks.Leaf]
	n    uint64           // +checklocks:mu
	last [64][]check.Span // +checklocks:mu
}

func (m *filledMemory) add(all []check.Span) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[m.n%uint64(len(m.last))] = all
	m.n++
}

func (m *filledMemory) now() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

// since reports whether the device may have filled some of the memory since now returned n.
func (m *filledMemory) since(n uint64, some []check.Span) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n-n > uint64(len(m.last)) {
		return true
	}
	for ; n < m.n; n++ {
		if overlap(m.last[n%uint64(len(m.last))], some) {
			return true
		}
	}
	return false
}

// fewPairs are so few queue pairs that all of them are looked at for one.
const fewPairs = 16

// checkPairsLocked is the event that a queue pair has come or gone.
//
// +checklocks:c.pairsMu
func (c *Context) checkPairsLocked() {
	if c.check != nil {
		all := slices.Collect(maps.Values(c.pairs))
		c.checked.Store(&all)
	}
}

// checkedPairs returns the queue pairs. The caller must not change the slice.
func (c *Context) checkedPairs() []*queuePair {
	if all := c.checked.Load(); all != nil {
		return *all
	}
	return nil
}

// lookNow looks at what the program has posted, while a thread of it waits. Posting a receive makes
// no system call, so the device looks when the program makes one.
func (c *Context) lookNow() {
	pairs := c.checkedPairs()
	for _, q := range pairs {
		if len(pairs) <= fewPairs {
			q.lookAtSends()
		}
		for q.recv.lookAtNext(q.pd) {
		}
	}
}

// lookAtNext looks at the next receive, and returns false if there is none. Only one goroutine does
// so at a time, or two see the same.
func (r *receiveQueue) lookAtNext(pd *protectionDomain) bool {
	r.mu.Lock()
	n, taken := len(r.seen), r.taken
	if r.ring == nil || n >= seenMost || n >= int(r.ring.Len()) {
		r.mu.Unlock()
		return false
	}
	entry := make([]byte, r.ring.EntryLen())
	ok := r.ring.Peek(uint32(n), entry)
	r.mu.Unlock()
	w, err := uverbs.ParseRecvWR(entry)
	if !ok || err != nil {
		return false
	}
	x := &seenReceive{id: w.ID, list: w.SGEs, pd: pd, spans: pd.spansOf(w.SGEs, uverbs.MaxMessage)}
	now := look(pd, x.list, receiveLimit)
	x.sum = now.sum
	x.known.Store(now.known)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) != n || r.taken != taken {
		return false
	}
	for _, y := range r.seen {
		if overlap(x.spans, y.spans) {
			x.shared.Store(true)
			y.shared.Store(true)
		}
	}
	r.seen = append(r.seen, x)
	return true
}

// checkWrites is the event that the device is about to write to memory of the program, for a work
// request or a receive of q. What the receives in the same memory had is not known any more.
func (c *Context) checkWrites(q *queuePair, into []check.Span) {
	c.filled.add(into)
	for _, x := range c.seenReceives(q) {
		if overlap(x.spans, into) {
			x.known.Store(false)
		}
	}
}

// checkPostedReceives is the event that a work request with this memory is posted. Some of it may
// be that of a receive that is posted.
func (q *queuePair) checkPostedReceives(own []check.Span, work string, site check.Site, reads bool) {
	for _, x := range q.ctx.seenReceives(q) {
		for _, s := range x.spans {
			for _, o := range own {
				if !o.Overlaps(s) {
					continue
				}
				x.shared.Store(true)
				if x.known.Store(false); o != s || reads { // or nobody looks at what arrives
					q.ctx.check.AddAt(inCall, site, check.Shares(q.String(), work, reads, s, o))
				}
			}
		}
	}
}

// seenReceives returns the receives that the device has looked at, of all queues, or of that of q
// alone if there are many.
func (c *Context) seenReceives(q *queuePair) (all []*seenReceive) {
	pairs := c.checkedPairs()
	if len(pairs) > fewPairs {
		pairs = []*queuePair{q}
	}
	for _, p := range pairs {
		p.recv.mu.Lock()
		all = append(all, p.recv.seen...)
		p.recv.mu.Unlock()
	}
	return all
}

// checkFilled is the event that a message is about to be copied to a receive.
func (q *queuePair) checkFilled(id uint64, x *seenReceive) {
	if q.checked == nil || x == nil || x.shared.Load() {
		return
	}
	if work := x.used.Load(); work != nil {
		q.ctx.check.Add(check.UsesReceive(q.receivesName(), id, *work))
		return
	}
	if !x.known.Load() {
		return
	}
	if now := look(x.pd, x.list, receiveLimit); now.known && now.sum != x.sum && x.known.Load() && !x.shared.Load() {
		q.ctx.check.Add(check.WritesReceive(q.receivesName(), id))
	}
}

// checkTaken is the event that a receive is taken from the queue of q.
func (q *queuePair) checkTaken(w *uverbs.RecvWR) {
	if q.checked == nil {
		return
	}
	if q.srq == nil {
		q.recvCQ.checkTook()
	}
	own, others := q.pd.spansOf(w.SGEs, uverbs.MaxMessage), q.recv.spans(q.pd)
	q.ctx.checkWrites(q, own)
	q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding { return p.Takes(q.receivesName(), own, others) })
}

// checkTooLong is the event that a receive has failed because of err.
func (q *queuePair) checkTooLong(id uint64, err error) {
	if q.checked != nil && errors.Is(err, errLocalLength) {
		q.ctx.check.Add(check.TooLong(q.receivesName(), id, q.kind == uverbs.UD))
	}
}

// receivesName names the queue of receives.
func (q *queuePair) receivesName() string {
	if q.srq != nil {
		return q.srq.String()
	}
	return q.String()
}

// spans returns the memory of the receives in the queue, of the first few. The device has looked at
// most of them, and each message waits for this.
func (r *receiveQueue) spans(pd *protectionDomain) (all [][]check.Span) {
	r.mu.Lock()
	for _, x := range r.seen {
		all = append(all, x.spans)
	}
	rest := r.peekLocked(len(r.seen))
	r.mu.Unlock()
	for _, entry := range rest {
		if w, err := uverbs.ParseRecvWR(entry); err == nil {
			all = append(all, pd.spansOf(w.SGEs, uverbs.MaxMessage))
		}
	}
	return all
}

// peekLocked returns the first entries of the queue without the first n.
//
// +checklocks:r.mu
func (r *receiveQueue) peekLocked(n int) (all [][]byte) {
	for ; r.ring != nil && n < seenMost; n++ {
		entry := make([]byte, r.ring.EntryLen())
		if !r.ring.Peek(uint32(n), entry) {
			break
		}
		all = append(all, entry)
	}
	return all
}

// checkCame is the event that a message is complete, and that its completion is about to come.
func (q *queuePair) checkCame() {
	if q.checked != nil {
		next, _ := q.recvCQ.progress()
		q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding { p.Comes(next); return nil })
	}
}

// hasMessages returns how many messages have come whose completions the program has polled.
func (q *queuePair) hasMessages() (n uint64) {
	next, polled := q.recvCQ.progress()
	q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding {
		if n = p.Came(); next > 0 { // or the queue is destroyed
			n = p.HasMessages(polled)
		}
		return nil
	})
	return n
}

// checkPlaced is the event that a message of n bytes is complete in the memory of a receive. The
// device fills some of what is behind the message, because it is undefined.
func (q *queuePair) checkPlaced(id uint64, list []byte, n uint32, seen *seenReceive) {
	if q.checked == nil {
		return
	}
	if q.checkCame(); n == 0 {
		return
	}
	if seen != nil && !seen.shared.Load() {
		behind := cursor{pd: q.pd, list: list, quiet: true}
		behind.pass(n)
		_ = behind.scatter(undefined[:max(0, min(int(total(list)-uint64(n))-behindMargin, behindLimit))])
	}
	into := q.pd.spansOf(list, uint64(n))
	q.pd.filled.add(into)
	c := q.recvCQ
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ring != nil {
		q.ctx.check.Add(c.checked.Places(q.receivesName(), q.num, id, into, int(c.ring.Len()))...)
	}
}
