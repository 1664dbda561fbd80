package softrnic

import (
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	seenMemory
	// The payload may be what a Read in front brings, so it is looked at behind the fence
	fenced bool

	number int  // of the work request in its queue pair
	silent bool // it is unsignaled
	// The peer has carried it out
	done atomic.Bool
	// The payload has been compared. The queue pair's mu guards it.
	examined bool
}

// A seenMemory is what was in the memory of a work request when the device looked at it.
type seenMemory struct {
	sum  uint32
	head uint32 // the sum of the first bytes
	// sum and head are valid
	known bool
	at    time.Time // when the device has looked
	// It has contents that the device has put there
	undefined bool
	// what the device had filled until then
	filled uint64
}

const (
	// sumLimit bounds the bytes of a work request that are looked at, and headLimit those that are
	// looked at again with each call until its completion has been polled.
	sumLimit, headLimit = 256 << 10, 1 << 10
	// recentMost bounds the work requests that are looked at again, and waitingMost those that are
	// looked at while they wait in their queue.
	recentMost, waitingMost = 4, 64
)

// examineAfter returns the least time between the post of a work request and the last look at its
// memory, so that the program has time to make its mistake. It is long for the first ones of a
// queue pair, and for a few of the others.
func examineAfter(number int) time.Duration {
	const few = 64
	if number <= firstOnes || number%few == 0 {
		return time.Millisecond
	}
	return 20 * time.Microsecond
}

// firstOnes is the number of the first work requests of a queue pair.
const firstOnes = 32

// postsOn returns for how long a look at a work request waits because the program still posts. As
// long as no completion is there, no place is free, and a program that posts more than there is
// room for is told so.
func (q *queuePair) postsOn(x *checkedFlight) time.Duration {
	const pause, longPause, longest = time.Millisecond, 4 * time.Millisecond, 50 * time.Millisecond
	q.checked.mu.Lock()
	defer q.checked.mu.Unlock()
	switch {
	case x.number > firstOnes || time.Since(x.at) > longest:
		return 0
	case 2*q.checked.kept > q.caps.MaxSendWR:
		return time.Until(q.checked.last.Add(longPause))
	}
	return time.Until(q.checked.last.Add(pause))
}

var (
	sums       = crc32.MakeTable(crc32.Castagnoli)
	sumBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
)

// look looks at the memory of a list, at most at its first limit bytes. What it sees is not known
// if the program does not have that memory.
func look(pd *protectionDomain, list []byte, limit uint64) (s seenMemory) {
	s.at, s.filled = time.Now(), pd.filled.now()
	b := sumBuffers.Get().(*[]byte)
	defer sumBuffers.Put(b)
	c := cursor{pd: pd, list: list, quiet: true}
	n := min(total(list), limit)
	for left := n; left > 0; {
		part := (*b)[:min(left, uint64(len(*b)))]
		if c.gather(part) != nil {
			return s
		}
		if left == n {
			s.head = crc32.Checksum(part[:min(len(part), headLimit)], sums)
		}
		s.undefined = s.undefined || hasUndefined(part)
		s.sum = crc32.Update(s.sum, sums, part)
		left -= uint64(len(part))
	}
	s.known = true
	return s
}

// hasChanged reports whether the memory of the work request is not what it was.
func (x *checkedFlight) hasChanged() bool {
	now := look(x.pd, x.list, sumLimit)
	return x.known && now.known && now.sum != x.sum
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
func (q *queuePair) checkMemory(s *sender, number int) {
	f, w := s.flight, &s.wr
	var early *seenMemory
	if len(s.waiting) > 0 {
		early, s.waiting = s.waiting[0], s.waiting[1:]
	}
	if w.Flags&uverbs.Inline != 0 || isLocal(w.Op) || f.status != uverbs.Success || total(w.SGEs) == 0 {
		return
	}
	x := f.checked
	if isAtomic(w.Op) && w.Addr%8 != 0 {
		x.k.AddAt(posted, x.posted, check.Unaligned(w.RKey, w.Addr))
	}
	x.list, x.text = slices.Clone(w.SGEs), fmt.Sprintf("%#x (%v, %d bytes)", f.id, f.op, f.n)
	x.number, x.silent = number, !f.signaled
	own, reading := x.pd.spansOf(x.list, uint64(f.n)), false
	q.checkPostedReceives(own, x.text, x.posted, isRead(w.Op))
	if !isRead(w.Op) {
		fenced := w.Flags&uverbs.Fence != 0 && q.kind != uverbs.UD
		x.pd.sinks.doAt(inCall, x.posted, x.k, func(k *check.Sinks) (all []check.Finding) {
			all, reading = k.Sends(x.of, x.text, own, fenced)
			return all
		})
		if unpolled := slices.ContainsFunc(s.reads, func(y *checkedFlight) bool { return overlap(y.spans(), own) && !q.hasPolled(y) }); unpolled && !fenced && !reading {
			x.k.AddAt(inCall, x.posted, check.SendsSink(x.of, x.text))
			reading = true
		}
		if x.fenced = fenced; !fenced && !reading {
			if x.seenMemory = x.lookOnce(early); x.undefined {
				x.k.AddAt(posted, x.posted, check.SendsUndefined(x.of, x.text))
			}
			if q.kind != uverbs.UD { // a datagram has left, and UCX changes it before it polls
				s.recent = append(s.recent, x)
			}
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
	x.seenMemory = x.lookOnce(early)
	s.reads = append(s.reads[max(len(s.reads)-recentMost, 0):], x)
	s.recent = slices.DeleteFunc(s.recent, func(y *checkedFlight) bool { return overlap(y.spans(), own) })
}

// lookOnce looks at the memory of a work request, unless the device has done so already.
func (x *checkedFlight) lookOnce(early *seenMemory) seenMemory {
	if early != nil && early.known {
		return *early
	}
	return look(x.pd, x.list, sumLimit)
}

// spans returns the memory of the work request.
func (x *checkedFlight) spans() []check.Span { return x.pd.spansOf(x.list, uverbs.MaxMessage) }

func overlap(a, b []check.Span) bool {
	return slices.ContainsFunc(a, func(x check.Span) bool { return slices.ContainsFunc(b, x.Overlaps) })
}

// checkAhead is the event that work requests are about to be taken from the queue. What waits for
// the program's memory is done here, because a work request is taken under the mutex of the queue
// pair. What is in the memory of the next Read is undefined from now on, and so the device fills
// it: everything in front of it has left that memory.
//
// +checklocks:q.sendMu
func (q *queuePair) checkAhead() {
	if q.checked == nil {
		return
	}
	s := &q.sender
	s.peer = q.peerHere()
	for q.recv.lookAtNext(q.pd) { // the doorbell may come later
	}
	entry := make([]byte, q.sq.EntryLen())
	for len(s.waiting) < waitingMost && q.sq.Peek(uint32(len(s.waiting)), entry) {
		x := new(seenMemory)
		if w, err := uverbs.ParseSendWR(entry); err == nil && w.Flags&(uverbs.Inline|uverbs.Fence) == 0 && !isLocal(w.Op) && !isRead(w.Op) {
			*x = look(q.pd, w.SGEs, sumLimit)
		}
		s.waiting = append(s.waiting, x)
	}
	if s.active || len(s.waiting) == 0 || s.waiting[0].known || !q.sq.Peek(0, entry) {
		return
	}
	if w, err := uverbs.ParseSendWR(entry); err == nil && isRead(w.Op) && w.Flags&uverbs.Inline == 0 {
		c, n := cursor{pd: q.pd, list: w.SGEs, quiet: true}, total(w.SGEs)
		if isAtomic(w.Op) {
			n = min(n, 8)
		}
		_ = c.scatter(undefined[:min(n, undefinedLimit)])
		q.pd.filled.add(q.pd.spansOf(w.SGEs, n))
		*s.waiting[0] = look(q.pd, w.SGEs, sumLimit)
	}
}

// reexamine looks again at the payload of the last work requests whose completions the program has
// not polled. The thread that posts waits meanwhile.
//
// +checklocks:q.sendMu
func (q *queuePair) reexamine() {
	s := &q.sender
	s.recent = slices.DeleteFunc(s.recent, q.hasPolled)
	s.recent = s.recent[max(len(s.recent)-recentMost, 0):]
	s.recent = slices.DeleteFunc(s.recent, func(x *checkedFlight) bool {
		now := look(x.pd, x.list, headLimit)
		if now.known && now.head == x.head {
			return false
		}
		// The peer's reply may prove that an unsignaled one is done. Another thread may have polled
		// meanwhile.
		if now.known && !(x.silent && x.done.Load()) && !q.hasPolled(x) && !q.pd.filled.since(x.filled, x.spans()) {
			x.k.AddAt(posted, x.posted, check.Changes(x.of, x.text, true))
		}
		return true
	})
}

// hasPolled reports whether the program has polled the completion of a work request, or of one
// behind it.
func (q *queuePair) hasPolled(x *checkedFlight) (yes bool) {
	_, polled := q.sendCQ.progress()
	q.checked.do(x.k, func(p *check.Pair) []check.Finding { yes = p.Freed(polled) >= x.number; return nil })
	return yes
}

// changed looks at the payload of a work request that is carried out, whose completion the program
// cannot have.
func (x *checkedFlight) changed() (all []check.Finding) {
	if x != nil && x.known && x.hasChanged() && !x.pd.filled.since(x.filled, x.spans()) {
		all = append(all, check.Changes(x.of, x.text, !x.silent))
	}
	return all
}

// mustExamineLocked reports whether the oldest flight, which is over, must wait because its payload
// is still to be looked at. The program may withhold that memory for as long as it likes, so it is
// read without the lock.
//
// +checklocks:l.q.mu
func (l *link) mustExamineLocked(f *flight) bool {
	x := f.checked
	if x == nil || isRead(f.op) || !x.known || x.examined || f.status != uverbs.Success {
		return false
	}
	if !l.examining {
		l.examining = true
		wait := time.Until(x.at.Add(examineAfter(x.number)))
		go func() {
			defer l.q.ctx.recovers()
			for wait = max(wait, l.q.postsOn(x)); wait > 0; wait = l.q.postsOn(x) {
				time.Sleep(wait)
			}
			l.examine(true)
		}()
	}
	return true
}

// examine looks at the payload of the flights that are over, and completes them. late says that
// mustExamineLocked has asked for it.
func (l *link) examine(late bool) {
	for _, f := range l.toExamine() {
		all := f.checked.changed()
		l.q.mu.Lock()
		fresh := !f.checked.examined && l.out.state != outOver // or the program may use the memory
		f.checked.examined = true
		l.q.mu.Unlock()
		if fresh {
			f.checked.k.AddAt(posted, f.checked.posted, all...)
		}
	}
	l.q.mu.Lock()
	if late {
		l.examining = false
	}
	l.retireLocked()
	l.q.mu.Unlock()
	if late {
		l.q.kick()
	}
}

// examineNow is the event that the program is about to learn of something that comes behind the
// completions that are due: a message of the peer, or the end of the link.
func (q *queuePair) examineNow(l *link) {
	if q.checked == nil {
		return
	}
	if l == nil {
		q.mu.Lock()
		l = q.link
		q.mu.Unlock()
	}
	if l != nil && len(l.toExamine()) > 0 {
		l.examine(false)
	}
}

// toExamine returns the flights that are over and whose payload is to be looked at, the oldest ones
// first.
func (l *link) toExamine() (all []*flight) {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if l.out.front() == nil {
		return nil
	}
	for _, f := range l.out.flights {
		if f.status != uverbs.Success || !f.isOver(l.out.acked) {
			break
		}
		if x := f.checked; x != nil && x.known && !isRead(f.op) && !x.examined {
			all = append(all, f)
		}
	}
	return all
}

// checkDeregisters is the event that the program is about to deregister m. It cannot know that a
// signaled work request is over whose completion has not come.
func (c *commands) checkDeregisters(m *memoryRegion) {
	for _, q := range c.checkedPairs() {
		if q.pd != m.pd {
			continue
		}
		if x := q.usesNow(m.lkey()); x != nil {
			x.k.AddAt(posted, x.posted, check.Deregisters(x.of, x.text))
		}
	}
}

// usesNow returns a signaled work request under way whose list has a key, or nil.
func (q *queuePair) usesNow(key uint32) *checkedFlight {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.link == nil {
		return nil
	}
	for _, f := range q.link.out.flights { // +checklocksignore: the link's queue pair is locked
		if x := f.checked; x != nil && f.signaled && f.status == uverbs.Success && hasKey(x.list, key) {
			return x
		}
	}
	return nil
}

// hasKey reports whether an entry of a list has a key.
func hasKey(list []byte, key uint32) bool {
	for {
		s, rest, ok := uverbs.ParseSGE(list)
		if !ok || s.LKey == key {
			return ok
		}
		list = rest
	}
}

// checkBegins is the event that the first piece of a work request is about to be sent.
func (f *flight) checkBegins() {
	if x := f.checked; x != nil && x.fenced {
		x.fenced = false
		x.seenMemory = look(x.pd, x.list, sumLimit)
	}
}

// checkSent is the event that the work request of a flight is carried out.
func (q *queuePair) checkSent(f *flight) {
	if x := f.checked; x != nil {
		if x.done.Store(true); isRead(f.op) {
			if x.list != nil { // again, for who has looked since checkSink
				x.pd.filled.add(x.spans())
			}
			x.pd.sinks.ends(f)
		}
	}
}
