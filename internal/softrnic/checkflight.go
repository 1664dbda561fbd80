package softrnic

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file tells package check about the memory of work requests that are under way. A method does
// nothing unless the program is checked.

// A checkedFlight is what package check knows of the memory of a flight: the payload, or what is
// there before the answer to a Read or an atomic comes.
type checkedFlight struct {
	k      *check.Reporter
	of     string // the queue pair
	pd     *protectionDomain
	posted check.Site // where
	text   string     // what the work request is
	list   []byte
	sum    uint32
	known  bool // sum is valid
	// The payload may be what a Read in front brings, so sum is taken behind the fence
	fenced bool
}

// sumLimit bounds the bytes of a work request that are looked at.
const sumLimit = 256 << 10

var (
	sums       = crc32.MakeTable(crc32.Castagnoli)
	sumBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
)

// sumNow returns a checksum of the memory of the list, at most of its first sumLimit bytes. ok is
// false if the program does not have that memory.
func (x *checkedFlight) sumNow() (sum uint32, ok bool) {
	b := sumBuffers.Get().(*[]byte)
	defer sumBuffers.Put(b)
	c := cursor{pd: x.pd, list: x.list, quiet: true}
	for left := min(total(x.list), sumLimit); left > 0; {
		part := (*b)[:min(left, uint64(len(*b)))]
		if c.gather(part) != nil {
			return 0, false
		}
		sum = crc32.Update(sum, sums, part)
		left -= uint64(len(part))
	}
	return sum, true
}

// spansOf returns the memory of a list, at most of its first n bytes, by the addresses that it has
// in the program. A list may name it by others: see ibv_reg_mr_iova(3).
func (pd *protectionDomain) spansOf(list []byte, n uint64) (all []check.Span) {
	pd.mu.RLock()
	defer pd.mu.RUnlock()
	for n > 0 {
		s, rest, ok := uverbs.ParseSGE(list)
		if !ok {
			break
		}
		part := min(uint64(s.Len), n)
		list, n = rest, n-part
		if m := pd.regions[s.LKey]; m != nil && part > 0 {
			all = append(all, check.Span{Addr: m.Start + (s.Addr - m.VA), Len: part})
		}
	}
	return all
}

// checkMemory is the event that a work request comes from the queue.
func (q *queuePair) checkMemory(s *sender) {
	f, w := s.flight, &s.wr
	if w.Flags&uverbs.Inline != 0 || isLocal(w.Op) || f.status != uverbs.Success || total(w.SGEs) == 0 {
		return
	}
	x := f.checked
	x.list, x.text = slices.Clone(w.SGEs), fmt.Sprintf("%#x (%v, %d bytes)", f.id, f.op, f.n)
	own, reading := x.pd.spansOf(x.list, uint64(f.n)), false
	if !isRead(w.Op) {
		fenced := w.Flags&uverbs.Fence != 0 && q.kind != uverbs.UD
		x.pd.sinks.doAt(inCall, x.posted, x.k, func(k *check.Sinks) (all []check.Finding) {
			all, reading = k.Sends(x.of, x.text, own, fenced)
			return all
		})
		if x.fenced = fenced; !fenced && !reading {
			x.sum, x.known = x.sumNow()
		}
		return
	}
	n := 0
	x.pd.sinks.doAt(inCall, x.posted, x.k, func(k *check.Sinks) (all []check.Finding) {
		all = k.Reads(x.of, f, own)
		n = k.Reading(x.of)
		return all
	})
	q.checked.doAt(inCall, x.posted, x.k, func(p *check.Pair) []check.Finding { return p.Reading(n, s.depth, s.serves) })
	x.sum, x.known = x.sumNow()
}

// checkedSinks are the sinks of a protection domain.
type checkedSinks struct {
	mu    locks.Mutex[locks.Leaf]
	sinks check.Sinks // +checklocks:mu
}

// doAt calls f with the sinks, and reports what f finds at a place: see AddAt.
func (c *checkedSinks) doAt(what string, site check.Site, k *check.Reporter, f func(s *check.Sinks) []check.Finding) {
	c.mu.Lock()
	all := f(&c.sinks)
	c.mu.Unlock()
	k.AddAt(what, site, all...)
}

// isShared reports whether the answer of another Read may lie in the memory for that of f.
func (c *checkedSinks) isShared(f *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sinks.IsShared(f)
}

// ends is the event that the Read of f is over.
func (c *checkedSinks) ends(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinks.HasRead(f)
}

// forgets is the event that the Reads of a queue pair are over.
func (c *checkedSinks) forgets(pair string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinks.Forgets(pair)
}

// checkBegins is the event that the first piece of a work request is about to be sent.
func (f *flight) checkBegins() {
	if x := f.checked; x != nil && x.fenced {
		x.fenced = false
		x.sum, x.known = x.sumNow()
	}
}

// checkSent is the event that the work request of a flight is carried out.
func (q *queuePair) checkSent(f *flight) {
	x := f.checked
	switch {
	case x == nil:
	case isRead(f.op):
		x.pd.sinks.ends(f)
	case x.known:
		if sum, ok := x.sumNow(); ok && sum != x.sum {
			x.k.AddAt(posted, x.posted, check.Changes(x.of, x.text, f.signaled))
		}
	}
}

// checkSink is the event that the first answer to a Read or an atomic is about to be copied to the
// program.
func (f *flight) checkSink() {
	x := f.checked
	if x == nil || !x.known {
		return
	}
	x.known = false
	// What has changed it may be the answer of another one, which may even have been posted while
	// this looked: so whether there is another one is asked afterwards
	if sum, ok := x.sumNow(); ok && sum != x.sum && !x.pd.sinks.isShared(f) {
		x.k.AddAt(posted, x.posted, check.WritesSink(x.of, x.text))
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
	q.checked.do(q.ctx.dev.check, func(p *check.Pair) []check.Finding { return p.Takes(q.receivesName(), own, others) })
}

// checkTooLong is the event that a receive has failed because of err.
func (q *queuePair) checkTooLong(id uint64, err error) {
	if q.checked != nil && errors.Is(err, errLocalLength) {
		q.ctx.dev.check.Add(check.TooLong(q.receivesName(), id, q.kind == uverbs.UD))
	}
}

// receivesName names the queue of receives.
func (q *queuePair) receivesName() string {
	if q.srq != nil {
		return q.srq.String()
	}
	return q.String()
}

// spans returns the memory of the receives in the queue, of the first few.
func (r *receiveQueue) spans(pd *protectionDomain) (all [][]check.Span) {
	for _, entry := range r.peek() {
		if w, err := uverbs.ParseRecvWR(entry); err == nil {
			all = append(all, pd.spansOf(w.SGEs, uverbs.MaxMessage))
		}
	}
	return all
}

// peek returns the first entries of the queue.
func (r *receiveQueue) peek() (all [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		return nil
	}
	const few = 64
	b := make([]byte, few*r.ring.EntryLen())
	for i := range few {
		entry := b[i*r.ring.EntryLen():][:r.ring.EntryLen()]
		if !r.ring.Peek(uint32(i), entry) {
			break
		}
		all = append(all, entry)
	}
	return all
}

// checkPlaced is the event that a message of n bytes is complete in the memory of a receive.
func (q *queuePair) checkPlaced(id uint64, list []byte, n uint32) {
	if q.checked == nil || n == 0 {
		return
	}
	into := q.pd.spansOf(list, uint64(n))
	c := q.recvCQ
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ring != nil {
		q.ctx.dev.check.Add(c.checked.Places(q.receivesName(), q.num, id, into, int(c.ring.Len()))...)
	}
}
