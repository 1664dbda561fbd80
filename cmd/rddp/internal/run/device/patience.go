package device

import (
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// leastPatience is how long work requests wait for the peer at least, before they fail. A NIC may
// give up within milliseconds, but here a peer may still be on its way.
const leastPatience = 10 * time.Second

// waitLocked begins to wait for a link, for as long as the retries of the queue pair would take.
//
// +checklocks:q.mu
func (q *queuePair) waitLocked() {
	if q.attrs.Timeout == 0 && q.kind == uverbs.RC {
		return // for ever
	}
	q.patience = time.AfterFunc(max(leastPatience, q.retryTimeLocked()), func() {
		q.mu.Lock()
		late := q.link == nil && q.attrs.State == uverbs.RTS
		q.abandoned = late
		q.mu.Unlock()
		if late {
			q.kick()
		}
	})
}

// retryTimeLocked returns how long a NIC repeats what has no answer.
//
// +checklocks:q.mu
func (q *queuePair) retryTimeLocked() time.Duration {
	return (time.Duration(q.attrs.Retry) + 1) * (4096 * time.Nanosecond) << (q.attrs.Timeout & 31)
}

// missMost is how long work requests wait at most for a peer that has left.
const missMost = time.Second

// miss ends l, whose peer has left, but not before a NIC would give up. Connections are not in order
// with each other: a program whose work on another queue pair is done may destroy all of them, and its
// peer must hear of the work before it hears of a work request that came too late.
func (q *queuePair) miss(l *link, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.link != l {
		return
	}
	d := missMost
	if q.attrs.Timeout != 0 {
		d = min(d, q.retryTimeLocked())
	}
	q.patience = time.AfterFunc(d, func() { l.gone(err) })
}
