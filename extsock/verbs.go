package extsock

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// A Region is registered memory, made by Conn.Register or Region.Window. The peer may read and write
// the memory at any time, as far as the Region's access rights allow, until Deregister or the Close of
// the connection has returned. The memory itself stays the application's. Regions may be compared with
// ==, and their methods may be called from any goroutine.
type Region struct {
	r *ddp.Region
	v *verbs
}

// Deregister ends the peer's access. When Deregister returns, no copy into or out of the memory is
// under way, and the peer does not change the memory any more. It may be called more than once. On the
// zero Region it does nothing.
func (r Region) Deregister() {
	if r.r == nil {
		return
	}
	r.v.regionsMu.Lock()
	delete(r.v.regions, r.r)
	r.v.regionsMu.Unlock()
	r.r.Deregister()
}

// Handle returns the name of the whole Region, with which the peer uses it: its STag, its Tagged Offset
// and its length. Handle.AppendTo makes 16 octets of the Handle, which the program sends to the peer by
// any means. Handle must not be called on the zero Region.
func (r Region) Handle() rdmap.Handle {
	return rdmap.Handle{STag: r.r.STag(), TO: r.r.TO(), Len: uint32(r.r.Len())}
}

// verbs is the RDMA side of a connection. It is made when it is first needed, before the switch if
// the application registers memory or posts receives, so that a connection in TCP mode stays small.
type verbs struct {
	made    atomic.Bool // all but pump is set
	qp      *rdmap.QP
	pump    *pump         // not nil from the end of startup
	writer  *streamWriter // nil in message mode
	domain  *ddp.Domain
	stream  uint64 // the number of the queue pair, and of its stream in domain
	sendCQ  *rdmap.CompletionQueue
	recvCQ  *rdmap.CompletionQueue
	ids     atomic.Uint64
	waiters sync.Pool // of completion queues, see waiter

	regionsMu locks.Mutex[locks.Regions]
	// what is registered; nil once closed
	regions     map[*ddp.Region]struct{} // +checklocks:regionsMu
	appReceives atomic.Bool              // the application has posted a receive buffer
}

// streams numbers the connections of the process, so that several can share a Protection Domain and
// each memory Region still be one connection's only.
var streams atomic.Uint64

func (c *Conn) endpoint() *verbs {
	v := &c.verbs
	c.verbsOnce.Do(func() {
		cfg := c.config()
		v.stream = streams.Add(1)
		v.domain = cfg.Domain
		if v.domain == nil {
			v.domain = new(ddp.Domain)
		}
		v.sendCQ, v.recvCQ = cfg.SendCQ, cfg.RecvCQ
		if v.sendCQ == nil {
			v.sendCQ = rdmap.NewCompletionQueue(cfg.sendDepth())
		}
		if v.recvCQ == nil {
			v.recvCQ = rdmap.NewCompletionQueue(cfg.recvCQDepth())
		}
		v.qp = rdmap.NewQP(rdmap.Config{
			SendDepth: cfg.sendDepth(), RecvDepth: cfg.recvDepth(), IRD: depth(cfg.IRD), ORD: depth(cfg.ORD),
			SendCQ: v.sendCQ, RecvCQ: v.recvCQ, SRQ: cfg.SRQ, Domain: v.domain, QPNum: v.stream, Extensions: cfg.Extensions,
		})
		v.regions = make(map[*ddp.Region]struct{}) // +checklocksignore: made is not set, so nobody else looks
		v.made.Store(true)
		if c.startup.IsGivenUp() { // Close came first and found nothing
			c.abandonVerbs()
		}
	})
	return v
}

// abandonVerbs flushes what was posted on a connection that never entered DDP mode.
func (c *Conn) abandonVerbs() {
	if v := &c.verbs; v.made.Load() && v.pump == nil {
		v.qp.Abort(net.ErrClosed)
		v.deregisterAll()
	}
}

// appReceives reports whether the application owns the receive queue.
func (c *Conn) appReceives() bool {
	return c.appQueues || c.verbs.appReceives.Load()
}

// inDDP returns the verbs of a connection that is, or was, in DDP mode.
func (c *Conn) inDDP() (*verbs, error) {
	if err := c.startup.Err(); err != nil {
		return nil, err
	}
	if c.startup.Phase() != startup.DDP {
		return nil, errNotInDDP
	}
	return &c.verbs, nil
}

// SendCQ returns the completion queue of posted operations.
func (c *Conn) SendCQ() *rdmap.CompletionQueue { return c.endpoint().sendCQ }

// RecvCQ returns the completion queue of posted receive buffers.
func (c *Conn) RecvCQ() *rdmap.CompletionQueue { return c.endpoint().recvCQ }

// Register makes b accessible to this connection's peer, as far as access says. It may be called in
// either mode. b stays the caller's, but the peer may change or read it at any time until Deregister
// returns. b must hold 1 to 2^32-1 octets. With ddp.RemoteAtomic its address must be a multiple of 8, as that
// of memory that make has returned is, else the error is ddp.ErrMisaligned.
func (c *Conn) Register(b []byte, access ddp.Access) (Region, error) {
	v := c.endpoint()
	if c.isClosed() {
		return Region{}, c.opError("register", net.ErrClosed)
	}
	r, err := v.domain.Register(b, access, v.stream)
	if err == nil && access&ddp.RemoteAtomic != 0 && r.TO()%8 != 0 { // the TO says what the address does
		r.Deregister()
		err = ddp.ErrMisaligned
	}
	if err != nil {
		return Region{}, c.opError("register", err)
	}
	v.regionsMu.Lock()
	defer v.regionsMu.Unlock()
	if v.regions == nil {
		r.Deregister()
		return Region{}, c.opError("register", net.ErrClosed)
	}
	v.regions[r] = struct{}{}
	return Region{r, v}, nil
}

// deregisterAll takes all memory back from the peer.
func (v *verbs) deregisterAll() {
	v.regionsMu.Lock()
	regions := v.regions
	v.regions = nil
	v.regionsMu.Unlock()
	for r := range regions {
		r.Deregister()
	}
}

// Post posts wr to the send queue and returns at once. wr itself is the caller's again; what its
// slices refer to is the connection's until the Completion, which comes exactly once for each wr
// that Post accepts (none for a successful Unsignaled one). Errors: ErrMode,
// rdmap.ErrQueueFull, rdmap.ErrCompletionQueueFull, rdmap.ErrNoExtensions (the peer
// has not announced RFC 7306's operations), syscall.EPIPE for what needs the answer of a peer that has closed, the
// reason of another end, and those of a wr that makes no sense.
func (c *Conn) Post(wr *rdmap.WorkRequest) error {
	v, err := c.inDDP()
	if err != nil {
		return c.opError("post", err)
	}
	if err := v.mayPost(wr); err != nil {
		return c.opError("post", err)
	}
	if err := v.qp.PostSend(wr); err != nil {
		return c.opError("post", asWriteError(c.postError(err)))
	}
	v.send(wr.Op)
	return nil
}

// mayPost refuses what would get into the byte stream: what uses up one of the peer's receive buffers.
func (v *verbs) mayPost(wr *rdmap.WorkRequest) error {
	if v.pump.bytes == nil {
		return nil
	}
	switch wr.Op {
	case rdmap.WorkSend, rdmap.WorkSendInvalidate, rdmap.WorkImmediate:
		return errByteStream
	}
	return nil
}

// send has what was posted written. An operation that is answered needs somebody to receive.
func (v *verbs) send(op rdmap.WorkOp) {
	switch op {
	case rdmap.WorkRead, rdmap.WorkFetchAdd, rdmap.WorkCmpSwap, rdmap.WorkSwap:
		v.pump.role.oneSided()
	}
	v.pump.transmit()
}

// PostBatch posts wrs in order with one write to TCP for as many as it takes. It returns how many
// were accepted; when that is not all of them, the error is of the first that was not.
func (c *Conn) PostBatch(wrs []rdmap.WorkRequest) (int, error) {
	v, err := c.inDDP()
	if err != nil {
		return 0, c.opError("post", err)
	}
	v.pump.role.oneSided() // there may be some that are answered
	defer v.pump.transmit()
	for i := range wrs {
		err := v.mayPost(&wrs[i])
		if err == nil {
			err = asWriteError(c.postError(v.qp.PostSend(&wrs[i])))
		}
		if err != nil {
			return i, c.opError("post", err)
		}
	}
	return len(wrs), nil
}

// postError says of a connection that has ended why it has.
func (c *Conn) postError(err error) error {
	if err != nil && !isFull(err) {
		if why := c.ended(); why != nil {
			return why
		}
	}
	return err
}

func isFull(err error) bool {
	return errors.Is(err, rdmap.ErrQueueFull)
}

// PostRecv posts a buffer for one inbound message. The first PostRecv, which comes before the switch
// to DDP mode (or before the answer to a Request), makes the application the owner of the receive queue: it keeps enough buffers
// posted, because a Send that finds none, or one too short, ends the connection (RFC 5041 §7.2), and
// Read can't be used. A connection of a Listener that runs startup itself is switched before (see Config.JudgeRequests).
// Config.RecvCQ does the same; with Config.SRQ buffers are posted there, and the error
// here is rdmap.ErrSharedQueue.
func (c *Conn) PostRecv(r rdmap.RecvRequest) error {
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
