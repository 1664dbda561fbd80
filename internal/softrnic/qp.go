package softrnic

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A queuePair is a QP. Its life says what it does next.
//
// Locks are taken in this order: Context.mu, sendMu, recvMu, mu, and then those of a queue of
// receives, and of a CQ.
type queuePair struct {
	ctx        *Context
	handle     uint32
	num        uint32        // QPN
	kind       uverbs.QPType // RC, UC or UD
	userHandle uint64
	pd         *protectionDomain
	sendCQ     *completionQueue
	recvCQ     *completionQueue
	srq        *sharedQueue // nil if it has its own receives
	recv       *receiveQueue
	caps       uverbs.Caps
	signalAll  bool
	sqAt       uverbs.Mapping
	rqAt       uverbs.Mapping
	datagrams  *datagramPort // of a UD queue pair
	events     atomic.Uint32

	// recvMu is held while a frame or a datagram is acted upon, and while receives are flushed.
	recvMu locks.Mutex[locks.RNICReceive]
	// waits in ERR for receives that are posted later, to flush them; nil if nothing waits
	flushing *lateReceive // +checklocks:recvMu

	// A kick is a reason to look at the send queue. The goroutine that brings kicks from 0 to 1
	// looks, and looks again until no kick has come meanwhile.
	kicks  atomic.Int32
	sendMu locks.Mutex[locks.RNICSend]
	sq     *ring.Ring // read by the doorbell without sendMu
	// what the send queue does next
	sender sender // +checklocks:sendMu

	// mu guards the life, and the half of the link that sends.
	mu   locks.Mutex[locks.RNICPair]
	life life // +checklocks:mu
	// the connection to the peer; nil if there is none
	link *link // +checklocks:mu
	// ending is closed once the work requests of the last link that has ended have completed or are
	// forgotten. It is nil if no link has ended.
	ending chan struct{} // +checklocks:mu
	// connections that may become that of the link
	coming map[*conn.Conn]struct{} // +checklocks:mu
	// ends the dial that is under way; nil if there is none
	stopDial context.CancelFunc // +checklocks:mu
	// of the dial that is under way: see door.go
	secret secret // +checklocks:mu
	// Requests of peers that have come before this end was ready for them
	requests []*request // +checklocks:mu
	// what is to be done later, and the timer for it; nil before the first alarm
	agenda agenda      // +checklocks:mu
	timer  *time.Timer // +checklocks:mu
	// warns of work requests that are posted too early
	early sync.Once
	// ends the faults that begin with RTS; nil if there are none
	stopFaults func() // +checklocks:mu
}

// beginFaultsLocked begins the injected faults that begin with RTS, whether the program or a
// connection manager has taken q there.
//
// +checklocks:q.mu
func (q *queuePair) beginFaultsLocked() {
	if q.life.attrs.State == uverbs.RTS && q.stopFaults == nil {
		q.stopFaults = q.ctx.dev.faults.StartQP(q.breakDown)
	}
}

// checkCaps returns the sizes that a queue pair gets, or an error for sizes that it can't have.
func checkCaps(c uverbs.Caps, hasSRQ bool) (uverbs.Caps, syscall.Errno) {
	if hasSRQ {
		c.MaxRecvWR, c.MaxRecvSGE = 0, 0
	}
	if c.MaxSendWR > limits.MaxQPWR || c.MaxRecvWR > limits.MaxQPWR || c.MaxSendSGE > limits.MaxSGE || c.MaxRecvSGE > limits.MaxSGE ||
		c.MaxInline > maxInline {
		return c, syscall.EINVAL
	}
	// The entries are padded to a power of two, so there is more room for inline data than asked
	// for.
	const spare = 256
	c.MaxInline = max(c.MaxInline, spare, uverbs.SGELen*c.MaxSendSGE)
	c.MaxSendWR = max(c.MaxSendWR, 1)
	return c, 0
}

// CreateQP makes a queue pair.
//
// +checklocks:c.mu
func (c *commands) CreateQP(a uverbs.QP) (made uverbs.CreatedQP, e syscall.Errno) {
	if !a.Type.Connected() && a.Type != uverbs.UD || a.Flags != 0 {
		c.dev.log.Info("no such queue pair", "type", a.Type.String(), "flags", a.Flags)
		return made, syscall.EOPNOTSUPP
	}
	pd, sendCQ, recvCQ := c.pds[a.PD], c.cqs[a.SendCQ], c.cqs[a.RecvCQ]
	srq := c.srqs[a.SRQ]
	if pd == nil || sendCQ == nil || recvCQ == nil || a.HasSRQ && srq == nil {
		return made, syscall.EINVAL
	}
	caps, e := checkCaps(a.Caps, a.HasSRQ)
	if e != 0 {
		return made, e
	}
	q := &queuePair{
		ctx: c.Context, life: life{kind: a.Type}, kind: a.Type, userHandle: a.UserHandle, pd: pd, sendCQ: sendCQ, recvCQ: recvCQ, caps: caps, signalAll: a.SignalAll,
	}
	q.life.attrs.PathMig = migrated
	if a.HasSRQ {
		q.srq, q.recv = srq, &srq.receiveQueue
	}
	if e := c.makeRingsLocked(q); e != 0 {
		return made, e
	}
	if err := pd.port.enter(c.dev, q); err != nil {
		c.dev.log.Warn("no queue pair, because peers could not connect to it", "err", err)
		c.giveBackLocked(q.sqAt)
		c.giveBackLocked(q.rqAt)
		return made, syscall.ENOMEM
	}
	c.enlistLocked(q)
	return uverbs.CreatedQP{Handle: q.handle, Num: q.num, Caps: q.caps, SQ: q.sqAt, RQ: q.rqAt}, 0
}

// migrated is the state of a path that no other path replaces.
const migrated = 0

// makeRingsLocked makes the rings of q.
//
// +checklocks:c.mu
func (c *Context) makeRingsLocked(q *queuePair) syscall.Errno {
	var ok bool
	if q.sq, q.sqAt, ok = c.newRingLocked(q.caps.MaxSendWR, uverbs.SendElementLen(q.caps.MaxSendSGE, q.caps.MaxInline)); !ok {
		return syscall.ENOMEM
	}
	q.caps.MaxSendWR = min(q.sq.Cap(), limits.MaxQPWR) // a program may ask for as many as it has got
	if q.recv != nil {
		return 0
	}
	r, at, ok := c.newRingLocked(max(q.caps.MaxRecvWR, 1), uverbs.RecvElementLen(q.caps.MaxRecvSGE))
	if !ok {
		c.giveBackLocked(q.sqAt)
		return syscall.ENOMEM
	}
	q.recv, q.rqAt, q.caps.MaxRecvWR = &receiveQueue{ring: r}, at, min(r.Cap(), limits.MaxQPWR)
	return 0
}

// enlistLocked makes q an object of the context.
//
// +checklocks:c.mu
func (c *Context) enlistLocked(q *queuePair) {
	q.handle = c.newHandle()
	c.qps[q.handle] = q
	q.pd.users++
	q.sendCQ.users++
	q.recvCQ.users++
	if q.srq != nil {
		q.srq.users++
	}
	c.pairsMu.Lock()
	c.pairs[q.handle] = q
	c.pairsMu.Unlock()
}

// QueryQP returns the attributes of a queue pair.
//
// +checklocks:c.mu
func (c *commands) QueryQP(handle uint32) (uverbs.QPState, syscall.Errno) {
	q := c.qps[handle]
	if q == nil {
		return uverbs.QPState{}, syscall.EINVAL
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return uverbs.QPState{Attributes: q.life.attrs, Caps: q.caps, SignalAll: q.signalAll}, 0
}

// ModifyQP changes attributes and the state of a queue pair.
//
// +checklocks:c.mu
func (c *commands) ModifyQP(a uverbs.Change) syscall.Errno {
	q := c.qps[a.Handle]
	if q == nil {
		return syscall.EINVAL
	}
	return q.modify(&a)
}

// modify changes attributes and the state of q as the program asks.
func (q *queuePair) modify(a *uverbs.Change) syscall.Errno {
	q.mu.Lock()
	from := q.life.seen()
	if q.life.managed && from == uverbs.Err && a.Mask == uverbs.MaskState && a.To.State == uverbs.SQD {
		// librdmacm drains the queue of an RNIC before it disconnects, even if the peer was faster.
		q.mu.Unlock()
		return 0
	}
	if !a.Allowed(q.kind, from) || !valid(a) || !q.reachableLocked(a) {
		q.mu.Unlock()
		return syscall.EINVAL
	}
	a.Apply(&q.life.attrs)
	to := from
	if a.Mask&uverbs.MaskState != 0 {
		to = a.To.State
	}
	if to == uverbs.Err || to == uverbs.Reset {
		q.mu.Unlock()
		if to == uverbs.Err {
			(&end{q: q, status: uverbs.FlushErr, why: "the program has set it to ERR", steps: endToErr}).run()
		} else {
			q.reset()
		}
		return 0
	}
	if q.life.isAhead() {
		q.life.follows(to)
		q.mu.Unlock()
		return 0
	}
	early := q.isEarly(from) // the doorbell may not have looked yet
	q.life.setState(to)
	q.beginFaultsLocked()
	managed, life := q.ctx.dev.expects(far{q.life.attrs.Address.DGID, q.life.attrs.DestQPN}), q.life.number
	q.mu.Unlock()
	if early {
		q.warnEarly(from)
	}
	switch {
	case from == uverbs.Init && to == uverbs.RTR && q.kind.Connected() && managed:
		q.joinLater(life)
	case from == uverbs.Init && to == uverbs.RTR && q.kind.Connected():
		q.join(life)
	case to == uverbs.RTS:
		q.kick()
	case to == uverbs.SQD:
		q.look() // when modify returns, no goroutine begins a work request any more
	}
	return 0
}

// valid reports whether the device supports the values that a sets. It refuses what rxe refuses: a
// program may count on the other values, such as a retry count that has no room in InfiniBand's
// field.
func valid(a *uverbs.Change) bool {
	const longestTimeout = 31 // 5 bits
	to := &a.To
	for _, x := range []struct {
		mask    uverbs.Mask
		invalid bool
	}{
		{uverbs.MaskPort, to.Port != onlyPort},
		{uverbs.MaskPKey, to.PKey != 0}, // the table has one
		{uverbs.MaskMTU, to.MTU > uverbs.MTU},
		{uverbs.MaskMaxRead, uint32(to.MaxRead) > limits.MaxRead},
		{uverbs.MaskTimeout, to.Timeout > longestTimeout},
		{uverbs.MaskAltPath, to.AltPort != onlyPort || to.AltTimeout > longestTimeout},
	} {
		if a.Mask&x.mask != 0 && x.invalid {
			return false
		}
	}
	return true
}

// reachableLocked reports whether the device has, or can reach, the addresses that a sets.
//
// +checklocks:q.mu
func (q *queuePair) reachableLocked(a *uverbs.Change) bool {
	if a.Mask&uverbs.MaskAddress == 0 {
		return true
	}
	return a.To.Address.Global && int(a.To.Address.SGIDIndex) < len(q.ctx.dev.addresses)
}

// DestroyQP ends and destroys a queue pair.
//
// +checklocks:c.mu
func (c *commands) DestroyQP(handle uint32) (events uint32, e syscall.Errno) {
	q := c.qps[handle]
	if q == nil {
		return 0, syscall.EINVAL
	}
	c.destroyQPLocked(q)
	return c.reported(q.userHandle, q.events.Load()), 0
}

// destroyQPLocked ends q. When it returns, nothing looks at the rings of q any more.
//
// +checklocks:c.mu
func (c *Context) destroyQPLocked(q *queuePair) {
	c.pairsMu.Lock()
	delete(c.pairs, q.handle)
	c.pairsMu.Unlock()
	c.dev.remove(q)
	q.reset()
	q.sendMu.Lock()
	q.mu.Lock()
	q.life.destroys()
	q.mu.Unlock()
	q.sendMu.Unlock()
	if q.srq == nil {
		q.recv.close()
		c.giveBackLocked(q.rqAt)
	} else {
		q.srq.users--
	}
	c.giveBackLocked(q.sqAt)
	q.pd.users--
	q.sendCQ.users--
	q.recvCQ.users--
	delete(c.qps, q.handle)
}

// sayDrained ends the draining of SQD if no work request is on its way, and sends the event if the
// program has asked for it.
//
// +checklocks:q.sendMu
func (q *queuePair) sayDrained(l *link) {
	q.mu.Lock()
	if l != nil && !l.out.isIdle() { // +checklocksignore: the link's queue pair is locked
		q.mu.Unlock()
		return
	}
	drained := q.life.attrs.Draining // false if q has left SQD meanwhile
	notify, life := drained && q.life.attrs.SQDNotify, q.life.number
	if drained {
		q.life.attrs.Draining, q.life.attrs.SQDNotify = false, false
	}
	q.mu.Unlock()
	if notify {
		q.raise(life, uverbs.EventSQDrained)
	}
}

// raise sends an asynchronous event about q, unless the given life of q is over: a program that has
// destroyed q has no use for the event, and would take it for one of another object.
func (q *queuePair) raise(life uint64, e uverbs.EventType) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.life.number != life {
		return
	}
	q.events.Add(q.ctx.raise(q.userHandle, e))
}

// ring is kick if the program has posted something.
func (q *queuePair) ring() {
	if q.sq.Len() > 0 {
		q.kick()
	}
}

// kick looks at the send queue, or makes the goroutine that looks at it look again.
func (q *queuePair) kick() {
	if q.kicks.Add(1) > 1 {
		return
	}
	for range kickRounds {
		if q.kickOnce() {
			return
		}
	}
	go func() {
		for !q.kickOnce() {
		}
	}()
}

// kickLater is kick for a caller that holds sendMu, or that must not wait.
func (q *queuePair) kickLater() { go q.kick() }

// kickRounds is how often a goroutine looks before another one goes on: the goroutine of the
// doorbell, which all programs share, must not stay with a queue pair that is busy.
const kickRounds = 4

// kickOnce looks at the send queue, and reports whether no kick has come meanwhile.
func (q *queuePair) kickOnce() bool {
	n := q.kicks.Load()
	q.look()
	return q.kicks.CompareAndSwap(n, 0)
}

// look looks at the send queue, after a goroutine that is looking at it now.
func (q *queuePair) look() {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	q.drainLocked()
}

// isEarly reports whether work requests wait in a state in which the program must not post any.
// They are carried out in RTS, as by rxe, whose provider leaves them in the ring when the kernel
// refuses the doorbell.
func (q *queuePair) isEarly(s uverbs.State) bool { return s < uverbs.RTS && q.sq.Len() > 0 }

func (q *queuePair) warnEarly(s uverbs.State) {
	q.early.Do(func() {
		q.ctx.dev.log.Warn("work requests too early", "qpn", q.num, "state", s.String(), "why", errEarly)
	})
}

// drainLocked takes work requests from the send queue as far as the state and the link allow.
//
// +checklocks:q.sendMu
func (q *queuePair) drainLocked() {
	q.mu.Lock()
	turn, l, state := q.life.turn(), q.link, q.life.attrs.State
	q.sender.depth, q.sender.patience = int(q.life.attrs.MaxRead), q.life.patience()
	if turn == turnAwait && q.sq.Len() > 0 {
		q.waitLocked()
	}
	q.mu.Unlock()
	switch turn {
	case turnEarly:
		if q.isEarly(state) {
			q.warnEarly(state)
		}
	case turnFlush:
		q.sender.flush(q)
	case turnDatagrams:
		q.sender.sendDatagrams(q)
	case turnSend:
		q.sender.send(q, l, true)
	case turnDrain:
		if l != nil {
			q.sender.send(q, l, false)
		}
		q.sayDrained(l)
	case turnAbandon:
		if q.sender.take(q) {
			q.sender.fail(q, uverbs.RetryExceeded, "the peer is gone")
		}
	}
}
