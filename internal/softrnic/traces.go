package softrnic

import (
	"fmt"
	"sync/atomic"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/trace"
)

// This file tells package trace what the device does. A method does nothing unless the device is
// traced.

// A tracedPair is what the trace needs of a queue pair.
type tracedPair struct {
	taken atomic.Uint64 // how many work requests have been taken from the queue
}

// put writes an event about q.
func (q *queuePair) put(e trace.Event) {
	e.QP, e.PID = q.num, q.ctx.memory.PID
	q.ctx.dev.trace.Put(e)
}

// traceRang is the event that the program has rung the doorbell. A goroutine may take work requests
// meanwhile, and then the number of those that are there may be too low, but not too high.
func (q *queuePair) traceRang() {
	if q.traced != nil {
		n := q.traced.taken.Load()
		q.put(trace.Event{Kind: trace.Rang, Seq: n, N: q.sq.Len()})
	}
}

// traceTaken is the event that a work request is taken from the queue.
func (q *queuePair) traceTaken(f *flight, w *uverbs.SendWR) {
	if q.traced == nil {
		return
	}
	f.seq = q.traced.taken.Add(1) - 1
	q.put(trace.Event{
		Kind: trace.Post, Seq: f.seq, ID: f.id, Op: f.op.String(), N: f.n, Text: flagNames[w.Flags&(uverbs.Inline<<1-1)],
		Seen: f.writes() || isRead(f.op), Addr: f.remote.TO, Key: uint32(f.remote.STag),
	})
}

// flagNames are the flags of a work request in words.
var flagNames = func() (all [uverbs.Inline << 1]string) {
	names := [...]string{"fence", "signaled", "solicited", "inline"}
	for i := range all {
		for bit, name := range names {
			if i&(1<<bit) == 0 {
				continue
			}
			if all[i] != "" {
				all[i] += ", "
			}
			all[i] += name
		}
	}
	return all
}()

// traceDone is the event that a work request has ended, with a completion or without.
func (q *queuePair) traceDone(f *flight, status uverbs.WCStatus) {
	if q.traced != nil {
		q.put(trace.Event{Kind: trace.Done, Seq: f.seq, Status: status.String(), Seen: f.signaled || status != uverbs.Success})
	}
}

// traceDropped notes that a work request is taken from the queue and forgotten. It counts, because
// a doorbell that was rung before may be told later.
func (q *queuePair) traceDropped() {
	if q.traced != nil {
		q.traced.taken.Add(1)
	}
}

// traceForgotten is the event that the work requests that have not completed are forgotten. Another
// queue pair may get the number of this one afterwards.
func (q *queuePair) traceForgotten() {
	if q.traced != nil {
		q.put(trace.Event{Kind: trace.Forgotten, Text: "the program has reset or destroyed the queue pair"})
	}
}

// traceTake is the event that a receive is about to be filled.
func (q *queuePair) traceTake(id uint64) {
	if q.traced != nil {
		q.put(trace.Event{Kind: trace.Take, ID: id})
	}
}

// traceFilled is the event that a receive is not filled any more.
func (q *queuePair) traceFilled(id uint64, n uint32, status uverbs.WCStatus) {
	if q.traced != nil {
		q.put(trace.Event{Kind: trace.Filled, ID: id, N: n, Status: status.String()})
	}
}

// traceCompletion is the event that a completion comes into the queue, or is lost.
func (q *completionQueue) traceCompletion(w *uverbs.WC, lost bool) {
	t := q.ctx.dev.trace
	if t == nil {
		return
	}
	e := trace.Event{
		Kind: trace.Completion, PID: q.ctx.memory.PID, Queue: q.handle, QP: w.QPN, ID: w.ID, Op: w.Op.String(), N: w.Len, Status: w.Status.String(),
	}
	if lost {
		e.Status += ", lost: the queue is full"
	}
	t.Put(e)
}

// traceEvent is the event that the program is told of something.
func (c *Context) traceEvent(what string, about fmt.Stringer) {
	if c.dev.trace != nil {
		c.dev.trace.Put(trace.Event{Kind: trace.Note, PID: c.memory.PID, Op: what, Text: about.String()})
	}
}

// DoAndTell is Do, and puts the command into words.
func (c *Context) DoAndTell(caller Caller, cmd uverbs.Command, in, driverIn []byte) (out, driverOut []byte, told uverbs.Teller, err error) {
	x := c.commandsOf(caller, cmd)
	told.Handler = x
	out, driverOut, err = c.do(x, &told, cmd, in, driverIn)
	return out, driverOut, told, err
}
