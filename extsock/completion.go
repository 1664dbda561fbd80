package extsock

import (
	"context"

	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/rdmap"
)

// A CompletionQueue holds Completions until they are taken. Any number of connections can share
// one, and any goroutine may use it. It never overflows, because a Work Request reserves its entry
// when it is posted and keeps the entry until its Completion is taken. A queue of depth 1, which
// serves one Work Request at a time, takes no lock. NewCompletionQueue makes a CompletionQueue. The
// zero value has no room.
//
// A program that finds the queue empty, or is about to wait, has nothing more to post for the
// moment. So the calls that find that out also send what Post has put off, for all connections that
// use the queue.
type CompletionQueue struct {
	done  rdmap.CompletionQueue
	bells driver.Doorbells // of the connections that have put something off
}

// NewCompletionQueue returns a queue with room for depth Completions, at least 1.
func NewCompletionQueue(depth int) *CompletionQueue {
	q := new(CompletionQueue)
	q.done.Init(depth)
	return q
}

// Ready returns a channel that receives a value when the queue may hold Completions. Call Poll to
// find out. If Poll leaves some, the channel receives another value. The caller of Ready is about
// to wait, so Ready sends what Post has put off.
func (q *CompletionQueue) Ready() <-chan struct{} {
	q.bells.Ring()
	return q.done.Ready()
}

// Poll takes up to len(dst) Completions, the oldest first, and returns their number. It never
// waits. If the queue is empty, Poll first sends what Post has put off.
func (q *CompletionQueue) Poll(dst []rdmap.Completion) int {
	q.look()
	return q.done.Poll(dst)
}

// Wait takes the oldest Completion. If there is none, Wait sends what Post has put off, and waits
// for one. It returns a Completion that is in the queue even if ctx is done. The only error
// is ctx.Err().
func (q *CompletionQueue) Wait(ctx context.Context) (rdmap.Completion, error) {
	q.look()
	var one [1]rdmap.Completion
	_, err := q.bells.Wait(ctx, &q.done, one[:], false)
	return one[0], err
}

// WaitBatch takes up to len(dst) Completions, the oldest first, and returns their number. If there
// is none, it does what Wait does. It returns Completions that are in the queue even if ctx
// is done. The only error is ctx.Err(), with 0 Completions. With an empty dst WaitBatch does not
// wait.
//
// If solicited is true, WaitBatch is for a program that sleeps until the peer wakes it. It sends
// what Post has put off, and waits until the queue holds a Completion that is solicited (RFC 5040
// §5.3) or a failure.
func (q *CompletionQueue) WaitBatch(ctx context.Context, dst []rdmap.Completion, solicited bool) (int, error) {
	if solicited {
		q.bells.Ring()
	} else {
		q.look()
	}
	return q.bells.Wait(ctx, &q.done, dst, solicited)
}

// look sends what Post has put off, if the queue is empty. Completions of Work Requests that TCP
// takes at once are then in the queue.
func (q *CompletionQueue) look() {
	if q.done.Len() == 0 {
		q.bells.Ring()
	}
}
