package softrnic

import (
	"maps"
	"slices"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/nldev"
)

// Caps returns what the device says that it can do.
func (d *Device) Caps() uint64 { return uint64(limits.Caps) }

// shown has the objects of a context by their handles. It is apart from the Context's maps because
// a command may hold the Context's mutex as long as the program withholds a page, and Objects must
// not wait for that.
type shown struct {
	mu locks.Mutex[locks.Leaf]
	// by handle
	all map[uint32]object // +checklocks:mu
	// those completion queues that have a channel
	heard map[uint32]*completionQueue // +checklocks:mu
}

// An object is a PD, CQ, MR, queue pair or SRQ.
type object interface {
	// show returns what Objects says of the object. It waits for no page of the program.
	show(pid int) nldev.Object
}

func (s *shown) add(handle uint32, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint32]object)
	}
	s.all[handle] = o
	if q, ok := o.(*completionQueue); ok && q.channel != nil {
		if s.heard == nil {
			s.heard = make(map[uint32]*completionQueue)
		}
		s.heard[handle] = q
	}
}

// remove must be called before anything that may wait for a page of the program.
func (s *shown) remove(handle uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, handle)
	delete(s.heard, handle)
}

func (s *shown) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.heard = nil, nil
}

func (s *shown) list() []object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.all))
}

func (s *shown) heardQueues() []*completionQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.heard))
}

// Objects returns the objects of the context, which a process has opened. It does not wait for
// commands that are under way: those may wait for the program.
func (c *Context) Objects(pid int) (all []nldev.Object) {
	all = append(all, nldev.Context{Number: c.number, PID: pid})
	if c.broken.Load() {
		return all
	}
	pairs := make(map[*sharedQueue][]uint32)
	list := c.shown.list()
	for _, o := range list {
		all = append(all, o.show(pid))
		if q, ok := o.(*queuePair); ok && q.srq != nil {
			pairs[q.srq] = append(pairs[q.srq], q.num)
		}
	}
	for i, o := range list {
		if s, ok := o.(*sharedQueue); ok {
			slices.Sort(pairs[s])
			all[1+i] = nldev.SRQ{Number: s.handle, PD: s.pd.handle, PID: pid, QPs: pairs[s]}
		}
	}
	return all
}

func (pd *protectionDomain) show(pid int) nldev.Object {
	return nldev.PD{Number: pd.handle, Context: pd.context, PID: pid, Users: int(pd.users.Load())}
}

func (q *completionQueue) show(pid int) nldev.Object {
	return nldev.CQ{Number: q.handle, Context: q.ctx.number, PID: pid, Users: int(q.users.Load()), Entries: q.entries()}
}

func (m *memoryRegion) show(pid int) nldev.Object {
	return nldev.MR{Number: m.handle, PD: m.pd.handle, PID: pid, Len: m.Len}
}

func (q *queuePair) show(pid int) nldev.Object {
	q.mu.Lock()
	a := q.life.attrs
	q.mu.Unlock()
	return nldev.QP{
		Number: q.num, PD: q.pd.handle, PID: pid, Type: uint8(q.kind), State: uint8(a.State), Connected: q.kind.Connected(),
		Peer: a.DestQPN, RQPSN: a.RQPSN, SQPSN: a.SQPSN,
	}
}

// show returns an SRQ without its queue pairs, which only Objects knows.
func (s *sharedQueue) show(pid int) nldev.Object {
	return nldev.SRQ{Number: s.handle, PD: s.pd.handle, PID: pid}
}

// entries returns for how many completions the CQ has room.
func (q *completionQueue) entries() uint32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring == nil {
		return 0
	}
	return min(q.ring.Cap(), q.ctx.dev.limits.MaxCQE)
}
