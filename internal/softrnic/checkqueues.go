package softrnic

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// This file tells package check about the queues. A method does nothing unless the program is
// checked.

// A checkedPair is what package check knows of a queue pair.
type checkedPair struct {
	mu    locks.Mutex[locks.Leaf]
	pair  check.Pair  // +checklocks:mu
	posts check.Posts // +checklocks:mu
	// where the program has brought it to RTR, and to RTS
	toRTR   check.Site // +checklocks:mu
	toRTS   check.Site // +checklocks:mu
	managed bool       // +checklocks:mu
	inRTS   bool       // +checklocks:mu
}

// checkPair begins to check q. The program has asked for these sizes.
func (q *queuePair) checkPair(asked *uverbs.Caps) {
	if q.ctx.dev.check != nil {
		q.checked = &checkedPair{pair: check.Pair{Name: q.String(), MaxSend: int(max(asked.MaxSendWR, 1))}, posts: check.Posts{Slots: q.sq.Cap() + 1}}
		q.recvCQ.checkReceives(q.recv, q.srq == nil)
		sges := asked.MaxSendSGE
		if q.srq == nil { // else verbs ignore max_recv_sge
			sges = max(sges, asked.MaxRecvSGE)
		}
		q.checked.do(q.ctx.dev.check, func(p *check.Pair) []check.Finding { return p.Asks(sges) })
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
	q.checked.mu.Lock()
	defer q.checked.mu.Unlock()
	from, to := q.sq.Span()
	q.checked.posts.Rings(from, to, thread, s)
}

// checkTakes is the event that the device has taken the work request in a slot of the ring. It
// returns the place of its post.
func (q *queuePair) checkTakes(slot uint32) check.Site {
	q.checked.mu.Lock()
	defer q.checked.mu.Unlock()
	return q.checked.posts.Takes(slot)
}

// firstPost returns the place at which the oldest work request in the queue was posted, or nil.
func (q *queuePair) firstPost() check.Site {
	if q.checked == nil {
		return nil
	}
	q.checked.mu.Lock()
	defer q.checked.mu.Unlock()
	from, _ := q.sq.Span()
	return q.checked.posts.At(from)
}

// checkModify is the event that a command is about to change q.
func (q *queuePair) checkModify(a *uverbs.Change, s check.Site) {
	if q.checked == nil || a.Mask&uverbs.MaskState == 0 || a.To.State != uverbs.RTR && a.To.State != uverbs.RTS {
		return
	}
	q.checked.mu.Lock()
	defer q.checked.mu.Unlock()
	if a.To.State == uverbs.RTR {
		q.checked.toRTR = s
	} else {
		q.checked.toRTS = s
	}
}

// rtr returns where the program has brought the queue pair to RTR, which sets path_mtu, rq_psn and
// what the peer's requests need. c may be nil.
func (c *checkedPair) rtr() check.Site {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.toRTR
}

// checkModifies is the event that the program changes the state of q. managed says that a
// connection manager may connect it.
func (q *queuePair) checkModifies(to uverbs.State, managed bool) {
	if q.checked == nil {
		return
	}
	q.checked.mu.Lock()
	q.checked.managed = q.checked.managed || managed
	q.checked.inRTS = q.checked.inRTS || to == uverbs.RTS
	managed = q.checked.managed
	q.checked.mu.Unlock()
	if !managed && q.kind.Connected() && (to == uverbs.RTR || to == uverbs.RTS) {
		q.checkEnds(to)
	}
}

// checkedEnds are the ends of connections within a device that is checked.
type checkedEnds struct {
	mu   locks.Mutex[locks.Leaf]
	ends check.Ends // +checklocks:mu
}

// checkEnds is the event that q goes to RTR or RTS.
func (q *queuePair) checkEnds(to uverbs.State) {
	d := q.ctx.dev
	q.mu.Lock()
	a := q.life.attrs
	managed := q.life.managed
	q.mu.Unlock()
	if managed || !d.has(a.Address.DGID) {
		return
	}
	d.ends.mu.Lock()
	all := d.ends.ends.Sets(check.End{Name: q.String(), QPN: q.num, Peer: a.DestQPN, RQPSN: a.RQPSN, SQPSN: a.SQPSN, MTU: a.MTU, InRTS: to == uverbs.RTS, Reliable: q.kind == uverbs.RC})
	d.ends.mu.Unlock()
	for _, f := range all {
		of := q
		if f.Object != q.String() {
			of = d.find(a.DestQPN)
		}
		if of != nil {
			d.check.AddAt(inCall, of.checked.rtr(), f)
		}
	}
}

// checkKeyOf is the event that a datagram comes from a queue pair with a Q_Key that q does not
// have.
func (q *queuePair) checkKeyOf(key uint32, from netip.Addr, qpn uint32) {
	if q.checked != nil {
		own := q.ctx.dev.has(from.As16()) && q.ctx.dev.find(qpn) != nil
		q.checked.do(q.ctx.dev.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.RefusesDatagram(key).OfPeer(own)} })
	}
}

// checkLooksLocked is the event that q works with its attributes.
//
// +checklocks:q.mu
func (q *queuePair) checkLooksLocked() {
	if q.checked == nil || q.kind != uverbs.RC {
		return
	}
	q.checked.mu.Lock()
	own, rtr, rts := q.checked.inRTS && !q.checked.managed && !q.life.managed, q.checked.toRTR, q.checked.toRTS
	q.checked.mu.Unlock()
	if own {
		x := &q.life.attrs
		q.checked.mu.Lock()
		all := q.checked.pair.Looks(&check.Attributes{
			Timeout: x.Timeout, Retry: x.Retry, RNRRetry: x.RNRRetry, MinRNRTimer: x.MinRNRTimer, MaxRead: x.MaxRead, MaxDestRead: x.MaxDestRead,
		})
		q.checked.mu.Unlock()
		for _, f := range all {
			at := rts
			if f.Kind == check.Wait && x.Timeout > 0 || f.Kind == check.Depth && x.MaxRead <= check.MostReads {
				at = rtr
			}
			q.ctx.dev.check.AddAt(inCall, at, f)
		}
	}
}

// checkPosted is the event that a work request comes from the queue.
func (q *queuePair) checkPosted(f *flight, w *uverbs.SendWR, slot uint32) {
	if q.checked == nil {
		return
	}
	f.checked = &checkedFlight{k: q.ctx.dev.check, of: q.String(), pd: q.pd, posted: q.checkTakes(slot)}
	q.checkMemory(f, w)
	// Another thread may poll and then post meanwhile, so what waits is read first.
	waiting := int(q.sq.Len())
	_, polled := q.sendCQ.progress()
	q.checked.doAt(inCall, f.checked.posted, q.ctx.dev.check, func(p *check.Pair) []check.Finding { return p.Posts(f.signaled, waiting, polled) })
	if f.signaled {
		q.sendCQ.checkMayCome(f.checked.posted)
	}
}

// checkDone is the event that a work request is carried out. Its completion, if it gets one, comes
// behind.
func (q *queuePair) checkDone(f *flight) {
	q.checkSent(f)
	if q.checked != nil && f.signaled {
		next, _ := q.sendCQ.progress()
		q.checked.do(q.ctx.dev.check, func(p *check.Pair) []check.Finding { p.Completes(next); return nil })
	}
}

// checkEarly is the event that work requests wait in a state before RTS.
func (q *queuePair) checkEarly(s uverbs.State, at check.Site) {
	if q.checked != nil {
		q.checked.doAt(inCall, at, q.ctx.dev.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.PostsIn(s.String())} })
	}
}

// checkFlush is the event that the work requests in the queue are to be flushed.
func (q *queuePair) checkFlush() {
	if q.checked == nil {
		return
	}
	q.pd.sinks.forgets(q.String())
	n := int(q.sq.Len())
	failed := q.sendCQ.hasPolledError(q.num) || q.recvCQ.hasPolledError(q.num)
	_, polled := q.sendCQ.progress()
	_, received := q.recvCQ.progress()
	q.checked.doAt(inCall, q.firstPost(), q.ctx.dev.check, func(p *check.Pair) []check.Finding { return p.Flushes(n, failed, polled+received) })
}

// checkBegun is the event that a work request has failed before it has begun. lacksDepth says that
// it is a Read or an atomic without depth.
func (q *queuePair) checkBegun(f *flight, lacksDepth bool) {
	if q.checked != nil && lacksDepth {
		q.checked.doAt(posted, f.checked.posted, q.ctx.dev.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.ReadsWithout(f.why)} })
	}
}

// checkRefused is the event that the peer's program has posted no receive for as long as the
// attributes of q say.
func (q *queuePair) checkRefused() {
	if q.checked != nil {
		q.checked.do(q.ctx.dev.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.FindsNoReceive()} })
	}
}

// checkReceive is the event that there is no receive for a message.
func (q *queuePair) checkReceive(lost bool) {
	if q.checked == nil {
		return
	}
	q.checked.do(q.ctx.dev.check, func(p *check.Pair) []check.Finding {
		if lost {
			return []check.Finding{p.LosesDatagram()}
		}
		return []check.Finding{p.LacksReceive()}
	})
}

// checkReset is the event that q is about to be reset, and destroyed if ends is set.
func (q *queuePair) checkReset(ends bool) {
	if q.checked == nil {
		return
	}
	q.mu.Lock()
	waits := q.link != nil && q.link.out.isWaiting() // +checklocksignore: the link's queue pair is locked
	rnrRetry := q.life.attrs.RNRRetry
	q.checkLooksLocked()
	q.mu.Unlock()
	q.checked.do(q.ctx.dev.check, func(p *check.Pair) (all []check.Finding) {
		if waits {
			all = p.WaitsForReceive(rnrRetry)
		}
		p.Resets()
		return all
	})
	q.pd.sinks.forgets(q.String())
	q.checked.mu.Lock()
	q.checked.posts.Resets()
	q.checked.managed, q.checked.inRTS = false, false
	q.checked.mu.Unlock()
	q.ctx.dev.ends.mu.Lock()
	q.ctx.dev.ends.ends.Forgets(q.num)
	q.ctx.dev.ends.mu.Unlock()
	for _, x := range []*completionQueue{q.sendCQ, q.recvCQ} {
		x.checkForgets(q.num)
	}
	if ends && q.srq == nil {
		q.recvCQ.checkReceives(q.recv, false)
	}
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
	if q.ctx.dev.check != nil {
		q.checked = &checkedCQ{CQ: check.CQ{Name: q.String(), Entries: int(entries), LostAfter: q.ctx.dev.lostAfter}} // +checklocksignore: nobody else has q yet
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
	q.ctx.dev.check.AddAt(inCall, s, q.checked.MayCome(q.checked.signaled, q.receivesLocked(), int(q.ring.Len()))...)
}

// checkTook is the event that a receive that will complete in q is taken from its queue.
func (q *completionQueue) checkTook() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring != nil && len(q.checked.receives) <= fewReceives {
		q.ctx.dev.check.Add(q.checked.MayCome(q.checked.signaled, q.receivesLocked()+1, int(q.ring.Len()))...)
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

// checkPutLocked is the event that a completion has come. lost says that the ring had no room.
//
// +checklocks:q.mu
func (q *completionQueue) checkPutLocked(w *uverbs.WC, lost bool) {
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
	for _, f := range q.checked.Puts(w.QPN, w.Status != uverbs.Success, n, time.Now()) {
		if f.Kind == check.Armed {
			q.ctx.dev.check.AddAt("armed", q.checked.armedAt, f)
		} else {
			q.ctx.dev.check.Add(f)
		}
	}
}

// rubbishLocked returns a completion as the program gets it. A program that is checked, or whose
// device takes that liberty, gets rubbish in the fields of a failed one that have no meaning, so
// that it notices if it uses them.
//
// +checklocks:q.mu
func (q *completionQueue) rubbishLocked(w *uverbs.WC) *uverbs.WC {
	faults := q.ctx.dev.faults
	if w.Status == uverbs.Success || q.checked == nil && !faults.Takes(fault.Undefined) {
		return w
	}
	if q.checked == nil {
		faults.Took(fault.Undefined)
	}
	const rubbish = 0xdbdbdbdb
	return &uverbs.WC{ID: w.ID, Status: w.Status, QPN: w.QPN, Op: rubbish, Len: rubbish, SrcQPN: rubbish, Immediate: [4]byte{0xdb, 0xdb, 0xdb, 0xdb}}
}

// noteHeldLocked is the event that completions are held back, or are not any more.
//
// +checklocks:q.mu
func (q *completionQueue) noteHeldLocked() {
	if q.checked != nil {
		q.checked.Held = q.late.held.Len()
	}
}

// checkArmLocked is the event that the program asks for an event.
//
// +checklocks:q.mu
func (q *completionQueue) checkArmLocked(n notice, s check.Site) {
	if q.checked != nil && q.ring != nil && n == anyNext {
		q.checked.armedAt = s
		q.checked.Arms(int(q.ring.Len()), time.Now())
	}
}

// checkFiresLocked is the event that the program gets the event.
//
// +checklocks:q.mu
func (q *completionQueue) checkFiresLocked() {
	if q.checked != nil {
		q.checked.Fires()
	}
}

// checkEndLocked is the event that q is about to be destroyed.
//
// +checklocks:q.mu
func (q *completionQueue) checkEndLocked() {
	if q.checked != nil && q.ring != nil {
		q.ctx.dev.check.AddAt("armed", q.checked.armedAt, q.checked.Ends(int(q.ring.Len()), time.Now())...)
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

// The structs ibv_cq and ibv_qp of libibverbs, whose addresses are the user handles, have a mutex
// and a condition behind the handle, and then the numbers of acknowledged events. A condition has
// the same size in glibc and in musl, and a mutex has not on arm64.
var (
	cqAcks  = counterIn{handleAt: 24, at: 32 + condLen}
	asyncCQ = counterIn{handleAt: 24, at: 32 + condLen + 4}
	qpAcks  = counterIn{handleAt: 48, at: 64 + condLen}
)

const condLen = 48

// mutexLens has the lengths that a mutex may have.
func mutexLens(arch string) []uint64 {
	if arch == "arm64" {
		return []uint64{48, 40}
	}
	return []uint64{40}
}

// A counterIn says where a struct of libibverbs has its handle, and a number of events. The length
// of the mutex adds to the latter.
type counterIn struct{ handleAt, at uint64 }

// lacks returns how many of the events that the program has got it has not acknowledged. ok is
// false if there is no such struct. If the number may be at two places, it counts as right if one
// of them has it.
func (x counterIn) lacks(p Process, addr uint64, handle, got uint32, arch string) (n int, ok bool) {
	var h, c [4]byte
	if p.Read(h[:], addr+x.handleAt) != nil || binary.NativeEndian.Uint32(h[:]) != handle {
		return 0, false
	}
	for i, mutexLen := range mutexLens(arch) {
		if p.Read(c[:], addr+x.at+mutexLen) != nil {
			return 0, false
		}
		if m := int(int32(got - binary.NativeEndian.Uint32(c[:]))); i == 0 || m <= 0 {
			n = m
		}
	}
	return n, true
}

// ackPatience is how long the destruction of an object may wait for a thread that acknowledges its
// events.
const ackPatience = 500 * time.Millisecond

// checkAcks is the event that an object is destroyed after the program has got so many events about
// it. Its destruction waits in libibverbs until all are acknowledged.
func (c *commands) checkAcks(object, by string, x counterIn, addr uint64, handle, got uint32) {
	if c.dev.check == nil || got == 0 {
		return
	}
	p, err := c.caller.Process()
	if err != nil {
		return
	}
	if n, ok := x.lacks(p, addr, handle, got, runtime.GOARCH); !ok || n <= 0 {
		return
	}
	at := c.site
	time.AfterFunc(ackPatience, func() {
		if n, ok := x.lacks(p, addr, handle, got, runtime.GOARCH); ok && n > 0 {
			c.dev.check.AddAt(inCall, at, check.Unacknowledged(object, by, n))
		}
	})
}
