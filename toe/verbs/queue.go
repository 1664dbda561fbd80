package verbs

import (
	"fmt"

	"github.com/rddp/rddp/internal/rdmaabi/ring"
)

// receiveBit marks the numbers of receives in the device's queues. The rest is a count.
const receiveBit = 1 << 63

// A work is a work request that is under way.
type work struct {
	id  uint64 // the program's
	op  Op
	len int // bytes
}

// A queue is a send or a receive queue, with what is under way. The device completes each queue in
// order, so a completion must be that of the oldest.
type queue struct {
	ring *ring.Ring
	work []work
	head uint64 // the number of the oldest that is under way
	tail uint64 // the number of the next
}

// add adds w, which fill writes to an entry with the number that its completion has to have.
func (q *queue) add(w work, fill func(b []byte, n uint64)) error {
	if q.tail-q.head == uint64(len(q.work)) {
		return ErrQueueFull
	}
	n := q.tail
	if w.op == OpReceive {
		n |= receiveBit
	}
	if !q.ring.Put(func(b []byte) { fill(b, n) }) {
		return ErrQueueFull
	}
	q.work[q.tail%uint64(len(q.work))] = w
	q.tail++
	return nil
}

// take takes the oldest, whose number must be n.
func (q *queue) take(n uint64) (work, error) {
	if q.head == q.tail || n != q.head {
		return work{}, fmt.Errorf("number %d, with %d to %d under way", n, q.head, q.tail)
	}
	w := q.work[q.head%uint64(len(q.work))]
	q.head++
	return w, nil
}
