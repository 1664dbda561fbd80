package driver

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// Write is Conn.Write in DDP mode. limit is its deadline; nil means none.
func (d *Driver) Write(b []byte, limit *wait.Deadline) (int, error) {
	if d.bytes != nil {
		return d.writer.write(b, limit)
	}
	return d.writeMessage(b, limit)
}

// writeMessage sends b as one message.
func (d *Driver) writeMessage(b []byte, limit *wait.Deadline) (int, error) {
	_, err := d.do(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: b}, sleeping, limit, nil)
	if err != nil && err != errDetached { //nolint:errorlint // as do returns it
		return 0, asWriteError(err)
	}
	return len(b), nil // errDetached: over TCP, too, some of it would be on its way by now
}

// Do posts wr and waits for its Completion. limit is a deadline, and canceled the channel of a
// context; either may be nil. If the deadline passes or canceled is closed first, Do takes the Work
// Request back. If bytes of its payload have begun to go out, the rest goes out from a copy, and
// the error is errDetached. If the rest is too long to copy, the connection ends.
func (d *Driver) Do(wr *rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) (rdmap.Completion, error) {
	if !asksPeer(wr.Op) {
		return d.do(wr, sleeping, limit, canceled)
	}
	w := d.calls.begin(len(wr.Data), d.canPoll())
	done, err := d.do(wr, w.way, limit, canceled)
	d.calls.end(w, err == nil)
	return done, err
}

// do is Do. It waits for the answer of the peer, if wr asks for one, in that way.
func (d *Driver) do(wr *rdmap.WorkRequest, w way, limit *wait.Deadline, canceled <-chan struct{}) (rdmap.Completion, error) {
	if limit.HasPassed() || canceled != nil && wait.IsClosed(canceled) {
		return rdmap.Completion{}, os.ErrDeadlineExceeded
	}
	c := d.blocking.begin(wr)
	if err := d.sendWhenRoom(wr, w, limit, canceled); err != nil {
		d.blocking.end(c)
		return rdmap.Completion{}, err
	}
	var done [1]rdmap.Completion
	for takenBack := false; ; {
		if c.cq.Poll(done[:]) == 1 {
			d.blocking.end(c)
			if takenBack && done[0].Status != rdmap.StatusOK {
				return done[0], os.ErrDeadlineExceeded
			}
			return done[0], d.end.completionError(done[0])
		}
		if w == polling {
			w = sleeping
			if d.pollAnswer(c.cq) {
				continue
			}
		}
		c.waited = true
		if takenBack {
			<-c.cq.Ready()
			continue
		}
		select {
		case <-c.cq.Ready():
			continue
		case <-limit.Done():
		case <-canceled:
		}
		takenBack = true
		if !d.qp.Cancel(c.cq, wr.ID) {
			switch detached := d.detach(wr.Data, wr.ID); {
			case !detached:
				d.Kill(errAbandoned)
			case c.cq.Len() == 0: // otherwise the connection has ended, or TCP has taken all of it meanwhile
				// The queue does not return to the pool, because its Completion is still to come.
				return rdmap.Completion{}, errDetached
			}
		}
		d.canceled()
	}
}

// sendWhenRoom posts wr and transmits. It waits while the send queue is full. Unless the caller
// then polls, home receives the answer to wr.
func (d *Driver) sendWhenRoom(wr *rdmap.WorkRequest, w way, limit *wait.Deadline, canceled <-chan struct{}) error {
	if d.tx.tryToken() { // usually nothing is queued, and wr takes one lock on its way out
		if w == sleeping && asksPeer(wr.Op) {
			d.role.oneSided()
		}
		err := d.tx.postNext(wr)
		d.transmitHeld()
		if !isFull(err) {
			return d.end.postError(err)
		}
	}
	err := d.postWhenRoom(wr, limit, canceled)
	if err == nil {
		if asksPeer(wr.Op) {
			d.role.oneSided()
		}
		d.transmit()
	}
	return err
}

// postWhenRoom posts wr. It waits while the send queue is full.
func (d *Driver) postWhenRoom(wr *rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) error {
	err := d.qp.PostSend(wr)
	for isFull(err) {
		room := d.freed.Wait()
		d.transmit()                               // Post may have put something off
		if err = d.qp.PostSend(wr); !isFull(err) { // there may have been room before we waited for it
			break
		}
		select {
		case <-room:
		case <-limit.Done():
			return os.ErrDeadlineExceeded
		case <-canceled:
			return os.ErrDeadlineExceeded
		}
	}
	return d.end.postError(err)
}

// A blocking has what the program's blocking calls share. Any goroutine may call its methods.
type blocking struct {
	ids atomic.Uint64 // numbers their Work Requests
	// spare is a completion queue that a call has waited for. others has the queues of calls that
	// waited at the same time. Connections do not share them, because the queue's channel may
	// belong to a synctest bubble.
	spare  atomic.Pointer[rdmap.CompletionQueue]
	others atomic.Pointer[sync.Pool]
}

// unawaited holds completion queues of depth 1 that no call has waited for, so they have no
// channel. A message that goes out at once needs no other, and an idle connection keeps none.
var unawaited = sync.Pool{New: func() any { return rdmap.NewCompletionQueue(1) }}

// A call is a blocking call.
type call struct {
	cq     *rdmap.CompletionQueue // of depth 1
	waited bool                   // this call, or an earlier one, has waited for cq
}

// begin gives wr an ID, and a completion queue of its own until end.
func (b *blocking) begin(wr *rdmap.WorkRequest) (c call) {
	if b.spare.Load() != nil {
		c.cq = b.spare.Swap(nil)
	}
	if others := b.others.Load(); c.cq == nil && others != nil {
		c.cq, _ = others.Get().(*rdmap.CompletionQueue)
	}
	if c.waited = c.cq != nil; !c.waited {
		c.cq = unawaited.Get().(*rdmap.CompletionQueue)
	}
	wr.CQ, wr.ID = c.cq, b.ids.Add(1)
	return c
}

// end takes the empty completion queue of a call back.
func (b *blocking) end(c call) {
	if !c.waited {
		unawaited.Put(c.cq)
		return
	}
	if b.spare.CompareAndSwap(nil, c.cq) {
		return
	}
	if b.others.Load() == nil {
		b.others.CompareAndSwap(nil, new(sync.Pool))
	}
	b.others.Load().Put(c.cq)
}
