package rdmap

import "github.com/rddp/rddp/ddp"

// Cancel takes back the request with this completion queue and ID, so that its memory belongs to
// the caller again. The request completes at once, before the requests that were posted earlier,
// with StatusFlushed and ErrCanceled. What happens depends on the request:
//
//   - A request whose message has not been given out leaves the queue.
//   - A Read or atomic that waits for its response continues without its user, and keeps its place
//     in the queue until then. The QP discards the response.
//   - A request that is done, and only waits for earlier requests, completes with its own status
//     and leaves the queue.
//
// Cancel returns false for a Send or Write whose message is being sent, because only the end of the
// stream can stop it. Cancel returns true if there is no such request, because that request has
// completed.
func (q *QP) Cancel(cq *CompletionQueue, id uint64) bool {
	q.mu.Lock()
	defer q.unlock()
	for pos := q.sq.ring.Head(); pos < q.sq.ring.Tail(); pos++ {
		e := q.sq.at(pos)
		if e.cq != cq || e.id != id || e.completed {
			continue
		}
		switch {
		case e.op.awaitsResponse() && !e.done && e.progress != queued:
			q.sq.early++
			q.abandonLocked(e)
		case e.done && (e.progress != given || e.op.awaitsResponse()): // the caller's memory is no longer read
			q.deregisterLocked(pos)      // this may wait for a copy, while the stream ends
			if pos >= q.sq.ring.Head() { // otherwise the end of the stream has completed it meanwhile
				q.sq.completeEarly(q, e)
			}
		case e.progress != queued:
			return false
		default:
			q.sq.end(e, StatusFlushed, ErrCanceled)
			q.deregisterLocked(pos)
			if pos >= q.sq.ring.Head() { // otherwise the end of the stream has just completed it
				q.sq.completeEarly(q, e)
			}
		}
		q.sq.retire(q)
		q.moveOnLocked()
		return true
	}
	return true
}

// completeEarly completes a request before its turn, unless another Cancel has.
func (s *sendQueue) completeEarly(q *QP, e *sendEntry) {
	if !e.completed {
		s.early++
	}
	e.complete(q)
}

// An abandoned is a Read or atomic that was canceled while its response was outstanding. It holds
// the Completion, which release gives out, and the sink, which the response must not change after
// that.
type abandoned struct {
	cq   *CompletionQueue
	sink *ddp.Region
	c    Completion
}

// abandon takes the Completion away from the request. After that nothing else can complete the
// request, for instance as a success with bytes missing. The caller holds QP.mu and then calls
// release without QP.mu.
func (e *sendEntry) abandon(q *QP) abandoned {
	a := abandoned{cq: e.cq, sink: e.sink}
	a.c = Completion{ID: e.id, QPNum: q.cfg.QPNum, Op: e.op, Status: StatusFlushed, Err: ErrCanceled}
	e.completed = true
	return a
}

// abandonLocked abandons a request. It releases mu while it waits for copies into the sink.
//
// +checklocks:q.mu
func (q *QP) abandonLocked(e *sendEntry) {
	a := e.abandon(q)
	q.unlocked(a.release)
}

// release waits for copies into the sink and gives out the Completion.
func (a abandoned) release() {
	if a.sink != nil {
		ddp.Redirect(a.sink, nil)
	}
	a.cq.complete(a.c)
}
