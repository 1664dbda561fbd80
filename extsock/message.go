package extsock

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/rddp/rddp/rdmap"
)

var errDeadline = os.ErrDeadlineExceeded

// An inbox is where messages wait for Read: RecvDepth buffers, each posted until a message is in it
// and again when Read has taken the last octet out.
type inbox struct {
	own     bool // the connection owns the receive queue; fixed before the switch ends
	cq      *rdmap.CompletionQueue
	lock    chan struct{} // capacity 1: held by the Read that looks
	buffers [][]byte      // by the ID of their Recv
	unread  []byte        // the rest of the message that the last Read began; lock guards it
	id      uint64        // whose buffer unread is; lock guards it
}

// fill posts the buffers. The connection is about to enter DDP mode.
func (c *Conn) fillInbox() error {
	in := &c.inbox
	in.own = true
	in.lock = make(chan struct{}, 1)
	in.cq = c.verbs.recvCQ
	depth, size := c.cfg.recvDepth(), c.cfg.recvSize()
	memory := make([]byte, depth*size)
	for id := range depth {
		b := memory[id*size : (id+1)*size : (id+1)*size]
		in.buffers = append(in.buffers, b)
		if err := c.verbs.qp.PostRecv(rdmap.RecvRequest{ID: uint64(id), Buf: b}); err != nil {
			return err
		}
	}
	return nil
}

// readMessage is Read in DDP mode.
func (c *Conn) readMessage(p []byte) (int, error) {
	in := &c.inbox
	if !in.own {
		return 0, ErrReceiveOwner
	}
	expired := c.readDeadline.done()
	if isClosed(expired) {
		return 0, errDeadline
	}
	select {
	case in.lock <- struct{}{}:
		defer func() { <-in.lock }()
	case <-expired:
		return 0, errDeadline
	}
	if len(in.unread) == 0 {
		done, err := c.nextMessage(expired)
		if err != nil {
			return 0, err
		}
		in.id, in.unread = done.ID, in.buffers[done.ID][:done.Len]
	}
	n := copy(p, in.unread)
	in.unread = in.unread[n:]
	if len(in.unread) == 0 {
		// The error of a connection that has ended meanwhile comes with the next Read.
		_ = c.verbs.qp.PostRecv(rdmap.RecvRequest{ID: in.id, Buf: in.buffers[in.id]})
		c.verbs.pump.wake()
	}
	return n, nil
}

// nextMessage waits for the next message. Its buffer is no longer posted.
func (c *Conn) nextMessage(expired <-chan struct{}) (rdmap.Completion, error) {
	var done [1]rdmap.Completion
	p := c.verbs.pump
	p.role.wait(c.inbox.cq, !c.readDeadline.isSet())
	defer p.role.served()
	for {
		// Look at the end first and the queue second: nothing comes into the queue after the end.
		over := isClosed(c.verbs.pump.stopped)
		if c.inbox.cq.Poll(done[:]) == 1 {
			if done[0].Status == rdmap.StatusOK {
				return done[0], nil
			}
			return rdmap.Completion{}, c.completionError(done[0])
		}
		if over {
			return rdmap.Completion{}, c.ended()
		}
		if p.drive(c.inbox.cq, &c.readDeadline) {
			continue
		}
		select {
		case <-c.inbox.cq.Ready():
		case <-p.role.offer:
		case <-c.verbs.pump.stopped:
		case <-expired:
			return rdmap.Completion{}, errDeadline
		}
	}
}

// writeMessage is Write in DDP mode.
func (c *Conn) writeMessage(p []byte) (int, error) {
	if limit := c.peer.capabilities.maxMessage; limit > 0 && uint64(len(p)) > uint64(limit) {
		return 0, ErrMessageTooLong
	}
	_, err := c.do(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: p}, c.writeDeadline.done())
	if err == io.EOF { //nolint:errorlint // as ended returns it
		err = syscall.EPIPE // what TCP says to a writer whose peer has gone
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// do posts wr and waits for its Completion: a blocking call is an asynchronous one and a wait. When
// over is closed first it takes the Work Request back; where that is not possible, because octets
// of its payload are on their way, the connection fails.
func (c *Conn) do(wr *rdmap.WorkRequest, over <-chan struct{}) (rdmap.Completion, error) {
	if isClosed(over) {
		return rdmap.Completion{}, errDeadline
	}
	v := &c.verbs
	cq := v.waiter()
	wr.CQ, wr.ID = cq, v.ids.Add(1)
	if err := c.postWhenRoom(wr, over); err != nil {
		v.waiters.Put(cq)
		return rdmap.Completion{}, err
	}
	v.send(wr.Op)
	var done [1]rdmap.Completion
	for cancelled := false; ; {
		if cq.Poll(done[:]) == 1 {
			v.waiters.Put(cq)
			if cancelled && done[0].Status != rdmap.StatusOK {
				return done[0], errDeadline
			}
			return done[0], c.completionError(done[0])
		}
		if cancelled {
			<-cq.Ready()
			continue
		}
		select {
		case <-cq.Ready():
		case <-over:
			cancelled = true
			if !v.qp.Cancel(cq, wr.ID) {
				v.pump.kill(errAbandoned)
			}
			v.pump.freed.broadcast()
		}
	}
}

// waiter returns the completion queue of one blocking call.
func (v *verbs) waiter() *rdmap.CompletionQueue {
	if cq, ok := v.waiters.Get().(*rdmap.CompletionQueue); ok {
		return cq
	}
	return rdmap.NewCompletionQueue(1)
}

// postWhenRoom posts wr, waiting while the send queue is full.
func (c *Conn) postWhenRoom(wr *rdmap.WorkRequest, over <-chan struct{}) error {
	err := c.verbs.qp.PostSend(wr)
	for isFull(err) {
		room := c.verbs.pump.freed.wait()
		if err = c.verbs.qp.PostSend(wr); !isFull(err) { // there may have been room before we waited for it
			break
		}
		select {
		case <-room:
		case <-over:
			return errDeadline
		}
	}
	return c.postError(err)
}

// ended says why the connection in DDP mode has ended: io.EOF after a proper close by the peer,
// net.ErrClosed after our own, else the failure. It is nil while it has not.
func (c *Conn) ended() error {
	err := c.verbs.pump.why()
	if err == nil && isClosed(c.verbs.pump.stopped) {
		return net.ErrClosed
	}
	if err == io.EOF { //nolint:errorlint // set by the pump as it is
		if c.isClosed() {
			return net.ErrClosed
		}
	}
	return err
}
