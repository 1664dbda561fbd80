package driver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// Post adds wr to the send queue. It sends what is queued, or puts that off.
func (d *Driver) Post(wr *rdmap.WorkRequest) error {
	err := d.qp.PostSend(wr)
	if (isFull(err) || errors.Is(err, rdmap.ErrCompletionQueueFull)) && d.later.waits() { // full of what Post itself has put off
		d.Flush()
		err = d.qp.PostSend(wr)
	}
	if err != nil {
		return asWriteError(d.end.postError(err))
	}
	d.sendLater(wr)
	return nil
}

// Queue adds wr to the send queue, and sends nothing: Flush does.
func (d *Driver) Queue(wr *rdmap.WorkRequest) error {
	return asWriteError(d.end.postError(d.qp.PostSend(wr)))
}

// PostBatch posts wrs in order, and then sends them all. It stops at the first one for which
// mayPost returns an error, or that the queue pair does not accept. It returns that error, and how
// many were accepted.
func (d *Driver) PostBatch(wrs []rdmap.WorkRequest, mayPost func(*rdmap.WorkRequest) error) (int, error) {
	defer d.Flush()
	for i := range wrs {
		d.role.awaitAnswer(wrs[i].Op)
		err := mayPost(&wrs[i])
		if err == nil {
			err = asWriteError(d.end.postError(d.qp.PostSend(&wrs[i])))
		}
		if err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

// send sends posted Work Requests, of which the last is an op.
func (d *Driver) send(op rdmap.WorkOp) {
	d.role.awaitAnswer(op)
	d.transmit()
}

// Write is Conn.Write in DDP mode. limit is its deadline; nil means none.
func (d *Driver) Write(b []byte, limit *wait.Deadline) (int, error) {
	if d.bytes != nil {
		return d.writer.write(b, limit)
	}
	return d.writeMessage(b, limit)
}

// writeMessage sends b as one message.
func (d *Driver) writeMessage(b []byte, limit *wait.Deadline) (int, error) {
	_, err := d.Do(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: b}, limit, nil)
	if err != nil && err != errDetached { //nolint:errorlint // as do returns it
		return 0, asWriteError(err)
	}
	return len(b), nil // over TCP, too, some of it would be on its way by now
}

// Do posts wr and waits for its Completion. limit is a deadline, and canceled the channel of a
// context; either may be nil. If the deadline passes or canceled is closed first, Do takes the Work
// Request back. If bytes of its payload have begun to go out, the rest goes out from a copy, and
// the error is errDetached. If the rest is too long to copy, the connection ends.
func (d *Driver) Do(wr *rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) (rdmap.Completion, error) {
	if limit.HasPassed() || canceled != nil && wait.IsClosed(canceled) {
		return rdmap.Completion{}, os.ErrDeadlineExceeded
	}
	c := d.blocking.begin(wr)
	if err := d.sendWhenRoom(wr, limit, canceled); err != nil {
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
			case c.cq.Len() == 0: // otherwise the connection has ended, or TCP has got it all meanwhile
				// The queue does not return to the pool, because its Completion is still to come.
				return rdmap.Completion{}, errDetached
			}
		}
		d.canceled()
	}
}

// A blocking is what the program's blocking calls share. Any goroutine may call its methods.
type blocking struct {
	ids atomic.Uint64 // numbers their Work Requests
	// spare is a completion queue that a call has waited for. others has those of calls that waited
	// at the same time. Connections do not share them, because the queue's channel may belong to a
	// synctest bubble.
	spare  atomic.Pointer[rdmap.CompletionQueue]
	others atomic.Pointer[sync.Pool]
}

// unawaited holds completion queues of depth 1 that no call has waited for, so they have no
// channel. A message that goes out at once needs no other, and an idle connection keeps none.
var unawaited = sync.Pool{New: func() any { return rdmap.NewCompletionQueue(1) }}

// A call is a blocking call.
type call struct {
	cq     *rdmap.CompletionQueue // of depth 1
	waited bool                   // this call, or another one before it, has waited for cq
}

// begin gives wr a number, and a completion queue of its own until end.
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

// sendWhenRoom posts wr and transmits. It waits while the send queue is full.
func (d *Driver) sendWhenRoom(wr *rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) error {
	if d.tx.tryToken() { // mostly nothing is queued, and wr takes one lock on its way out
		d.role.awaitAnswer(wr.Op)
		err := d.tx.postNext(wr)
		d.transmitHeld()
		if !isFull(err) {
			return d.end.postError(err)
		}
	}
	err := d.postWhenRoom(wr, limit, canceled)
	if err == nil {
		d.send(wr.Op)
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

func isFull(err error) bool {
	return err != nil && errors.Is(err, rdmap.ErrQueueFull)
}

// asWriteError returns the error that TCP gives to a Write behind the peer's FIN, wherever the FIN
// came.
func asWriteError(err error) error {
	switch {
	case err == io.EOF: //nolint:errorlint // as the driver notes it
		return syscall.EPIPE
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", syscall.EPIPE, err)
	}
	return err
}

var (
	// errDetached is the error of a call whose operation goes on after the call.
	errDetached = fmt.Errorf("%w: the operation goes on", os.ErrDeadlineExceeded)

	errCut          = fmt.Errorf("the peer's FIN inside an RDMA Message: %w", io.ErrUnexpectedEOF)
	errAbandoned    = errors.New("a message was abandoned in the middle")
	errCloseTimeout = errors.New("close: the peer does not accept the queued data")

	ErrIdleTimeout  = wait.Timeout(fmt.Errorf("%w: nothing was sent or received for too long", wait.ErrLimit))
	ErrWriteTimeout = wait.Timeout(fmt.Errorf("%w: its TCP accepts no data", wait.ErrLimit))
)
