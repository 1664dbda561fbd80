package extsock

import (
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

var errDeadline = os.ErrDeadlineExceeded

// readDDP is Read in DDP mode.
func (c *Conn) readDDP(p []byte) (int, error) {
	pump := c.verbs.pump
	in := pump.in
	if in == nil {
		return 0, errReceiveOwner
	}
	if len(p) == 0 && in.framed {
		return 0, nil // as TCP, whatever the deadline
	}
	over := c.readDeadline.done()
	if isClosed(over) {
		return 0, errDeadline
	}
	select {
	case in.lock <- struct{}{}:
		locks.Acquired[locks.Reader]()
		defer func() { locks.Released[locks.Reader](); <-in.lock }()
	case <-over:
		return 0, errDeadline
	}
	for {
		// Look whether it is over first and into the inbox second: nothing comes after the end.
		silent, ended := isClosed(pump.silent), in.over()
		var n int
		var ok bool
		if in.has() {
			n, ok = pump.takeUnread(p)
		}
		switch {
		case c.isClosed():
			return n, net.ErrClosed
		case ok:
			return n, nil
		case ended:
			return 0, io.EOF
		case silent:
			return 0, c.readEnd()
		}
		if n, ok, err := c.await(p, over); ok || err != nil {
			return n, err
		}
	}
}

// takeUnread gives a reader what there is in the inbox.
func (p *pump) takeUnread(b []byte) (n int, ok bool) {
	n, freed, back, ok := p.in.take(b)
	p.count.readCopied(n)
	p.roomFor(freed, back)
	return n, ok
}

// await waits until there is something in the inbox, or in p: then ok is set. It returns at the end, too.
func (c *Conn) await(p []byte, over <-chan struct{}) (n int, ok bool, err error) {
	pump := c.verbs.pump
	in := pump.in
	in.await(p)
	pump.role.wait(!c.readDeadline.isSet())
	for err == nil && !in.has() && !isClosed(pump.silent) && !c.isClosed() {
		if pump.drive(&c.readDeadline) {
			continue
		}
		select {
		case <-in.ready:
		case <-pump.role.offer:
		case <-pump.silent:
		case <-c.closed:
		case <-over:
			err = errDeadline
		}
	}
	pump.role.served()
	if n, ok = in.leave(); ok {
		pump.count.direct.Add(uint64(n))
		err = nil
	}
	return n, ok, err
}

// roomFor notes that Read has freed so many buffers, for some of which the peer of a byte stream gets its credits back.
func (p *pump) roomFor(freed, back int) {
	switch {
	case freed == 0:
	case p.bytes != nil:
		p.freedStream(back)
	default:
		p.wake()
	}
}

// readEnd says why nothing more comes. A byte stream that is in order has said so before TCP does.
func (c *Conn) readEnd() error {
	err := c.ended()
	if err == io.EOF && c.verbs.pump.bytes != nil { //nolint:errorlint // as ended returns it
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeDDP is Write in DDP mode.
func (c *Conn) writeDDP(p []byte) (int, error) {
	if w := c.verbs.writer; w != nil {
		return w.write(p, c.writeDeadline.done())
	}
	return c.writeMessage(p)
}

// writeMessage is Write in message mode.
func (c *Conn) writeMessage(p []byte) (int, error) {
	if limit := c.peer.Load().Capabilities.MaxMessage; limit > 0 && uint64(len(p)) > uint64(limit) {
		return 0, errMessageLength
	}
	_, err := c.do(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: p}, c.writeDeadline.done(), nil)
	if err != nil && err != errDetached { //nolint:errorlint // as do returns it
		return 0, asWriteError(err)
	}
	return len(p), nil // TCP, too, would have taken some of it by now
}

// do posts wr and waits for its Completion: a blocking call is an asynchronous one and a wait. If over, of a deadline, or
// canceled, of a context, is closed first, do takes the Work Request back. Where that is not possible, because bytes of
// its payload are on their way, they go out from a copy and the error is errDetached; if that is too much to copy, the
// connection fails. canceled may be nil.
func (c *Conn) do(wr *rdmap.WorkRequest, over, canceled <-chan struct{}) (rdmap.Completion, error) {
	if isClosed(over) || isClosed(canceled) {
		return rdmap.Completion{}, errDeadline
	}
	v := &c.verbs
	cq := v.waiter()
	wr.CQ, wr.ID = cq, v.ids.Add(1)
	if err := c.postWhenRoom(wr, over, canceled); err != nil {
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
			continue
		case <-over:
		case <-canceled:
		}
		cancelled = true
		if !v.qp.Cancel(cq, wr.ID) {
			if v.pump.detach(wr.Data) {
				// Its completion queue is nobody's from now on.
				return rdmap.Completion{}, errDetached
			}
			v.pump.kill(errAbandoned)
		}
		v.pump.cancelled()
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
func (c *Conn) postWhenRoom(wr *rdmap.WorkRequest, over, canceled <-chan struct{}) error {
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
		case <-canceled:
			return errDeadline
		}
	}
	return c.postError(err)
}

// ended says why the connection in DDP mode has ended: io.EOF after a proper close by the peer,
// net.ErrClosed after our own, else the failure. It is nil while it has not.
func (c *Conn) ended() error {
	err := c.verbs.pump.why()
	if err == nil && isClosed(c.verbs.pump.silent) {
		return net.ErrClosed
	}
	if err == io.EOF { //nolint:errorlint // set by the pump as it is
		if c.isClosed() {
			return net.ErrClosed
		}
	}
	return err
}
