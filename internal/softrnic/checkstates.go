package softrnic

import (
	"net/netip"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file tells package check about the states and the attributes of queue pairs. A method does
// nothing unless the program is checked.

// checkModify is the event that a command is about to change q.
func (q *queuePair) checkModify(a *uverbs.Change, s check.Site) {
	if q.checked == nil {
		return
	}
	if a.Mask&uverbs.MaskRQPSN != 0 {
		q.ctx.check.AddAt(inCall, s, check.LongPSN(q.String(), "rq_psn", a.To.RQPSN)...)
	}
	if a.Mask&uverbs.MaskSQPSN != 0 {
		q.ctx.check.AddAt(inCall, s, check.LongPSN(q.String(), "sq_psn", a.To.SQPSN)...)
	}
	if a.Mask&uverbs.MaskState == 0 || a.To.State != uverbs.RTR && a.To.State != uverbs.RTS {
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
	q.checked.do(q.ctx.check, (*check.Pair).Begins)
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
		q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.RefusesDatagram(key).OfPeer(own)} })
	}
}

// checkLooksLocked is the event that q works with its attributes.
//
// +checklocks:q.mu
func (q *queuePair) checkLooksLocked() {
	if q.checked == nil || q.kind != uverbs.RC {
		return
	}
	if q.life.attrs.State == uverbs.RTS { // an RNIC has brought it there, and not the program
		q.checked.do(q.ctx.check, (*check.Pair).Begins)
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
			q.ctx.check.AddAt(inCall, at, f)
		}
	}
}

// checkEarly is the event that work requests wait in a state before RTS.
func (q *queuePair) checkEarly(s uverbs.State, at check.Site) {
	if q.checked != nil {
		q.checked.doAt(inCall, at, q.ctx.check, func(p *check.Pair) []check.Finding { return []check.Finding{p.PostsIn(s.String())} })
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
	q.checked.doAt(inCall, q.firstPost(), q.ctx.check, func(p *check.Pair) []check.Finding { return p.Flushes(n, failed, polled+received) })
}

// checkFlushedReceives is the event that receives are flushed.
func (q *queuePair) checkFlushedReceives(n int) {
	if q.checked == nil || n <= 0 {
		return
	}
	failed := q.sendCQ.hasPolledError(q.num) || q.recvCQ.hasPolledError(q.num)
	_, polled := q.sendCQ.progress()
	_, received := q.recvCQ.progress()
	q.checked.do(q.ctx.check, func(p *check.Pair) []check.Finding {
		return p.FlushesReceives(n, int(p.Came()), failed, polled+received)
	})
}

// checkUnfinished is the event that the program destroys q at a place.
func (q *queuePair) checkUnfinished(s check.Site) {
	if q.checked == nil {
		return
	}
	q.sendMu.Lock()
	waiting := q.waitingSignals()
	q.sendMu.Unlock()
	q.mu.Lock()
	ready := q.life.attrs.State == uverbs.RTS
	q.mu.Unlock()
	if ready {
		q.checked.doAt(inCall, s, q.ctx.check, func(p *check.Pair) []check.Finding { return p.Ends(waiting) })
	}
}

// checkReset is the event that q is about to be reset, and destroyed if ends is set.
func (q *queuePair) checkReset(ends bool) {
	if q.checked == nil {
		return
	}
	q.mu.Lock()
	waits := q.link != nil && q.link.out.isWaiting() // +checklocksignore: the link's queue pair is locked
	rnrRetry, failed := q.life.attrs.RNRRetry, q.life.attrs.State == uverbs.Err
	q.checkLooksLocked()
	q.mu.Unlock()
	if failed && q.srq == nil {
		q.checkFlushedReceives(q.recv.waiting())
	}
	q.forgetUses()
	q.checked.mu.Lock()
	over, all := q.checked.over, q.checked.pair.HasRoom()
	q.checked.mu.Unlock()
	q.ctx.check.AddAt(inCall, over, all...)
	q.checked.do(q.ctx.check, func(p *check.Pair) (all []check.Finding) {
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
