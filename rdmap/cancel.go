package rdmap

import "github.com/rddp/rddp/ddp"

// Cancel takes back the request with this completion queue and ID, so that its memory is the caller's
// again. It then completes at once, ahead of those before it, as flushed with ErrCancelled:
//
//   - a request whose message has not been given out leaves the queue;
//   - a Read or atomic that waits for its response goes on without its user: what comes for it is
//     thrown away;
//   - one that is done, and only waits for those before it, completes as what it is.
//
// Cancel reports false for a Send or Write that is under way: only the end of the stream can stop it.
// It reports true where there is no such request, because it has completed.
func (q *QP) Cancel(cq *CompletionQueue, id uint64) bool {
	q.mu.Lock()
	defer q.unlock()
	for pos := q.sq.head; pos < q.sq.tail; pos++ {
		e := q.sq.at(pos)
		if e.cq != cq || e.id != id || e.completed {
			continue
		}
		switch {
		case e.op.awaitsResponse() && !e.done && e.progress != queued:
			q.abandonLocked(e)
		case e.done && (e.progress != given || e.op.awaitsResponse()): // nobody sends from the caller's memory
			q.deregisterLocked(e) // the end of the stream may be about to, and an octet on its way
			if pos >= q.sq.head { // else whoever has ended it has completed it meanwhile
				e.complete(q)
			}
		case e.progress != queued:
			return false
		default:
			q.sq.end(e, StatusFlushed, ErrCancelled)
			q.deregisterLocked(e)
			if pos >= q.sq.head { // else the end of the stream has completed it just now
				e.complete(q)
			}
		}
		q.sq.retire(q)
		q.moveOnLocked()
		return true
	}
	return true
}

// An abandoned is a Read or atomic whose response is still to come, or is coming just now, and which nobody waits for any
// more: its Completion, which release gives out, and the memory that the response is not to change after that.
type abandoned struct {
	cq   *CompletionQueue
	sink *ddp.Region
	c    Completion
}

// abandon takes the Completion of the request away from it: from now on nobody else completes the request, for instance as
// a success with octets missing. QP.mu is held, and release is called next, without QP.mu.
func (e *sendEntry) abandon(q *QP) abandoned {
	a := abandoned{cq: e.cq, sink: e.sink}
	a.c = Completion{ID: e.id, QPNum: q.cfg.QPNum, Op: e.op, Status: StatusFlushed, Err: ErrCancelled}
	e.completed = true
	return a
}

// abandonLocked abandons a request. It lets go of mu while it waits for copies into the sink.
//
// +checklocks:q.mu
func (q *QP) abandonLocked(e *sendEntry) {
	a := e.abandon(q)
	q.unlock()
	a.release()
	q.mu.Lock()
}

// release waits for copies into the sink and gives the Completion out.
func (a abandoned) release() {
	if a.sink != nil {
		a.sink.Discard()
	}
	a.cq.complete(a.c)
}
