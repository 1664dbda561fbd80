package softrnic

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file tells package check about the queues. A method does nothing unless the program is
// checked.

// A checkedPair is what package check knows of a queue pair.
type checkedPair struct {
	mu    locks.Mutex[locks.Leaf]
	pair  check.Pair  // +checklocks:mu
	posts check.Posts // +checklocks:mu
	// when the program has posted last
	last time.Time // +checklocks:mu
	// work requests whose places are in use, and those of them that are done
	kept, done uint32 // +checklocks:mu
	// The ring is not there any more
	gone bool // +checklocks:mu
	// where the program has brought it to RTR, and to RTS
	toRTR check.Site // +checklocks:mu
	toRTS check.Site // +checklocks:mu
	// where it has posted more than a card has room for
	over    check.Site // +checklocks:mu
	managed bool       // +checklocks:mu
	inRTS   bool       // +checklocks:mu
	// messages that the program has posted; the queue pair's sendMu guards it
	messages uint64
}

// checkPair begins to check q. The program has asked for these sizes. asks says that it has found
// out how much inline data the device has, and so has no number of its own for cards.
func (q *queuePair) checkPair(asked *uverbs.Caps, asks bool) {
	if q.ctx.check != nil {
		q.checked = &checkedPair{pair: check.Pair{Name: q.String(), MaxSend: int(q.caps.MaxSendWR)}, posts: check.Posts{Slots: q.sq.Cap() + 1, Room: q.caps.MaxSendWR + 1}}
		q.recvCQ.checkReceives(q.recv, q.srq == nil)
		sges := asked.MaxSendSGE
		if q.srq == nil { // else verbs ignore max_recv_sge
			sges = max(sges, asked.MaxRecvSGE)
		}
		inline := asked.MaxInline
		if asks {
			inline = 0
		}
		q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding { p.Asks(sges, inline); return nil })
	}
}

// do calls f with what is known of the queue pair, and reports what f finds.
func (c *checkedPair) do(k *check.Reporter, f func(p *check.Pair) []check.Finding) {
	c.doAt("", nil, k, f)
}

// doAt is do for what f finds at a place: see AddAt.
func (c *checkedPair) doAt(what string, s check.Site, k *check.Reporter, f func(p *check.Pair) []check.Finding) {
	c.mu.Lock()
	all := f(&c.pair)
	c.mu.Unlock()
	k.AddAt(what, s, all...)
}

// What the log calls the place of a mistake: that of a call, or of a post if the mistake comes
// later.
const (
	inCall = "at"
	posted = "posted"
)

// checkRings is the event that a thread of the program rings the doorbell for q at a place.
func (q *queuePair) checkRings(thread int, s check.Site) {
	if q.checked == nil {
		return
	}
	q.checked.doAt(inCall, s, q.ctx.check, func(p *check.Pair) (all []check.Finding) {
		from, to := q.sq.Span()
		used := q.sq.Used()
		switch q.checked.posts.Rings(from, to, used, thread, s) { // +checklocksignore: do has locked it
		case check.PostRefused:
			return append(all, p.RefusesPost())
		case check.PostDenied:
			p.Denies()
			return all
		case check.PostFills:
			p.Fills(int((to-from)&q.sq.Cap()), used > q.caps.MaxSendWR)
		}
		p.GoesOn()
		return all
	})
}

// takeFromRing copies the oldest work request to dst, as Take of the ring. If the program is
// checked, its place stays in use until its completion, or one behind it, is there.
func (q *queuePair) takeFromRing(dst []byte) bool {
	if q.checked == nil {
		return q.sq.Take(dst)
	}
	return q.sq.Keep(dst)
}

// freePlaces is the event that all work requests that the device has taken are over.
func (q *queuePair) freePlaces() {
	if q.checked != nil {
		q.checked.mu.Lock()
		defer q.checked.mu.Unlock()
		q.freeLocked(q.sq.Cap())
	}
}

// freeLocked frees the places of the n oldest work requests, or of all that are in use.
//
// +checklocks:q.checked.mu
func (q *queuePair) freeLocked(n uint32) {
	c := q.checked
	if c.kept, c.done = c.kept-min(n, c.kept), 0; !c.gone {
		q.sq.Free(n)
	}
}

// losesRing is the event that the queue pair is destroyed: its ring is about to be given back.
func (q *queuePair) losesRing() {
	if q.checked != nil {
		q.checked.mu.Lock()
		defer q.checked.mu.Unlock()
		q.checked.gone = true
	}
}

// lookAtSends looks again at what has been posted, and at what waits in the queue, while a thread
// of the program waits.
func (q *queuePair) lookAtSends() {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	if q.reexamine(); q.sq.Len() == 0 {
		return
	}
	q.checkAhead()
	waiting := q.waitingSignals()
	q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding { return p.Waits(waiting) })
}

// waitingSignals returns which of the work requests in the queue are signaled, in order.
//
// +checklocks:q.sendMu
func (q *queuePair) waitingSignals() (all []bool) {
	entry := make([]byte, q.sq.EntryLen())
	for i := uint32(0); i < q.sq.Len() && q.sq.Peek(i, entry); i++ {
		w, err := uverbs.ParseSendWR(entry)
		all = append(all, q.signalAll || err != nil || w.Flags&uverbs.Signaled != 0)
	}
	return all
}

// checkTakes is the event that the device has taken the work request in a slot of the ring. It
// returns the place of its post.
func (q *queuePair) checkTakes(slot uint32) check.Site {
	q.checked.mu.Lock()
	defer q.checked.mu.Unlock()
	return q.checked.posts.Takes(slot)
}

// firstPost returns the place at which the oldest work request in the queue was posted, or nil. The
// program may have posted it, and not rung yet.
func (q *queuePair) firstPost() check.Site {
	if q.checked == nil {
		return nil
	}
	q.checked.mu.Lock()
	defer q.checked.mu.Unlock()
	from, to := q.sq.Span()
	if from == to {
		return nil
	}
	return q.checked.posts.At(from)
}

// checkPosted is the event that a work request comes from the queue.
func (q *queuePair) checkPosted(s *sender, slot uint32) {
	if q.checked == nil {
		return
	}
	f, w := s.flight, &s.wr
	f.checked = &checkedFlight{k: q.ctx.check, of: q.String(), pd: q.pd, posted: q.checkTakes(slot)}
	number := 0
	q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding { number = p.Number() + 1; return nil })
	q.checkRubbish(s)
	q.checkMemory(s, number)
	q.checkUses(s, number)
	// Another thread may poll and then post meanwhile, so what waits is read first.
	waiting := int(q.sq.Len())
	_, polled := q.sendCQ.progress()
	q.checked.mu.Lock()
	q.checked.last = time.Now()
	q.checked.kept++
	wasOver := q.checked.pair.IsOver()
	if w.Flags&uverbs.Inline == 0 && total(w.SGEs) > 0 {
		q.checked.pair.Lends()
	}
	all := q.checked.pair.Posts(workOf(f, w), f.signaled, waiting, polled)
	if !wasOver && q.checked.pair.IsOver() {
		q.checked.over = f.checked.posted
	}
	over := f.checked.posted
	if wasOver && !q.checked.pair.IsOver() {
		over = q.checked.over
	}
	q.checked.mu.Unlock()
	q.ctx.check.AddAt(inCall, over, all...)
	if f.signaled {
		q.sendCQ.checkMayCome(f.checked.posted)
	}
}

// workOf identifies a work request by its contents.
func workOf(f *flight, w *uverbs.SendWR) check.Work {
	b := binary.NativeEndian.AppendUint64(nil, f.id)
	b = binary.NativeEndian.AppendUint64(b, w.Addr)
	return check.Work(f.op)<<32 ^ check.Work(crc32.Update(crc32.Checksum(b, sums), sums, w.SGEs))
}

// checkDone is the event that a work request is carried out. Its completion, if it gets one, comes
// behind.
func (q *queuePair) checkDone(f *flight) {
	q.checkSent(f)
	if q.checked == nil {
		return
	}
	next, _ := q.sendCQ.progress()
	q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding {
		if q.checked.done++; f.signaled { // +checklocksignore: do has locked it
			p.Completes(next)
			q.freeLocked(q.checked.done) // +checklocksignore: do has locked it
		}
		return nil
	})
}

// checkBegun is the event that a work request has failed before it has begun. lacksDepth says that
// it is a Read or an atomic without depth.
func (q *queuePair) checkBegun(f *flight, lacksDepth bool) {
	if q.checked != nil && lacksDepth {
		q.checked.doAt(posted, f.checked.posted, q.ctx.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.ReadsWithout(f.why)} })
	}
}

// checkRefused is the event that the peer's program has posted no receive for as long as the
// attributes of q say.
func (q *queuePair) checkRefused() {
	if q.checked != nil {
		q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.FindsNoReceive()} })
	}
}

// checkPatience returns how long a message waits before a receive is said to be missing. On a card
// it waits at least as long as min_rnr_timer says, so it is soon if the program has set a long
// time. It is also soon if there was no receive yet: the program has told the peer too early that
// it is ready, and the next time the peer may be faster.
func (q *queuePair) checkPatience() time.Duration {
	if q.checked == nil {
		return receivePatience
	}
	q.mu.Lock()
	timer, managed := q.ctx.dev.rnrTime(q.life.attrs.MinRNRTimer), q.life.managed
	q.mu.Unlock()
	if (managed || timer < receivePatience) && q.recv.takenNow() > 0 {
		return receivePatience
	}
	const soon = 2 * lookEvery
	return soon
}

// checkReceive is the event that there is no receive for a message.
func (q *queuePair) checkReceive(lost bool) {
	if q.checked == nil {
		return
	}
	q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding {
		if lost {
			return []check.Finding{p.Loses()}
		}
		return []check.Finding{p.LacksReceive()}
	})
}

// A checkedCQ is what package check knows of a completion queue. The CQ's mutex guards it.
type checkedCQ struct {
	check.CQ
	receives []*receiveQueue // whose completions come here, unless they are shared
	signaled int             // work requests that will have a completion
	armedAt  check.Site      // where the program has asked for an event
}

// room returns the size of a queue that the program is told. A program that is checked, or whose
// device takes that liberty, is told what it has asked for, because it may not use more on another
// device.
func (d *Device) room(asked, has, most uint32) uint32 {
	if d.check != nil || d.strict {
		return asked
	}
	return min(has, most)
}

// checkCQ begins to check q.
func (q *completionQueue) checkCQ(entries uint32) {
	if q.ctx.check != nil {
		q.checked = &checkedCQ{CQ: check.CQ{Name: q.String(), Entries: int(entries)}} // +checklocksignore: nobody else has q yet
	}
}

// checkReceives adds or removes a queue of receives that complete in q.
func (q *completionQueue) checkReceives(r *receiveQueue, add bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.checked.receives = slices.DeleteFunc(q.checked.receives, func(x *receiveQueue) bool { return x == r }); add {
		q.checked.receives = append(q.checked.receives, r)
	}
}

// progress returns the number of the next completion, and how many the program has polled.
func (q *completionQueue) progress() (next, polled int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring == nil {
		return 0, 0
	}
	return q.checked.Next(), q.checked.Polled(int(q.ring.Len()))
}

// checkMayCome is the event that a signaled work request is posted.
func (q *completionQueue) checkMayCome(s check.Site) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.checked.signaled++; q.ring == nil || len(q.checked.receives) > fewReceives {
		return
	}
	q.ctx.check.AddAt(inCall, s, q.checked.MayCome(q.checked.signaled, q.receivesLocked(), int(q.ring.Len()))...)
}

// checkTook is the event that a receive that will complete in q is taken from its queue.
func (q *completionQueue) checkTook() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring != nil && len(q.checked.receives) <= fewReceives {
		q.ctx.check.Add(q.checked.MayCome(q.checked.signaled, q.receivesLocked()+1, int(q.ring.Len()))...)
	}
}

// fewReceives is the maximum number of queues of receives that are looked at.
const fewReceives = 16

// receivesLocked returns how many receives wait in queues whose completions come here.
//
// +checklocks:q.mu
func (q *completionQueue) receivesLocked() (n int) {
	for _, r := range q.checked.receives {
		n += r.waiting()
	}
	return n
}

// checkPutLocked is the event that a completion has come. solicits says that a solicited notice
// waits for it, and lost that the ring had no room.
//
// +checklocks:q.mu
func (q *completionQueue) checkPutLocked(w *uverbs.WC, solicits, lost bool) {
	if q.checked == nil {
		return
	}
	if w.Op < uverbs.WCRecv {
		q.checked.signaled = max(q.checked.signaled-1, 0)
	}
	n := int(q.ring.Len())
	if lost {
		n = max(n, q.checked.Entries) + 1
	}
	q.ctx.check.Add(q.checked.Puts(w.QPN, w.Status != uverbs.Success, solicits, n)...)
}

// noteHeldLocked is the event that completions are held back, or are not any more.
//
// +checklocks:q.mu
func (q *completionQueue) noteHeldLocked() {
	if q.checked != nil {
		q.checked.Held = q.late.held.Len()
	}
}

// hasPolledError reports whether the program has polled a completion with an error of a queue pair.
func (q *completionQueue) hasPolledError(qpn uint32) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ring != nil && q.checked.HasPolledError(qpn, int(q.ring.Len()))
}

// checkForgets is the event that a queue pair is reset: its work requests have no completions any
// more.
func (q *completionQueue) checkForgets(qpn uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.checked.Forgets(qpn)
	q.checked.signaled = 0 // too few if other queue pairs have some
}
