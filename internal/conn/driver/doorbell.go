package driver

import (
	"context"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/ring"
	"github.com/rddp/rddp/rdmap"
)

// Doorbells are the doorbells that hang in one completion queue, the oldest first. The consumer
// that finds the queue empty, or is about to wait, rings them. So it transmits what the queue's
// connections have put off.
type Doorbells struct {
	any   atomic.Bool            // a doorbell hangs
	asker atomic.Pointer[Driver] // has posted an operation that the peer answers, as the last of them; nil: none
	mu    locks.Mutex[locks.Doorbells]
	hung  ring.Ring[*doorbell] // +checklocks:mu
}

// A doorbell belongs to one connection, which hangs it in one completion queue, at most once.
type doorbell struct {
	queue *Doorbells  // nil: the doorbell never hangs
	owner flusher     // its Flush transmits what the connection has put off, and does not wait
	hangs atomic.Bool // the doorbell is in the queue, or a goroutine is about to add it
}

// hang adds b to its queue, unless b hangs already.
func (b *doorbell) hang() {
	// A goroutine that rings takes the doorbell down before it transmits. So either it sees what
	// the caller has posted, or the doorbell hangs again.
	if b.queue == nil || !b.hangs.CompareAndSwap(false, true) {
		return
	}
	q := b.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	*q.hung.Push() = b
	q.any.Store(true)
}

// takeDown removes b from its queue, if b hangs there. Otherwise a completion queue that other
// connections still use, but that no goroutine looks at, would keep an ended connection in memory.
func (b *doorbell) takeDown() {
	if !b.hangs.Load() {
		return
	}
	q := b.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for range q.hung.Len() {
		other := *q.hung.First()
		q.hung.Pop()
		if other != b {
			*q.hung.Push() = other
		} else {
			b.hangs.Store(false)
		}
	}
	q.any.Store(q.hung.Len() > 0)
}

// asks notes that d has posted an operation whose Completion, after the peer's answer, is for q.
func (q *Doorbells) asks(d *Driver) {
	if q.asker.Load() != d {
		q.asker.Store(d)
	}
}

// forget forgets d, which has ended: the completion queue must not keep it in memory.
func (q *Doorbells) forget(d *Driver) { q.asker.CompareAndSwap(d, nil) }

// Wait is cq.Wait of the completion queue that the doorbells hang in. If a connection awaits one
// answer of its peer, it polls for that where that pays, as a blocking call does. With several on
// their way, home receives while the program posts the next ones: a program that polled had 0.74 of
// the rate of Reads of 64 KiB, 16 at a time (two CPUs, bbr).
func (q *Doorbells) Wait(ctx context.Context, cq *rdmap.CompletionQueue, dst []rdmap.Completion, solicited bool) (int, error) {
	if d := q.asker.Load(); d != nil && !solicited && len(dst) > 0 && cq.Len() == 0 && ctx.Err() == nil && d.qp.AwaitsOneAnswer() {
		return d.awaitAnswer(ctx, cq, dst)
	}
	return cq.Wait(ctx, dst, solicited)
}

// Ring takes down the doorbells that hang now, and rings them. If a doorbell hangs again meanwhile,
// it waits for the next call.
func (q *Doorbells) Ring() {
	if !q.any.Load() {
		return
	}
	q.mu.Lock()
	n := q.hung.Len()
	q.mu.Unlock()
	for range n {
		b := q.take()
		if b == nil { // another consumer was faster
			return
		}
		b.owner.Flush()
	}
}

// take takes down the oldest doorbell. It returns nil if none hangs.
func (q *Doorbells) take() *doorbell {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hung.Len() == 0 {
		return nil
	}
	b := *q.hung.First()
	q.hung.Pop()
	q.any.Store(q.hung.Len() > 0)
	b.hangs.Store(false)
	return b
}
