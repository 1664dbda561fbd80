package softrnic

import (
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A receiveQueue has the receives of one queue pair, or of several that share it.
type receiveQueue struct {
	mu locks.Mutex[locks.RNICReceives]
	// nil once the queue is destroyed
	ring *ring.Ring // +checklocks:mu
	// A shared queue raises an event when fewer than limit receives are left; 0 means none.
	limit uint32 // +checklocks:mu
	// receives that were taken, modulo 2^32
	taken uint32 // +checklocks:mu
	// the oldest receives, as far as they have been looked at; none unless the program is checked
	seen []*seenReceive // +checklocks:mu
}

// take copies the oldest receive. ok is false if there is none. low says that the limit has been
// reached.
func (r *receiveQueue) take() (entry []byte, low, ok bool) {
	entry, _, low, ok = r.takeSeen()
	return entry, low, ok
}

// takeSeen is take that also returns what was there when the device looked at the receive, or nil.
func (r *receiveQueue) takeSeen() (entry []byte, seen *seenReceive, low, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil || r.ring.Len() == 0 {
		return nil, nil, false, false
	}
	entry = make([]byte, r.ring.EntryLen())
	if !r.ring.Take(entry) {
		return nil, nil, false, false
	}
	r.taken++
	if len(r.seen) > 0 {
		seen, r.seen = r.seen[0], r.seen[1:]
	}
	if low = r.ring.Len() < r.limit; low {
		r.limit = 0
	}
	return entry, seen, low, true
}

// waiting returns how many receives wait.
func (r *receiveQueue) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		return 0
	}
	return int(r.ring.Len())
}

// state returns how many receives wait, and whether the queue is destroyed.
func (r *receiveQueue) state() (waiting int, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		return 0, true
	}
	return int(r.ring.Len()), false
}

// takenNow returns how many receives were taken, modulo 2^32.
func (r *receiveQueue) takenNow() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// length returns the length in bytes of the receive before which the given number of receives are
// taken, modulo 2^32. ok is false if that receive is not in the queue.
func (r *receiveQueue) length(before uint32) (n int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		return 0, false
	}
	entry := make([]byte, r.ring.EntryLen())
	if !r.ring.Peek(before-r.taken, entry) {
		return 0, false
	}
	w, err := uverbs.ParseRecvWR(entry)
	return lengthOf(&w), err == nil
}

// lengthOf returns the length of a receive in bytes.
func lengthOf(w *uverbs.RecvWR) int { return int(min(total(w.SGEs), uverbs.MaxMessage-1)) }

// longest returns the length in bytes of the longest receive in the queue.
func (r *receiveQueue) longest() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		return 0
	}
	r.ring.Each(func(entry []byte) {
		if w, err := uverbs.ParseRecvWR(entry); err == nil {
			n = max(n, lengthOf(&w))
		}
	})
	return n
}

// close makes r give out no more receives.
func (r *receiveQueue) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring = nil
}

// A sharedQueue is an SRQ.
type sharedQueue struct {
	receiveQueue
	ctx        *Context
	handle     uint32
	userHandle uint64
	pd         *protectionDomain
	maxSGE     uint32
	maxWR      uint32
	at         uverbs.Mapping
	users      atomic.Int32 // QPs; changed only by a holder of the Context's mutex
	events     atomic.Uint32
}

// raiseLimit tells the program that the limit has been reached.
func (s *sharedQueue) raiseLimit() {
	s.events.Add(s.ctx.raise(s.userHandle, uverbs.EventLimit))
}

// checkSRQ returns an error for sizes that an SRQ can't have.
func (d *Device) checkSRQ(a *uverbs.SRQ) error {
	switch {
	case a.MaxWR == 0 || a.MaxWR > d.limits.MaxSRQWR:
		return uverbs.Refuse(syscall.EINVAL, "max_wr %d: the device has 1 to %d", a.MaxWR, d.limits.MaxSRQWR)
	case a.MaxSGE > d.limits.MaxSRQSGE:
		return uverbs.Refuse(syscall.EINVAL, "max_sge %d: the device has %d", a.MaxSGE, d.limits.MaxSRQSGE)
	}
	return nil
}

// CreateSRQ makes an SRQ.
//
// +checklocks:c.mu
func (c *commands) CreateSRQ(a uverbs.SRQ) (handle, entries uint32, at uverbs.Mapping, err error) {
	pd := c.pds[a.PD]
	if pd == nil {
		return 0, 0, at, none("PD", a.PD)
	}
	err = c.dev.checkSRQ(&a)
	c.refuses("ibv_create_srq", err)
	if err != nil {
		return 0, 0, at, err
	}
	r, at, ok := c.newQueueLocked(a.MaxWR, uverbs.RecvElementLen(a.MaxSGE))
	if !ok {
		return 0, 0, at, errNoRoom
	}
	s := &sharedQueue{
		receiveQueue: receiveQueue{ring: r}, ctx: c.Context, handle: c.newHandle(), userHandle: a.UserHandle, pd: pd, maxSGE: a.MaxSGE,
		maxWR: c.dev.room(a.MaxWR, r.Cap(), c.dev.limits.MaxSRQWR), at: at,
	}
	pd.users.Add(1)
	c.srqs[s.handle] = s
	c.makes(s, created)
	c.shown.add(s.handle, s)
	return s.handle, s.maxWR, at, nil
}

// ModifySRQ sets the limit of an SRQ, or gives it a ring of another size and writes the place of
// that ring to the program's memory at to.
//
// +checklocks:c.mu
func (c *commands) ModifySRQ(a uverbs.SRQChange, to uint64, hasTo bool) error {
	s := c.srqs[a.Handle]
	if s == nil {
		return none("SRQ", a.Handle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maxWR, limit := s.maxWR, s.limit
	if a.Mask&uverbs.SRQMaxWR != 0 {
		maxWR = a.MaxWR
	}
	if a.Mask&uverbs.SRQLimit != 0 {
		limit = a.Limit
	}
	if limit > maxWR || maxWR > c.dev.limits.MaxSRQWR {
		return uverbs.Refuse(syscall.EINVAL, "srq_limit %d, max_wr %d: the limit is at most max_wr, and that is at most %d", limit, maxWR, c.dev.limits.MaxSRQWR)
	}
	if a.Mask&uverbs.SRQMaxWR != 0 {
		if !hasTo {
			return uverbs.Refuse(syscall.EINVAL, "the provider does not say where it wants the ring")
		}
		if err := c.resizeSRQLocked(s, maxWR, to); err != nil {
			return err
		}
	}
	s.limit = limit
	return nil
}

// resizeSRQLocked gives s a ring for n receives, and writes the place of that ring to the program's
// memory at to.
//
// +checklocks:c.mu
// +checklocks:s.mu
func (c *commands) resizeSRQLocked(s *sharedQueue, n uint32, to uint64) error {
	if n == 0 || n < s.ring.Len() {
		return uverbs.Refuse(syscall.EINVAL, "max_wr %d: the queue has %d receives", n, s.ring.Len())
	}
	r, at, ok := c.newQueueLocked(n, uint32(s.ring.EntryLen()))
	if !ok {
		return errNoRoom
	}
	p, err := c.caller.Process()
	if err == nil {
		err = p.Write(at.AppendTo(nil), to)
	}
	if err != nil {
		c.giveBackLocked(at)
		return uverbs.Refuse(syscall.EFAULT, "the program's memory: %v", err)
	}
	b := make([]byte, s.ring.EntryLen())
	for s.ring.Take(b) {
		r.Put(func(entry []byte) { copy(entry, b) })
	}
	c.giveBackLocked(s.at)
	s.ring, s.at, s.maxWR = r, at, c.dev.room(n, r.Cap(), c.dev.limits.MaxSRQWR)
	return nil
}

// QuerySRQ returns the sizes and the limit of an SRQ.
//
// +checklocks:c.mu
func (c *commands) QuerySRQ(handle uint32) (uverbs.SRQState, error) {
	s := c.srqs[handle]
	if s == nil {
		return uverbs.SRQState{}, none("SRQ", handle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return uverbs.SRQState{MaxWR: s.maxWR, MaxSGE: s.maxSGE, Limit: s.limit}, nil
}

// DestroySRQ destroys an SRQ that no queue pair uses.
//
// +checklocks:c.mu
func (c *commands) DestroySRQ(handle uint32) (events uint32, err error) {
	s := c.srqs[handle]
	switch {
	case s == nil:
		return 0, none("SRQ", handle)
	case s.users.Load() > 0:
		return 0, inUse("SRQ", int(s.users.Load()))
	}
	c.shown.remove(handle)
	s.pd.users.Add(-1)
	s.close()
	c.giveBackLocked(s.at)
	delete(c.srqs, handle)
	c.unmakes(s, "ibv_destroy_srq")
	events = c.reported(s.userHandle, s.events.Load())
	c.checkAcks(s.String(), "ibv_ack_async_event", srqAcks, s.userHandle, s.handle, events)
	return events, nil
}
