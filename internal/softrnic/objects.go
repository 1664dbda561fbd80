package softrnic

import (
	"slices"

	"github.com/rddp/rddp/internal/rdmaabi/nldev"
)

// Caps returns what the device says that it can do.
func (d *Device) Caps() uint64 { return uint64(limits.Caps) }

// Objects returns the objects of the context, which a process has opened.
func (c *Context) Objects(pid int) (all []nldev.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	all = append(all, nldev.Context{Number: c.number, PID: pid})
	for _, pd := range c.pds {
		all = append(all, nldev.PD{Number: pd.handle, Context: c.number, PID: pid, Users: pd.users})
	}
	for _, q := range c.cqs {
		all = append(all, nldev.CQ{Number: q.handle, Context: c.number, PID: pid, Users: q.users, Entries: q.entries()})
	}
	for _, m := range c.mrs {
		all = append(all, nldev.MR{Number: m.handle, PD: m.pd.handle, PID: pid, Len: m.Len})
	}
	pairs := make(map[*sharedQueue][]uint32)
	for _, q := range c.qps {
		q.mu.Lock()
		a := q.life.attrs
		q.mu.Unlock()
		all = append(all, nldev.QP{
			Number: q.num, PD: q.pd.handle, PID: pid, Type: uint8(q.kind), State: uint8(a.State), Connected: q.kind.Connected(),
			Peer: a.DestQPN, RQPSN: a.RQPSN, SQPSN: a.SQPSN,
		})
		if q.srq != nil {
			pairs[q.srq] = append(pairs[q.srq], q.num)
		}
	}
	for _, s := range c.srqs {
		slices.Sort(pairs[s])
		all = append(all, nldev.SRQ{Number: s.handle, PD: s.pd.handle, PID: pid, QPs: pairs[s]})
	}
	return all
}

// entries returns for how many completions the CQ has room.
func (q *completionQueue) entries() uint32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring == nil {
		return 0
	}
	return min(q.ring.Cap(), limits.MaxCQE)
}
