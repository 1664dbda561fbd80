package softrnic

import (
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

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
	list   []byte
	sum    uint32
	known  bool // sum is valid
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
	c := cursor{pd: x.pd, list: x.list, posted: x.posted}
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

// spansOf returns the memory of a list, at most of its first n bytes.
func spansOf(list []byte, n uint64) (all []check.Span) {
	for n > 0 {
		s, rest, ok := uverbs.ParseSGE(list)
		if !ok {
			break
		}
		part := min(uint64(s.Len), n)
		if list, n = rest, n-part; part > 0 {
			all = append(all, check.Span{Addr: s.Addr, Len: part})
		}
	}
	return all
}

// checkMemory is the event that a work request comes from the queue.
func (q *queuePair) checkMemory(f *flight, w *uverbs.SendWR) {
	if w.Flags&uverbs.Inline != 0 || isLocal(w.Op) || f.status != uverbs.Success || total(w.SGEs) == 0 {
		return
	}
	x := f.checked
	if x.list = slices.Clone(w.SGEs); !isRead(w.Op) {
		x.sum, x.known = x.sumNow()
		return
	}
	var others bool
	q.checked.doAt(inCall, x.posted, x.k, func(p *check.Pair) (all []check.Finding) {
		all, others = p.Reads(f, spansOf(x.list, uint64(f.n)))
		return all
	})
	if !others {
		x.sum, x.known = x.sumNow()
	}
}

// checkSent is the event that the work request of a flight is carried out.
func (q *queuePair) checkSent(f *flight) {
	x := f.checked
	switch {
	case x == nil:
	case isRead(f.op):
		q.checked.do(x.k, func(p *check.Pair) []check.Finding { p.HasRead(f); return nil })
	case x.known:
		if sum, ok := x.sumNow(); ok && sum != x.sum {
			x.k.AddAt(posted, x.posted, check.Changes(x.of, fmt.Sprintf("%#x (%v, %d bytes)", f.id, f.op, f.n), f.signaled))
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
	if sum, ok := x.sumNow(); ok && sum != x.sum {
		x.k.AddAt(posted, x.posted, check.WritesSink(x.of, fmt.Sprintf("%#x (%v, %d bytes)", f.id, f.op, f.n)))
	}
}

// checkTaken is the event that a receive is taken from the queue of q.
func (q *queuePair) checkTaken(w *uverbs.RecvWR) {
	if q.checked == nil {
		return
	}
	own, others := spansOf(w.SGEs, uverbs.MaxMessage), q.recv.spans()
	q.checked.do(q.ctx.dev.check, func(p *check.Pair) []check.Finding { return p.Takes(q.receivesName(), own, others) })
}

// receivesName names the queue of receives.
func (q *queuePair) receivesName() string {
	if q.srq != nil {
		return q.srq.String()
	}
	return q.String()
}

// spans returns the memory of the receives in the queue, of the first few.
func (r *receiveQueue) spans() (all [][]check.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		return nil
	}
	const few = 64
	entry := make([]byte, r.ring.EntryLen())
	for i := uint32(0); i < few && r.ring.Peek(i, entry); i++ {
		if w, err := uverbs.ParseRecvWR(entry); err == nil {
			all = append(all, spansOf(w.SGEs, uverbs.MaxMessage))
		}
	}
	return all
}

// checkPlaced is the event that a message of n bytes is complete in the memory of a receive.
func (q *queuePair) checkPlaced(id uint64, list []byte, n uint32) {
	if q.checked == nil || n == 0 {
		return
	}
	c := q.recvCQ
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ring != nil {
		q.ctx.dev.check.Add(c.checked.Places(q.receivesName(), id, spansOf(list, uint64(n)), int(c.ring.Len()))...)
	}
}
