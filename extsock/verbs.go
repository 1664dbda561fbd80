package extsock

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// A Region is registered memory, made by Conn.Register or Region.Window. The peer may read and
// write the memory at any time, as far as the Region's access rights allow, until Deregister or the
// connection's Close returns, or until a Send with Invalidate of the peer has been received. The
// memory itself remains the program's. Regions may be compared with ==, and their methods may be
// called from any goroutine.
type Region struct {
	r *ddp.Region
	v *verbs
	m *Memory // of a Region on a device, where r and v are nil
}

// Deregister ends the peer's access. When it returns, no copy into or out of the memory is under
// way, and the peer cannot change the memory any more. Deregister may be called more than once. On
// the zero Region it does nothing.
func (r Region) Deregister() {
	if r.r == nil {
		return
	}
	r.v.forget(r.r)
	r.r.Deregister()
}

// Handle returns the Handle of the whole Region: its STag, its Tagged Offset and its length in
// bytes. The peer needs the Handle to use the Region. Handle.AppendTo encodes it in 16 bytes, which
// the program sends to the peer by any means. Handle panics on the zero Region.
func (r Region) Handle() rdmap.Handle {
	if r.m != nil {
		return r.m.handle()
	}
	return rdmap.Handle{STag: r.r.STag(), TO: r.r.TO(), Len: uint32(r.r.Len())}
}

// verbs is the RDMA side of a connection. The method endpoint builds it when it is first needed, so
// that a connection in TCP mode stays small. That is before the switch if the program registers
// memory or posts receives.
type verbs struct {
	made        atomic.Bool // all fields are set
	appReceives atomic.Bool // the program has called PostRecv in time
	qp          *rdmap.QP
	domain      *ddp.Domain
	stream      uint64 // number of the queue pair, and of its stream in domain
	sendCQ      *CompletionQueue
	recvCQ      *CompletionQueue

	regionsMu locks.Mutex[locks.Regions]
	// the registered memory; nil until there is some
	regions map[ddp.STag]*ddp.Region // +checklocks:regionsMu
	// deregisterAll has been called
	deregistered bool // +checklocks:regionsMu
}

// resources are the queue pair, and what a connection makes for itself if its Config does not name
// it.
type resources struct {
	qp             rdmap.QP
	domain         ddp.Domain
	sendCQ, recvCQ CompletionQueue
}

func (c *Conn) endpoint() *verbs {
	v := &c.verbs
	c.verbsOnce.Do(func() {
		cfg := c.cfg
		v.stream = conn.NewNumber()
		own := new(resources)
		v.domain, v.sendCQ, v.recvCQ = cfg.Domain, cfg.SendCQ, cfg.RecvCQ
		if v.domain == nil {
			v.domain = &own.domain
		}
		if v.sendCQ == nil {
			v.sendCQ = &own.sendCQ
			v.sendCQ.done.Init(cfg.sendDepth())
		}
		if v.recvCQ == nil {
			v.recvCQ = &own.recvCQ
			v.recvCQ.done.Init(cfg.recvCQDepth())
		}
		v.qp = &own.qp
		v.qp.Init(rdmap.Config{
			SendDepth: cfg.sendDepth(), RecvDepth: cfg.recvDepth(), IRD: depth(cfg.IRD), ORD: depth(cfg.ORD),
			SendCQ: &v.sendCQ.done, RecvCQ: &v.recvCQ.done, SRQ: cfg.SRQ, Domain: v.domain, QPNum: v.stream, Extensions: cfg.Extensions,
		})
		v.made.Store(true)
		if c.startup.IsGivenUp() { // Close came first, and found no verbs to abandon
			c.abandonVerbs()
		}
	})
	return v
}

// abandonVerbs flushes the Work Requests of a connection that never entered DDP mode.
func (c *Conn) abandonVerbs() {
	if v := &c.verbs; v.made.Load() && !c.isSwitched() {
		v.qp.Abort(net.ErrClosed)
		v.deregisterAll()
	}
}

// appReceives reports whether the program owns the receive queue.
func (c *Conn) appReceives() bool {
	return c.appQueues || c.verbs.appReceives.Load()
}

// inDDP returns the engine of a connection that is, or was, in DDP mode.
func (c *Conn) inDDP() (ddpEngine, error) {
	if !c.ok() {
		return nil, syscall.EINVAL
	}
	if err := c.startup.Err(); err != nil {
		return nil, err
	}
	if c.startup.Phase() != startup.DDP {
		return nil, errNotInDDP
	}
	return c.ddp, nil
}

// SendCQ returns the completion queue of the send queue: Config.SendCQ, or the connection's own. It
// holds the Completions of Post and PostBatch.
func (c *Conn) SendCQ() *CompletionQueue {
	if !c.ok() {
		return nil
	}
	return c.endpoint().sendCQ
}

// RecvCQ returns the completion queue of the receive queue: Config.RecvCQ, or the connection's own.
// It holds the Completions of PostRecv and Config.SRQ.
func (c *Conn) RecvCQ() *CompletionQueue {
	if !c.ok() {
		return nil
	}
	return c.endpoint().recvCQ
}

// Register gives the peer of this connection the given access to b, until Deregister or Close
// returns. It may be called in either mode. b remains the caller's, but meanwhile the peer may read
// or change it at any time. The length of b must be 1 to 2^32-1 bytes. With ddp.RemoteAtomic the
// address of b must be a multiple of 8, as in memory that make returns, or the error is
// ddp.ErrMisaligned. After Close the error is net.ErrClosed.
//
// A connection on a device (Config.Backend) reaches only memory of NewMemory. The error is then
// errors.ErrUnsupported.
func (c *Conn) Register(b []byte, access ddp.Access) (Region, error) {
	if !c.ok() {
		return Region{}, syscall.EINVAL
	}
	return c.engine().register(b, access)
}

// enlist adds r to the list of registered memory. It reports false if deregisterAll has been
// called.
func (v *verbs) enlist(r *ddp.Region) bool {
	v.regionsMu.Lock()
	defer v.regionsMu.Unlock()
	if v.deregistered {
		return false
	}
	if v.regions == nil {
		v.regions = make(map[ddp.STag]*ddp.Region)
	}
	v.regions[r.STag()] = r
	return true
}

// invalidated forgets the Region that the peer has invalidated with a Send. Otherwise a connection
// would hold the memory of all Regions that its peer has invalidated.
func (v *verbs) invalidated(s ddp.STag) {
	v.regionsMu.Lock()
	r := v.regions[s]
	v.regionsMu.Unlock()
	if r == nil {
		return // a window, or a Region of the Domain that no connection has registered
	}
	// If the stream ended before the message came, the Region goes on until Close.
	if _, err := v.domain.Check(s, r.TO(), 0, 0, v.stream); err != nil {
		v.forget(r)
	}
}

// forget removes r from the list of registered memory.
func (v *verbs) forget(r *ddp.Region) {
	v.regionsMu.Lock()
	defer v.regionsMu.Unlock()
	if v.regions[r.STag()] == r { // another Region may have the STag by now
		delete(v.regions, r.STag())
	}
}

// deregisterAll ends the peer's access to all registered memory.
func (v *verbs) deregisterAll() {
	v.regionsMu.Lock()
	regions := v.regions
	v.regions, v.deregistered = nil, true
	v.regionsMu.Unlock()
	for _, r := range regions {
		r.Deregister()
	}
}

// Post adds wr to the send queue and returns at once. The caller may reuse wr itself. The memory to
// which the slices of wr refer belongs to the connection until the Completion. Each wr that Post
// accepts has exactly one Completion, in SendCQ. A wr that is Unsignaled has none if it succeeds.
//
// When Work Requests come quickly one after another, Post puts some of them off, so that one write
// to TCP takes many. They are sent at the latest when a batch is full, when the program finds
// SendCQ or RecvCQ empty, calls Ready or waits, when it calls any other method of the connection
// that sends or waits, or when it has done none of this for about 200 µs. To send a Work Request at
// once, use PostBatch. A Work Request with a completion queue of its own is never put off.
//
// Work Requests leave in order. But a later Write can overtake an earlier Read or atomic at the
// peer, because an operation that has an answer is complete only with the answer. A wr with Fence
// waits for the answers to all earlier operations. Immediate Data reaches a peer that uses Read as
// a message of length 0: only a program that owns its receive queue gets the value.
//
// Post returns one of these errors:
//
//	ErrMode                       the connection is not in DDP mode, or wr would send a message
//	                              into the byte stream
//	rdmap.ErrQueueFull            the send queue holds Config.SendDepth Work Requests
//	rdmap.ErrCompletionQueueFull  SendCQ has no room for another Completion
//	rdmap.ErrNoExtensions         the peer has not announced the operations of RFC 7306
//	rdmap.ErrNoORD                wr is a Read or an atomic, and startup agreed on no outbound ones
//	rdmap.ErrBadRequest           wr itself is wrong
//	rdmap.ErrMessageTooLong       wr has more than 2^32-1 bytes
//	syscall.EPIPE                 wr needs an answer of a peer that has closed the connection
//
// If the connection has ended, Post returns the reason.
//
// On a device (Config.Backend), Data must lie in memory of NewMemory of that device. If it does
// not, or if wr asks for what the device lacks, the error is errors.ErrUnsupported. The payload of
// an Inline may be anywhere. A device has no masks, no Swap, no Immediate Data and no Send with
// Invalidate. Data and Gather together have at most 6 pieces, unless they are Inline. An RNIC has
// no atomics. Post puts nothing off there.
func (c *Conn) Post(wr *rdmap.WorkRequest) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	e, err := c.inDDP()
	if err != nil {
		return c.opError("post", err)
	}
	return c.opError("post", e.Post(wr))
}

// PostBatch posts wrs in order, as Post does, and sends them at once, with as few writes to TCP as
// possible. It also sends what Post has put off. It returns the number of Work Requests that were
// accepted. If that is less than len(wrs), the error is that of the first one that was not.
func (c *Conn) PostBatch(wrs []rdmap.WorkRequest) (int, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	e, err := c.inDDP()
	if err != nil {
		return 0, c.opError("post", err)
	}
	n, err := e.PostBatch(wrs)
	return n, c.opError("post", err)
}

// PostRecv adds a buffer for one inbound message to the receive queue. The buffer belongs to the
// connection until its Completion, in RecvCQ.
//
// The first PostRecv makes the program the owner of the receive queue. It must come before the
// switch to DDP mode, or before the answer to a Request; later the error is ErrMode. A
// Listener that runs startup itself switches its connections earlier (see Config.JudgeRequests).
// Setting Config.RecvCQ also makes the program the owner.
//
// The owner must keep enough buffers posted. A Send that finds no buffer, or a buffer that is too
// short, ends the connection (RFC 5041 §7.2). Read returns ErrMode.
//
// With Config.SRQ the error is rdmap.ErrBadRequest: post the buffers to the SRQ instead.
func (c *Conn) PostRecv(r rdmap.RecvRequest) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	v := c.endpoint()
	if !c.appReceives() {
		c.mu.Lock()
		late := false
		switch c.startup.Phase() {
		case startup.Requesting, startup.Receiving, startup.Answering, startup.DDP, startup.Terminating:
			late = true
		}
		if !late {
			v.appReceives.Store(true)
		}
		c.mu.Unlock()
		if late {
			return c.opError("post", errReceiveOwner)
		}
	}
	err := v.qp.PostRecv(r)
	if err != nil && c.isClosed() {
		err = net.ErrClosed
	}
	return c.opError("post", err)
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
	e, err := c.enter(startup.Waiting, limit)
	if err != nil {
		return err
	}
	return e.awaitEnd(limit)
}
