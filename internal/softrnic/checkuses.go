package softrnic

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file finds work requests of different queue pairs that use the same bytes at a time. The
// programs must be under one rddp run. docs/check.md says what orders two of them.

// checkedUses are the work requests under way, and the memory that they use.
type checkedUses struct {
	mu  locks.Mutex[locks.Leaf]
	all []*usedMemory // +checklocks:mu
}

// usesMost bounds the uses that are remembered.
const usesMost = 1024

// A usedMemory is a use of memory by a work request of q.
type usedMemory struct {
	check.Use
	q, peer *queuePair
	x       *checkedFlight
	// some of an RDMA Write is in the peer's memory
	placed atomic.Bool
	number int // of the work request
	// the first message of q that is not in front of the work request
	message uint64
}

// isOver reports whether a program may know that the work request is done: its own has polled a
// completion, or the peer has polled that of a message of q that is not in front of it.
func (u *usedMemory) isOver() bool {
	return u.q.hasPolled(u.x) || u.peer.hasMessages() >= u.message && (u.Remote || !u.Writes)
}

// mayBeSeen reports whether the poster of y may know of an RDMA Write because the program that has
// the memory looks at it: once some of it is there, if that program posts y itself.
func (u *usedMemory) mayBeSeen(y *usedMemory) bool {
	const told = 2 * time.Millisecond
	switch {
	case !u.Remote || !u.Writes || u.Atomic:
		return false
	case y.q.ctx == u.peer.ctx && y.q.ctx != u.q.ctx || !y.Remote:
		return u.placed.Load()
	case y.q.ctx == u.q.ctx: // it polls
		return false
	}
	return u.x.done.Load() && time.Since(u.x.at) > told
}

// comingWrites are the RDMA Writes to the memory of a program of which nothing is there.
type comingWrites struct {
	n   atomic.Int32 // of all
	mu  locks.Mutex[locks.Leaf]
	all []*usedMemory // +checklocks:mu
}

// comingMost bounds the Writes that are remembered. Those before them count as placed.
const comingMost = 64

func (c *comingWrites) add(u *usedMemory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all = append(c.all, u); len(c.all) > comingMost {
		c.all[0].placed.Store(true)
		c.all = c.all[1:]
	}
	c.n.Store(int32(len(c.all)))
}

// checkPlaces is the event that the device is about to write n bytes at addr for a peer.
func (m *memoryRegion) checkPlaces(addr, n uint64) {
	if m.pd.check != nil && m.pd.coming.n.Load() > 0 {
		m.pd.coming.places(check.Span{Addr: addr, Len: n})
	}
}

// places is the event that the device is about to write some of s for a peer. The first Writes of a
// queue pair wait here, so that the program that has the memory has time to make its mistake.
func (c *comingWrites) places(s check.Span) {
	for _, u := range c.take(s) {
		if u.number <= heldMost {
			time.Sleep(heldFor)
		}
		u.placed.Store(true)
	}
}

// heldMost is how many Writes of a queue pair wait, and heldFor for how long.
const (
	heldMost = 16
	heldFor  = 2 * time.Millisecond
)

// take removes the Writes to some of s.
func (c *comingWrites) take(s check.Span) (all []*usedMemory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(u *usedMemory) bool {
		yes := u.Span.Overlaps(s)
		if yes {
			all = append(all, u)
		}
		return yes
	})
	c.n.Store(int32(len(c.all)))
	return all
}

// checkUses is the event that a work request comes from the queue.
func (q *queuePair) checkUses(s *sender, number int) {
	f, w := s.flight, &s.wr
	message := q.checked.messages + 1
	if !isRead(w.Op) && !isLocal(w.Op) && !f.isWrite() {
		q.checked.messages++
	}
	peer := s.peer
	if q.kind != uverbs.RC || isLocal(w.Op) || f.status != uverbs.Success || peer == nil || peer == q {
		return
	}
	x := f.checked
	if x.number = number; x.at.IsZero() { // inline
		x.at = time.Now()
	}
	use := func(u check.Use) {
		u.Pair, u.Atomic, u.Fenced = q, isAtomic(f.op) && u.Remote, w.Flags&uverbs.Fence != 0
		q.uses(&usedMemory{Use: u, q: q, peer: peer, x: x, message: message, number: number})
	}
	for _, s := range x.pd.spansOf(x.list, uint64(f.n)) {
		use(check.Use{Memory: q.ctx, Span: s, Writes: isRead(f.op), Work: fmt.Sprintf("the memory of the work request %#x (%v) of %v", f.id, f.op, q)})
	}
	if isRead(f.op) || f.writes() {
		u := check.Use{
			Memory: peer.ctx, Span: check.Span{Addr: peer.pd.addressOf(w.RKey, w.Addr), Len: uint64(f.n)}, Writes: f.op != uverbs.OpRead, Remote: true,
			Work: fmt.Sprintf("the work request %#x (%v) of %v", f.id, f.op, q),
		}
		for _, r := range peer.ctx.seenReceives(peer) {
			if overlap(r.spans, []check.Span{u.Span}) {
				r.used.Store(&u.Work)
			}
		}
		use(u)
	}
}

// addressOf returns the address in the program of an address of a memory region with an rkey.
func (pd *protectionDomain) addressOf(key uint32, addr uint64) uint64 {
	pd.mu.RLock()
	defer pd.mu.RUnlock()
	if m, _ := pd.namedLocked(key, true); m != nil {
		return m.Start + (addr - m.VA)
	}
	return addr
}

// uses adds a use, and reports those under way that conflict with it.
func (q *queuePair) uses(y *usedMemory) {
	if y.Remote && y.Writes && !y.Atomic {
		y.peer.ctx.coming.add(y)
	}
	all := &q.ctx.dev.uses
	all.mu.Lock()
	var near []*usedMemory
	for _, x := range all.all {
		if x.Conflicts(&y.Use) {
			near = append(near, x)
		}
	}
	all.all = append(all.all, y)
	all.all = all.all[max(len(all.all)-usesMost, 0):]
	all.mu.Unlock()
	for _, x := range near {
		if !x.isOver() && !x.mayBeSeen(y) {
			q.ctx.check.AddAt(inCall, y.x.posted, check.Collides(q.String(), &x.Use, &y.Use))
		}
	}
}

// forgetUses is the event that q is reset.
func (q *queuePair) forgetUses() {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	q.checked.messages = 0
	all := &q.ctx.dev.uses
	all.mu.Lock()
	defer all.mu.Unlock()
	all.all = slices.DeleteFunc(all.all, func(u *usedMemory) bool { return u.q == q || u.peer == q })
}

// peerHere returns the queue pair that q is joined with, if it is one of this device.
func (q *queuePair) peerHere() *queuePair {
	q.mu.Lock()
	a := q.life.attrs
	q.mu.Unlock()
	if !q.ctx.dev.has(a.Address.DGID) {
		return nil
	}
	p := q.ctx.dev.find(a.DestQPN)
	if p == nil || p.checked == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.attrs.DestQPN != q.num {
		return nil
	}
	return p
}
