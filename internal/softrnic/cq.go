package softrnic

import (
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A notice is what a CQ's channel waits for.
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
	channel    *channel // nil if it has none
	users      int      // QPs; the Context's mutex guards it

	mu locks.Mutex[locks.RNICCompletions]
	// nil once the CQ is destroyed
	ring *ring.Ring // +checklocks:mu
	// where the ring is in the file
	at     uverbs.Mapping // +checklocks:mu
	armed  notice         // +checklocks:mu
	events uint32         // +checklocks:mu
	// asynchronous events
	asyncEvents uint32 // +checklocks:mu
	// A completion was lost, because the ring was full
	overrun bool // +checklocks:mu
}

// complete adds a completion. solicits says that it is one that a solicited notice waits for.
func (q *completionQueue) complete(w *uverbs.WC, solicits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring == nil {
		return
	}
	if !q.ring.Put(w.Put) {
		// A program must make its CQ as long as its queues. As from a NIC, the completion is lost,
		// and the program is told.
		if !q.overrun {
			q.overrun = true
			q.asyncEvents += q.ctx.raise(q.userHandle, uverbs.EventCQError)
		}
		return
	}
	if q.armed == anyNext || q.armed == solicited && (solicits || w.Status != uverbs.Success) {
		q.armed = noNotice
		if q.channel.Send(uverbs.AppendCompletionEvent(nil, q.userHandle)) {
			q.events++
		}
	}
}

// close takes no completion any more.
func (q *completionQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ring = nil
}

// arm asks for one event.
func (q *completionQueue) arm(n notice) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.channel != nil {
		q.armed = max(q.armed, n) // a program that has asked for any does not lose that
	}
}

// leastCQE is the least number of completions that a CQ holds. perftest's latency tests ask for
// one, and if they wait for events, they may leave one there when the next comes.
const leastCQE = 15

// checkCQE returns an error for a size that a CQ can't have.
func checkCQE(n uint32) syscall.Errno {
	if n == 0 || n > limits.MaxCQE {
		return syscall.EINVAL
	}
	return 0
}

// +checklocks:c.mu
func (c *Context) createCQLocked(caller Caller, in []byte, extended bool) (out, driverOut []byte, e syscall.Errno) {
	a, err := uverbs.ParseCreateCQ(in, extended)
	if err != nil || a.Vector > 0 {
		return nil, nil, syscall.EINVAL
	}
	if a.Flags != 0 {
		return nil, nil, syscall.EOPNOTSUPP
	}
	if e := checkCQE(a.CQE); e != 0 {
		return nil, nil, e
	}
	var ch *channel
	if a.Channel >= 0 {
		if ch = c.channels[caller.FindChannel(a.Channel)]; ch == nil {
			return nil, nil, syscall.EBADF
		}
	}
	r, at, ok := c.newRingLocked(max(a.CQE, leastCQE), uverbs.CQElementLen)
	if !ok {
		return nil, nil, syscall.ENOMEM
	}
	q := &completionQueue{ctx: c, handle: c.newHandleLocked(), userHandle: a.UserHandle, channel: ch, ring: r, at: at}
	if ch != nil {
		ch.users++
	}
	c.cqs[q.handle] = q
	out = uverbs.AppendWords(nil, q.handle, min(r.Cap(), limits.MaxCQE))
	if extended {
		out = uverbs.AppendExtension(out)
	}
	return out, at.AppendTo(nil), 0
}

// +checklocks:c.mu
func (c *Context) resizeCQLocked(in []byte) (out, driverOut []byte, e syscall.Errno) {
	h, n, err := uverbs.ParseResizeCQ(in)
	q := c.cqs[h]
	if err != nil || q == nil {
		return nil, nil, syscall.EINVAL
	}
	if e := checkCQE(n); e != 0 {
		return nil, nil, e
	}
	c.look() // what has been posted before may complete before
	q.mu.Lock()
	defer q.mu.Unlock()
	if n < q.ring.Len() {
		return nil, nil, syscall.EINVAL
	}
	r, at, ok := c.newRingLocked(max(n, leastCQE), uverbs.CQElementLen)
	if !ok {
		return nil, nil, syscall.ENOMEM
	}
	b := make([]byte, q.ring.EntryLen())
	for q.ring.Take(b) {
		r.Put(func(entry []byte) { copy(entry, b) })
	}
	c.giveBackLocked(q.at)
	q.ring, q.at = r, at
	return uverbs.AppendWords(nil, min(r.Cap(), limits.MaxCQE), 0), at.AppendTo(nil), 0
}

// +checklocks:c.mu
func (c *Context) reqNotifyLocked(in []byte) (out, driverOut []byte, e syscall.Errno) {
	h, only, err := uverbs.ParseReqNotify(in)
	q := c.cqs[h]
	if err != nil || q == nil {
		return nil, nil, syscall.EINVAL
	}
	if only {
		q.arm(solicited)
	} else {
		q.arm(anyNext)
	}
	return nil, nil, 0
}

// +checklocks:c.mu
func (c *Context) destroyCQCommandLocked(in []byte) (out, driverOut []byte, e syscall.Errno) {
	h, err := uverbs.ParseAnsweredHandle(in)
	q := c.cqs[h]
	switch {
	case err != nil || q == nil:
		return nil, nil, syscall.EINVAL
	case q.users > 0:
		return nil, nil, syscall.EBUSY
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	read := uint32(0)
	if q.events > 0 {
		read = q.events - min(q.events, uint32(q.channel.TakeBack(isAbout(q.userHandle))))
	}
	q.channel.leave()
	q.ring = nil
	c.giveBackLocked(q.at)
	delete(c.cqs, h)
	return uverbs.AppendWords(nil, read, c.reported(q.userHandle, q.asyncEvents)), nil, 0
}
