package softrnic

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
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
	stopFaults func()       // +checklocks:mu
	checked    *checkedPair // nil unless the program is checked
	traced     *tracedPair  // nil unless the device is traced
	// how late work requests begin; nil if they begin at once. mu guards what it points to.
	slow *fault.Dice
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
func (d *Device) checkCaps(c uverbs.Caps, hasSRQ bool) (uverbs.Caps, error) {
	if hasSRQ {
		c.MaxRecvWR, c.MaxRecvSGE = 0, 0
	}
	for _, x := range []struct {
		name       string
		asked, max uint32
	}{
		{"max_send_wr", c.MaxSendWR, d.limits.MaxQPWR}, {"max_recv_wr", c.MaxRecvWR, d.limits.MaxQPWR},
		{"max_send_sge", c.MaxSendSGE, d.limits.MaxSGE}, {"max_recv_sge", c.MaxRecvSGE, d.limits.MaxSGE}, {"max_inline_data", c.MaxInline, d.maxInline},
	} {
		if x.asked > x.max {
			return c, uverbs.Refuse(syscall.EINVAL, "%s %d: the device has %d", x.name, x.asked, x.max)
		}
	}
	if d.strict {
		return c, nil
	}
	if d.check == nil {
		// The entries are padded to a power of two, so there is more room for inline data than
		// asked for.
		const spare = 256
		c.MaxInline = max(c.MaxInline, spare, uverbs.SGELen*c.MaxSendSGE)
	}
	c.MaxSendWR = max(c.MaxSendWR, 1)
	return c, nil
}

// CreateQP makes a queue pair.
//
// +checklocks:c.mu
func (c *commands) CreateQP(a uverbs.QP) (made uverbs.CreatedQP, err error) {
	if !a.Type.Connected() && a.Type != uverbs.UD || a.Flags != 0 {
		return made, uverbs.Refuse(syscall.EOPNOTSUPP, "the device has no queue pair of type %v with flags %#x", a.Type, a.Flags)
	}
	pd, sendCQ, recvCQ := c.pds[a.PD], c.cqs[a.SendCQ], c.cqs[a.RecvCQ]
	srq := c.srqs[a.SRQ]
	switch {
	case c.dev.rnic && a.Type != uverbs.RC:
		return made, uverbs.Refuse(syscall.EOPNOTSUPP, "an RNIC has no queue pair of type %v", a.Type)
	case pd == nil:
		return made, none("PD", a.PD)
	case sendCQ == nil:
		return made, none("CQ", a.SendCQ)
	case recvCQ == nil:
		return made, none("CQ", a.RecvCQ)
	case a.HasSRQ && srq == nil:
		return made, none("SRQ", a.SRQ)
	}
	caps, err := c.dev.checkCaps(a.Caps, a.HasSRQ)
	if err != nil {
		c.asksInline = c.asksInline || a.Caps.MaxInline > c.dev.maxInline
		c.refuses("ibv_create_qp", err)
		return made, err
	}
	q := &queuePair{
		ctx: c.Context, life: life{kind: a.Type}, kind: a.Type, userHandle: a.UserHandle, pd: pd, sendCQ: sendCQ, recvCQ: recvCQ, caps: caps, signalAll: a.SignalAll,
		slow: c.dev.faults.Dice(fault.Work),
	}
	q.life.attrs.PathMig = migrated
	if a.HasSRQ {
		q.srq, q.recv = srq, &srq.receiveQueue
	}
	if err := c.makeRingsLocked(q); err != nil {
		return made, err
	}
	if err := pd.port.enter(c.dev, q); err != nil {
		c.dev.log.Warn("no queue pair, because peers could not connect to it", "err", err)
		c.giveBackLocked(q.sqAt)
		c.giveBackLocked(q.rqAt)
		return made, syscall.ENOMEM
	}
	c.refuses("ibv_create_qp", nil)
	c.makes(q, created)
	q.checkPair(&a.Caps, c.asksInline)
	if c.dev.trace != nil {
		q.traced = new(tracedPair)
	}
	c.enlistLocked(q)
	return uverbs.CreatedQP{Handle: q.handle, Num: q.num, Caps: q.caps, SQ: q.sqAt, RQ: q.rqAt}, nil
}

// migrated is the state of a path that no other path replaces.
const migrated = 0

// makeRingsLocked makes the rings of q.
//
// +checklocks:c.mu
func (c *Context) makeRingsLocked(q *queuePair) error {
	var ok bool
	n := q.caps.MaxSendWR
	if c.check != nil {
		// A list that fills the queue looks like one that is too long for it. With one place more,
		// it fills the queue only if it is too long.
		n++
	}
	if q.sq, q.sqAt, ok = c.newQueueLocked(n, uverbs.SendElementLen(q.caps.MaxSendSGE, q.caps.MaxInline)); !ok {
		return errNoRoom
	}
	q.caps.MaxSendWR = c.dev.room(q.caps.MaxSendWR, q.sq.Cap(), c.dev.limits.MaxQPWR) // a program may ask for as many as it has got
	if q.recv != nil {
		return nil
	}
	r, at, ok := c.newQueueLocked(q.caps.MaxRecvWR, uverbs.RecvElementLen(q.caps.MaxRecvSGE))
	if !ok {
		c.giveBackLocked(q.sqAt)
		return errNoRoom
	}
	q.recv, q.rqAt, q.caps.MaxRecvWR = &receiveQueue{ring: r}, at, c.dev.room(q.caps.MaxRecvWR, r.Cap(), c.dev.limits.MaxQPWR)
	return nil
}

// enlistLocked makes q an object of the context.
//
// +checklocks:c.mu
func (c *Context) enlistLocked(q *queuePair) {
	q.handle = c.newHandle()
	c.qps[q.handle] = q
	c.shown.add(q.handle, q)
	q.pd.users.Add(1)
	q.sendCQ.users.Add(1)
	q.recvCQ.users.Add(1)
	if q.srq != nil {
		q.srq.users.Add(1)
	}
	c.pairsMu.Lock()
	c.pairs[q.handle] = q
	c.checkPairsLocked()
	c.pairsMu.Unlock()
}

// QueryQP returns the attributes of a queue pair.
//
// +checklocks:c.mu
func (c *commands) QueryQP(handle uint32) (uverbs.QPState, error) {
	q := c.qps[handle]
	if q == nil {
		return uverbs.QPState{}, none("QP", handle)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return uverbs.QPState{Attributes: q.life.attrs, Caps: q.caps, SignalAll: q.signalAll}, nil
}

// ModifyQP changes attributes and the state of a queue pair.
//
// +checklocks:c.mu
func (c *commands) ModifyQP(a uverbs.Change) error {
	q := c.qps[a.Handle]
	if q == nil {
		return none("QP", a.Handle)
	}
	q.checkModify(&a, c.site)
	err := q.modify(&a)
	c.checkRefused(q, "ibv_modify_qp", err)
	return err
}

// modify changes attributes and the state of q as the program asks.
func (q *queuePair) modify(a *uverbs.Change) error {
	q.mu.Lock()
	from := q.life.seen()
	if q.life.managed && from == uverbs.Err && a.Mask == uverbs.MaskState && a.To.State == uverbs.SQD {
		// librdmacm drains the queue of an RNIC before it disconnects, even if the peer was faster.
		q.mu.Unlock()
		return nil
	}
	if err := q.checkLocked(a, from); err != nil {
		q.mu.Unlock()
		return err
	}
	a.Apply(&q.life.attrs)
	to := from
	if a.Mask&uverbs.MaskState != 0 {
		to = a.To.State
	}
	if to == uverbs.Err || to == uverbs.Reset {
		if to == uverbs.Err {
			q.life.follows(to)
		}
		q.mu.Unlock()
		if to == uverbs.Err {
			(&end{q: q, status: uverbs.FlushErr, wanted: programEnds, steps: endToErr}).run()
		} else {
			q.checkReset(false)
			q.reset()
		}
		return nil
	}
	if q.life.isAhead() {
		q.life.follows(to)
		q.mu.Unlock()
		return nil
	}
	early, at := q.isEarly(from), q.firstPost() // the doorbell may not have looked yet
	q.life.setState(to)
	q.beginFaultsLocked()
	managed, life := q.ctx.dev.expects(far{q.life.attrs.Address.DGID, q.life.attrs.DestQPN}), q.life.number
	q.mu.Unlock()
	q.checkModifies(to, managed)
	if early {
		q.warnEarly(from, at)
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
	return nil
}

// checkLocked returns an error for a change that a program may not make in state from, or that the
// device does not support. The device refuses the values that rxe refuses: a program may count on
// the others, such as a retry count that has no room in InfiniBand's field.
//
// +checklocks:q.mu
func (q *queuePair) checkLocked(a *uverbs.Change, from uverbs.State) error {
	err := a.Check(q.kind, from)
	const longestTimeout = 31 // 5 bits
	to, d := &a.To, q.ctx.dev
	for _, x := range []struct {
		mask     uverbs.Mask
		name     string
		got, max uint32
	}{
		{uverbs.MaskPKey, "pkey_index", uint32(to.PKey), 0}, // the table has one
		{uverbs.MaskMTU, "path_mtu", uint32(to.MTU), uint32(uverbs.MTU)},
		{uverbs.MaskMaxRead, "max_rd_atomic", uint32(to.MaxRead), d.limits.MaxRead},
		{uverbs.MaskMaxDestRead, "max_dest_rd_atomic", uint32(to.MaxDestRead), d.mostDestReads()},
		{uverbs.MaskTimeout, "timeout", uint32(to.Timeout), longestTimeout},
		{uverbs.MaskAltPath, "alt_timeout", uint32(to.AltTimeout), longestTimeout},
	} {
		if err == nil && a.Mask&x.mask != 0 && x.got > x.max {
			err = uverbs.Refuse(syscall.EINVAL, "%s %d: the device has at most %d", x.name, x.got, x.max)
		}
	}
	for _, x := range []struct {
		mask uverbs.Mask
		name string
		port uint8
	}{{uverbs.MaskPort, "port_num", to.Port}, {uverbs.MaskAltPath, "alt_port_num", to.AltPort}} {
		if err == nil && a.Mask&x.mask != 0 && x.port != onlyPort {
			err = uverbs.Refuse(syscall.EINVAL, "%s %d: there is only port %d", x.name, x.port, onlyPort)
		}
	}
	if err == nil && a.Mask&uverbs.MaskAddress != 0 {
		err = d.checkAddress(&to.Address)
	}
	if err == nil && d.rnic && from == uverbs.Init && a.Mask&uverbs.MaskState != 0 && to.State == uverbs.RTR {
		err = uverbs.Refuse(syscall.EINVAL, "INIT to RTR: an RNIC connects queue pairs by rdma_cm alone")
	}
	if r := (*uverbs.Refusal)(nil); errors.As(err, &r) {
		return uverbs.Refuse(r.Errno, "qp_num %d, %s", q.num, r.Rule)
	}
	return err
}

// mostDestReads returns the limit of max_dest_rd_atomic. Like rxe, the device takes any number for
// as many as it has, unless it takes the liberty not to do so.
func (d *Device) mostDestReads() uint32 {
	if d.strict {
		return d.limits.MaxRead
	}
	return math.MaxUint8
}

// checkAddress returns an error for an address that the device does not have, or cannot reach.
func (d *Device) checkAddress(a *uverbs.Address) error {
	switch {
	case !a.Global:
		return uverbs.Refuse(syscall.EINVAL, "ah_attr.is_global is 0: as over RoCE, an address is a GID, which needs a GRH")
	case int(a.SGIDIndex) >= len(d.addresses):
		return uverbs.Refuse(syscall.EINVAL, "sgid_index %d: the table of GIDs has %d", a.SGIDIndex, len(d.addresses))
	}
	return nil
}

// DestroyQP ends and destroys a queue pair.
//
// +checklocks:c.mu
func (c *commands) DestroyQP(handle uint32) (events uint32, err error) {
	q := c.qps[handle]
	if q == nil {
		return 0, none("QP", handle)
	}
	c.checkDestroys(q, "ibv_destroy_qp")
	q.checkUnfinished(c.site)
	c.destroyQPLocked(q)
	events = c.reported(q.userHandle, q.events.Load())
	c.checkAcks(q.String(), "ibv_ack_async_event", qpAcks, q.userHandle, q.handle, events)
	return events, nil
}

// destroyQPLocked ends q. When it returns, nothing looks at the rings of q any more.
//
// +checklocks:c.mu
func (c *Context) destroyQPLocked(q *queuePair) {
	c.shown.remove(q.handle)
	c.pairsMu.Lock()
	delete(c.pairs, q.handle)
	c.checkPairsLocked()
	c.pairsMu.Unlock()
	c.dev.remove(q)
	q.checkReset(true)
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
		q.srq.users.Add(-1)
	}
	q.losesRing()
	c.giveBackLocked(q.sqAt)
	q.pd.users.Add(-1)
	q.sendCQ.users.Add(-1)
	q.recvCQ.users.Add(-1)
	delete(c.qps, q.handle)
	c.check.Unmakes(q)
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
		q.sendCQ.release()
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
	if q.sq.Len() == 0 {
		return
	}
	q.traceRang()
	if !q.delays() {
		q.kick()
	}
}

// delays reports whether the work requests that the program has just posted begin later.
func (q *queuePair) delays() bool {
	if q.slow == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.agenda.has(alarmPosted) {
		return true
	}
	d := q.slow.Delay()
	if d > 0 {
		q.alarmLocked(alarmPosted, d)
	}
	return d > 0
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

// kickOnce looks at the send queue, and reports whether no kick has come meanwhile. After a panic
// nobody looks any more.
func (q *queuePair) kickOnce() (idle bool) {
	idle = true
	defer q.ctx.recovers()
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

func (q *queuePair) warnEarly(s uverbs.State, at check.Site) {
	q.early.Do(func() {
		q.checkEarly(s, at)
		q.ctx.dev.log.Warn("work requests too early", "qpn", q.num, "state", s.String(), "why", errEarly)
	})
}

// drainLocked takes work requests from the send queue as far as the state and the link allow.
//
// +checklocks:q.sendMu
func (q *queuePair) drainLocked() {
	q.mu.Lock()
	turn, l, state := q.life.turn(), q.link, q.life.attrs.State
	early := turn == turnEarly && q.isEarly(state) // now: once the state has changed, the program may post
	q.sender.depth, q.sender.patience, q.sender.strict = int(q.life.attrs.MaxRead), q.life.patience(), q.ctx.dev.strict
	if turn == turnAwait && q.sq.Len() > 0 {
		q.waitLocked()
	}
	if turn == turnSend && q.checked != nil && q.sq.Len() > 0 {
		q.checkLooksLocked()
	}
	q.mu.Unlock()
	switch turn {
	case turnEarly:
		if early {
			q.warnEarly(state, q.firstPost())
		}
	case turnFlush:
		q.checkFlush()
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
