package softrnic

import (
	"fmt"
	"slices"
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
	// the first message of q that is not in front of the work request
	message uint64
}

// isOver reports whether a program may know that the work request is done: its own has polled a
// completion, or the peer has a message of q that is not in front of it.
func (u *usedMemory) isOver() bool {
	return u.q.hasPolled(u.x) || u.peer.checked.arrived.Load() >= u.message && (u.Remote || !u.Writes)
}

// mayBeSeen reports whether the poster of y may know of an RDMA Write because the program that has
// the memory looks at it: at once if that program posts y itself.
func (u *usedMemory) mayBeSeen(y *usedMemory) bool {
	const told = 2 * time.Millisecond
	switch {
	case !u.Remote || !u.Writes || u.Atomic:
		return false
	case y.q.ctx == u.peer.ctx && y.q.ctx != u.q.ctx || !y.Remote:
		return true
	case y.q.ctx == u.q.ctx: // it polls
		return false
	}
	return u.x.done.Load() && time.Since(u.x.at) > told
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
		q.uses(&usedMemory{Use: u, q: q, peer: peer, x: x, message: message})
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
			q.ctx.dev.check.AddAt(inCall, y.x.posted, check.Collides(q.String(), &x.Use, &y.Use))
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
	q.checked.arrived.Store(0)
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
