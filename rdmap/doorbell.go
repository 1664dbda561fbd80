package rdmap

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
)

// A doorbell is how a consumer of a completion queue starts the transmission of requests that a
// driver has put off. It hangs in one completion queue, at most once.
type doorbell struct {
	hung atomic.Bool
	ring func() // Config.Transmit
	next *doorbell
}

// doorbells are the doorbells that hang in a completion queue.
type doorbells struct {
	any   atomic.Bool // the list is not empty
	mu    locks.Mutex[locks.Doorbells]
	first *doorbell // +checklocks:mu
}

// hang adds b to the list, unless b hangs already.
func (l *doorbells) hang(b *doorbell) {
	// A goroutine that rings takes the doorbell down before it transmits. So either it sees what
	// the caller has posted, or the doorbell hangs again.
	if !b.hung.CompareAndSwap(false, true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b.next, l.first = l.first, b
	l.any.Store(true)
}

// ringAll takes all doorbells down and rings them. It reports whether there were any.
func (l *doorbells) ringAll() bool {
	if !l.any.Load() {
		return false
	}
	l.mu.Lock()
	b := l.first
	l.first = nil
	l.any.Store(false)
	l.mu.Unlock()
	rung := b != nil
	for b != nil {
		next := b.next
		b.next = nil
		b.hung.Store(false)
		b.ring()
		b = next
	}
	return rung
}

// TransmitLater has the next consumer that finds SendCQ or RecvCQ empty call Config.Transmit,
// before that consumer waits or returns. A driver that has posted requests and does not transmit
// them yet calls TransmitLater after it has posted them. Config.Transmit must be set.
func (q *QP) TransmitLater() {
	q.cfg.SendCQ.bells.hang(&q.sendBell)
	if q.cfg.RecvCQ != q.cfg.SendCQ {
		q.cfg.RecvCQ.bells.hang(&q.recvBell)
	}
}
