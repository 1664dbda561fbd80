package rdmap

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
)

// A doorbell is how a consumer of a completion queue starts the transmission of requests that a
// driver has put off. It hangs in one completion queue, at most once.
type doorbell struct {
	hung atomic.Bool // the doorbell is in the list, or a goroutine is about to add it
	ring func()      // Config.Transmit

	// The lock of the doorbells guards these.
	listed     bool // the doorbell is in the list
	prev, next *doorbell
}

// doorbells are the doorbells that hang in a completion queue, the oldest first.
type doorbells struct {
	any   atomic.Bool // the list is not empty
	mu    locks.Mutex[locks.Doorbells]
	first *doorbell // +checklocks:mu
	last  *doorbell // +checklocks:mu
	n     int       // +checklocks:mu
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
	if b.prev = l.last; b.prev != nil {
		b.prev.next = b
	} else {
		l.first = b
	}
	l.last, b.listed = b, true
	l.n++
	l.any.Store(true)
}

// takeDown removes b from the list, if b hangs.
func (l *doorbells) takeDown(b *doorbell) {
	if !b.hung.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.listed {
		l.removeLocked(b)
	}
}

// +checklocks:l.mu
func (l *doorbells) removeLocked(b *doorbell) {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		l.first = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		l.last = b.prev
	}
	b.listed, b.prev, b.next = false, nil, nil
	l.n--
	l.any.Store(l.n > 0)
	b.hung.Store(false)
}

// ringAll takes the doorbells down that hang now, and rings them. It reports whether there were
// any.
func (l *doorbells) ringAll() bool {
	rung := false
	for most := -1; most != 0 && l.any.Load(); most-- {
		l.mu.Lock()
		if most < 0 {
			most = l.n
		}
		b := l.first
		if b != nil {
			l.removeLocked(b)
		}
		l.mu.Unlock()
		if b == nil { // another consumer was faster
			break
		}
		rung = true
		b.ring()
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
	// The QP may have ended meanwhile. Either Abort finds the doorbells, or this call sees the end.
	if s := q.State(); s == StateError || s == StateClosed {
		q.takeDownBells()
	}
}

// takeDownBells takes the doorbells of a QP that has ended down. A completion queue that other
// queue pairs still use, and that nobody looks at, would otherwise keep the connection in memory.
func (q *QP) takeDownBells() {
	q.cfg.SendCQ.bells.takeDown(&q.sendBell)
	q.cfg.RecvCQ.bells.takeDown(&q.recvBell)
}
