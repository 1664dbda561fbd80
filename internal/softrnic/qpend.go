package softrnic

import (
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// How a queue pair ends: in RESET, and in ERR.

// reset takes q to RESET: the connection ends in order, and work requests are forgotten. When it
// returns, the device does not use the program's memory for q any more.
func (q *queuePair) reset() {
	e := end{q: q}
	q.sendMu.Lock()
	q.recvMu.Lock()
	q.mu.Lock()
	e.steps = q.life.resets()
	if q.stopFaults != nil {
		q.stopFaults()
		q.stopFaults = nil
	}
	e.l = q.unlinkLocked()
	q.mu.Unlock()
	q.ctx.late.remove(q.flushing)
	q.flushing = nil
	q.recvMu.Unlock()
	q.sender.forget()
	entry := make([]byte, q.sq.EntryLen())
	for q.takeFromRing(entry) {
		q.traceDropped()
	}
	q.freePlaces()
	q.sendMu.Unlock()
	e.run()
	q.pd.placing.now() // what has come on a connection that has not become a link's
	q.sendCQ.release()
	q.recvCQ.release()
	q.traceForgotten()
}

// forgetReceives empties the queue of receives, unless it is shared.
func (q *queuePair) forgetReceives() {
	for ok := q.srq == nil; ok; {
		_, _, ok = q.recv.take()
	}
}

// left ends the reset.
func (q *queuePair) left() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.life.left()
}

// unlinkLocked takes the link away from q, whose life has gone on without it, and ends everything
// that may lead to a link. It returns the link, which the caller must end, or nil.
//
// +checklocks:q.mu
func (q *queuePair) unlinkLocked() *link {
	l := q.link
	if q.link = nil; l != nil {
		q.ending = l.settled
	}
	for c := range q.coming {
		c.Discard()
	}
	q.stopJoiningLocked()
	q.clearLocked()
	return l
}

// stopJoiningLocked ends what this end does to get a link, and refuses the Requests that wait.
//
// +checklocks:q.mu
func (q *queuePair) stopJoiningLocked() {
	if q.stopDial != nil {
		q.stopDial()
		q.stopDial = nil
	}
	for _, p := range q.requests {
		p.refuse()
	}
	q.requests = nil
	q.agenda.clear(alarmJoin)
	q.agenda.clear(alarmPeer)
}

// fail takes q to ERR, and returns the life of q there. It does nothing, and returns 0, if q is in
// RESET or in ERR, or if l is not nil and not the link of q. The work request that the peer has
// refused, or else the oldest one under way, completes with its own status, or else with the given
// one, and the others are flushed. When fail returns, the peer neither writes nor reads the
// program's memory any more.
func (q *queuePair) fail(l *link, status uverbs.WCStatus, why string) (life uint64) {
	return (&end{q: q, l: l, status: status, why: why, steps: endFails}).run()
}

// failLater is fail for a caller that holds a lock.
func (q *queuePair) failLater(l *link, status uverbs.WCStatus, why string) {
	go func() {
		defer q.ctx.recovers()
		q.fail(l, status, why)
	}()
}

// awaitEnding waits until the work requests of the last link have completed.
func (q *queuePair) awaitEnding() {
	q.mu.Lock()
	ending := q.ending
	q.mu.Unlock()
	if ending != nil {
		<-ending
	}
}

// flushReceives flushes the receives that wait, except the last leave ones, as long as q is in ERR.
// life is the number of the life of q since it failed, or 0 if it has not failed. If leave is not
// 0, flushReceives must be called again.
func (q *queuePair) flushReceives(life uint64, leave int) {
	// The context's lookout calls, too.
	defer q.ctx.recovers()
	q.recvMu.Lock() // reset waits for the completions, and they come behind that of a datagram
	defer q.recvMu.Unlock()
	q.mu.Lock()
	failed := q.life.attrs.State == uverbs.Err && q.life.number == life
	q.mu.Unlock()
	if !failed {
		return
	}
	q.pd.placing.now()
	if q.srq != nil {
		q.recvCQ.release() // a program that has the event polls until the queue is empty
		q.raise(life, uverbs.EventLastWQE)
		return
	}
	q.checkFlushedReceives(q.recv.waiting() - leave)
	for q.recv.waiting() > leave {
		entry, _, ok := q.recv.take()
		if !ok {
			break
		}
		w, _ := uverbs.ParseRecvWR(entry)
		q.recvCQ.complete(&uverbs.WC{ID: w.ID, Status: uverbs.FlushErr, Op: uverbs.WCRecv, QPN: q.num}, false)
	}
	if leave == 0 { // flush the receives that are posted later
		q.ctx.late.remove(q.flushing)
		q.flushing = q.ctx.late.add(q.recv, func() { q.flushReceives(life, 0) })
	}
}

// breakDown is the injected failure of a queue pair.
func (q *queuePair) breakDown() {
	q.mu.Lock()
	works := q.life.attrs.State == uverbs.RTS || q.life.attrs.State == uverbs.SQD
	q.mu.Unlock()
	if !works {
		return
	}
	if life := q.fail(nil, uverbs.FatalErr, "an injected fault"); life != 0 {
		q.raise(life, uverbs.EventQPFatal)
	}
}

// flush completes the work requests that have not become flights. Like send, it leaves those that
// are posted meanwhile to another goroutine.
func (s *sender) flush(q *queuePair) {
	s.forget()
	for left := q.sq.Cap(); s.take(q); left-- {
		s.complete(q, uverbs.FlushErr)
		if left == 0 {
			q.kickLater()
			return
		}
	}
}

// complete completes the work request that s has taken, and that is not a flight of a link.
func (s *sender) complete(q *queuePair, status uverbs.WCStatus) {
	q.traceDone(s.flight, status)
	q.freePlaces()
	q.sendCQ.complete(&uverbs.WC{ID: s.flight.id, Status: status, Op: uverbs.WCOpOf(s.flight.op), QPN: q.num}, false)
}

// fail completes the work request that s has taken with a status, and flushes those behind it.
// Before the program can see either, q is in ERR: the program may reset q at once. q must have no
// link, and the caller holds its sendMu.
func (s *sender) fail(q *queuePair, status uverbs.WCStatus, why string) {
	e := end{q: q, status: status, why: why}
	s.flight.status = status
	q.tells(s.flight, why)
	q.mu.Lock()
	e.steps, e.number = q.life.breaks(), q.life.number
	q.unlinkLocked()
	q.mu.Unlock()
	e.run()
}
