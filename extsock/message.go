package extsock

import (
	"context"
	"syscall"

	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// readDDP is read in DDP mode.
func (c *Conn) readDDP(p []byte, m *rdmap.Completion) (int, error) {
	d := c.verbs.engine
	if s := c.verbs.rsocket; s != nil {
		return s.read(p, &c.readDeadline)
	}
	if !d.Receives() {
		return 0, errReceiveOwner
	}
	return d.ReadMessage(p, &c.readDeadline, m)
}

// AwaitEnd waits until nothing more will arrive in DDP mode, and returns why: io.EOF if the peer
// has closed the connection properly, net.ErrClosed after Close, and otherwise what has gone wrong.
// What has arrived before is in RecvCQ by then. After io.EOF this end may still send, until its
// Close.
//
// AwaitEnd is for programs that own the receive queue, which have no Read that tells them of the
// end. With Config.SRQ no Completion tells of it either, unless one of this end's operations is
// under way. For other connections the error is ErrMode. If ctx is done first, AwaitEnd returns
// ctx.Err().
func (c *Conn) AwaitEnd(ctx context.Context) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.opError("wait", untilDone(ctx, c.awaitEnd))
}

func (c *Conn) awaitEnd(limit *wait.Deadline) error {
	inDDP, err := c.enter(startup.Waiting, limit)
	if err != nil {
		return err
	}
	if !inDDP {
		return errNotInDDP
	}
	if c.verbs.rsocket != nil {
		return errRSockets
	}
	d, ok := c.verbs.engine.(*driver.Driver) // on a device, Read is the only owner
	if !ok || d.Receives() {
		return errReceiveOwner
	}
	return d.AwaitEnd(limit)
}

// writeDDP is Write in DDP mode.
func (c *Conn) writeDDP(p []byte) (int, error) {
	d := c.verbs.engine
	if s := c.verbs.rsocket; s != nil {
		return s.write(p, &c.writeDeadline)
	}
	if !d.IsByteStream() {
		limit := c.peer.Load().Capabilities.MaxMessage
		if limit > 0 && uint64(len(p)) > uint64(limit) || c.device() != "" && len(p) > d.Longest() {
			return 0, errMessageLength
		}
	}
	return d.Write(p, &c.writeDeadline)
}
