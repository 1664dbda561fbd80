package softrnic

import (
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// A notice is the kind of completion that a CQ's channel waits for.
type notice uint8

const (
	noNotice  notice = iota
	solicited        // a solicited completion, or an error
	anyNext          // the next completion
)

// A completionQueue is a CQ.
type completionQueue struct {
	ctx        *Context
	handle     uint32
	userHandle uint64
	channel    *channel     // nil if it has none
	users      atomic.Int32 // QPs; changed only by a holder of the Context's mutex

	mu locks.Mutex[locks.RNICCompletions]
	// nil once the CQ is destroyed
	ring *ring.Ring // +checklocks:mu
	// where the ring is in the context's memory
	at     uverbs.Mapping // +checklocks:mu
	armed  notice         // +checklocks:mu
	events uint32         // +checklocks:mu
	// asynchronous events
	asyncEvents uint32 // +checklocks:mu
	// A completion was lost, because the ring was full
	overrun bool       // +checklocks:mu
	checked *checkedCQ // +checklocks:mu
	// as many as the program has asked for
	asked uint32 // +checklocks:mu
	// what the device holds back; nil if nothing
	late *lateCQ // +checklocks:mu
}

// complete adds a completion. solicits says that it is one that a solicited notice waits for.
func (q *completionQueue) complete(w *uverbs.WC, solicits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ring == nil:
	case q.late != nil:
		q.lateLocked(w, solicits)
	default:
		q.putLocked(w, solicits)
	}
}

// putLocked puts a completion into the ring, and sends the event that the program has asked for.
//
// +checklocks:q.mu
func (q *completionQueue) putLocked(w *uverbs.WC, solicits bool) {
	put := q.ring.Len() < q.roomLocked() && q.ring.Put(q.rubbishLocked(w).Put)
	q.checkPutLocked(w, solicits, !put)
	q.traceCompletion(w, !put)
	if !put {
		// A program must make its CQ as long as its queues. As with a NIC, the completion is lost,
		// and the program gets an event.
		if !q.overrun {
			q.overrun = true
			q.asyncEvents += q.ctx.raise(q.userHandle, uverbs.EventCQError)
		}
		return
	}
	if q.armed == anyNext || q.armed == solicited && (solicits || w.Status != uverbs.Success) {
		q.armed = noNotice
		q.checkFiresLocked()
		q.tellLocked()
	}
}

// roomLocked returns how many completions the queue has room for: a little more than the program
// has asked for, unless the device takes the liberty not to have it.
//
// +checklocks:q.mu
func (q *completionQueue) roomLocked() uint32 {
	if q.ctx.dev.strict {
		return min(q.asked, q.ring.Cap())
	}
	return q.ring.Cap()
}

// sendLocked sends an event.
//
// +checklocks:q.mu
func (q *completionQueue) sendLocked() {
	if q.channel.Send(uverbs.AppendCompletionEvent(nil, q.userHandle)) {
		q.events++
		q.ctx.traceEvent("completion event", q)
	}
}

// close makes q drop further completions.
func (q *completionQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.checkEndLocked()
	q.forgetLateLocked()
	q.ring = nil
}

// arm asks for one event.
func (q *completionQueue) arm(n notice, thread int, s check.Site) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.channel != nil {
		q.armed = max(q.armed, n) // a program that has asked for any completion keeps that request
		q.checkArmLocked(n, thread, s)
	}
}

// leastCQE is the least number of completions that a CQ holds. perftest's latency tests ask for
// one, and if they wait for events, they may leave one completion there when the next comes.
const leastCQE = 15

// checkCQE returns an error for a size that a CQ can't have.
func (d *Device) checkCQE(n uint32) error {
	if n == 0 || n > d.limits.MaxCQE {
		return uverbs.Refuse(syscall.EINVAL, "cqe %d: the device has 1 to %d", n, d.limits.MaxCQE)
	}
	return nil
}

// CreateCQ makes a CQ.
//
// +checklocks:c.mu
func (c *commands) CreateCQ(a uverbs.CQ) (handle, entries uint32, at uverbs.Mapping, err error) {
	if a.Vector > 0 {
		return 0, 0, at, uverbs.Refuse(syscall.EINVAL, "comp_vector %d: the device has 1", a.Vector)
	}
	if a.Flags != 0 {
		return 0, 0, at, uverbs.Refuse(syscall.EOPNOTSUPP, "the device has no flags of completion queues, and %#x are asked for", a.Flags)
	}
	err = c.dev.checkCQE(a.CQE)
	c.refuses("ibv_create_cq", err)
	if err != nil {
		return 0, 0, at, err
	}
	var ch *channel
	if a.Channel >= 0 {
		if ch = c.channels[c.caller.FindChannel(a.Channel)]; ch == nil {
			return 0, 0, at, uverbs.Refuse(syscall.EBADF, "descriptor %d is not a completion channel of this context", a.Channel)
		}
	}
	r, at, ok := c.newRingLocked(max(a.CQE, leastCQE), uverbs.CQElementLen)
	if !ok {
		return 0, 0, at, errNoRoom
	}
	q := &completionQueue{ctx: c.Context, handle: c.newHandle(), userHandle: a.UserHandle, channel: ch, ring: r, at: at, late: c.dev.newLateCQ(), asked: a.CQE}
	if ch != nil {
		ch.users++
	}
	q.checkCQ(a.CQE)
	c.cqs[q.handle] = q
	c.makes(q, created)
	c.shown.add(q.handle, q)
	return q.handle, c.dev.room(a.CQE, r.Cap(), c.dev.limits.MaxCQE), at, nil
}

// ResizeCQ gives a CQ a ring for n entries.
//
// +checklocks:c.mu
func (c *commands) ResizeCQ(handle, n uint32) (has uint32, at uverbs.Mapping, err error) {
	q := c.cqs[handle]
	if q == nil {
		return 0, at, none("CQ", handle)
	}
	if err := c.dev.checkCQE(n); err != nil {
		return 0, at, err
	}
	c.look() // work requests that were posted before may complete before
	q.mu.Lock()
	defer q.mu.Unlock()
	if n < q.ring.Len() {
		return 0, at, uverbs.Refuse(syscall.EINVAL, "cqe %d: the queue has %d completions", n, q.ring.Len())
	}
	r, at, ok := c.newRingLocked(max(n, leastCQE), uverbs.CQElementLen)
	if !ok {
		return 0, at, errNoRoom
	}
	b := make([]byte, q.ring.EntryLen())
	for q.ring.Take(b) {
		r.Put(func(entry []byte) { copy(entry, b) })
	}
	c.giveBackLocked(q.at)
	q.ring, q.at, q.asked = r, at, n
	if q.checked != nil {
		q.checked.Entries = int(n)
	}
	return c.dev.room(n, r.Cap(), c.dev.limits.MaxCQE), at, nil
}

// ReqNotifyCQ asks for an event.
//
// +checklocks:c.mu
func (c *commands) ReqNotifyCQ(handle uint32, solicitedOnly bool) error {
	q := c.cqs[handle]
	if q == nil {
		return none("CQ", handle)
	}
	n := anyNext
	if solicitedOnly {
		n = solicited
	}
	q.arm(n, c.caller.Thread(), c.site)
	return nil
}

// DestroyCQ destroys a CQ that no queue pair uses.
//
// +checklocks:c.mu
func (c *commands) DestroyCQ(handle uint32) (completions, asynchronous uint32, err error) {
	q := c.cqs[handle]
	switch {
	case q == nil:
		return 0, 0, none("CQ", handle)
	case q.users.Load() > 0:
		return 0, 0, inUse("CQ", int(q.users.Load()))
	}
	c.shown.remove(handle)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.events > 0 {
		completions = q.events - min(q.events, uint32(q.channel.TakeBack(isAbout(q.userHandle))))
	}
	q.channel.leave()
	q.checkEndLocked()
	q.forgetLateLocked()
	q.ring = nil
	c.giveBackLocked(q.at)
	delete(c.cqs, handle)
	c.unmakes(q, "ibv_destroy_cq")
	asynchronous = c.reported(q.userHandle, q.asyncEvents)
	c.checkAcks(q.String(), "ibv_ack_cq_events", cqAcks, q.userHandle, q.handle, completions)
	c.checkAcks(q.String(), "ibv_ack_async_event", asyncCQ, q.userHandle, q.handle, asynchronous)
	return completions, asynchronous, nil
}
