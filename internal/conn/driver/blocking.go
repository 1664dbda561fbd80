package driver

import (
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/rdmap"
)

// A blocking has what the program's blocking calls share. Any goroutine may call its methods.
type blocking struct {
	ids atomic.Uint64 // numbers their Work Requests
	// spare is a completion queue that a call has waited for. others has the queues of calls that
	// waited at the same time. Connections do not share them, because the queue's channel may
	// belong to a synctest bubble.
	spare  atomic.Pointer[rdmap.CompletionQueue]
	others atomic.Pointer[sync.Pool]
}

// unawaited holds completion queues of depth 1 that no call has waited for, so they have no
// channel. A message that goes out at once needs no other, and an idle connection keeps none.
var unawaited = sync.Pool{New: func() any { return rdmap.NewCompletionQueue(1) }}

// A call is a blocking call.
type call struct {
	cq     *rdmap.CompletionQueue // of depth 1
	waited bool                   // this call, or an earlier one, has waited for cq
}

// begin gives wr an ID, and a completion queue of its own until end.
func (b *blocking) begin(wr *rdmap.WorkRequest) (c call) {
	if b.spare.Load() != nil {
		c.cq = b.spare.Swap(nil)
	}
	if others := b.others.Load(); c.cq == nil && others != nil {
		c.cq, _ = others.Get().(*rdmap.CompletionQueue)
	}
	if c.waited = c.cq != nil; !c.waited {
		c.cq = unawaited.Get().(*rdmap.CompletionQueue)
	}
	wr.CQ, wr.ID = c.cq, b.ids.Add(1)
	return c
}

// end takes the empty completion queue of a call back.
func (b *blocking) end(c call) {
	if !c.waited {
		unawaited.Put(c.cq)
		return
	}
	if b.spare.CompareAndSwap(nil, c.cq) {
		return
	}
	if b.others.Load() == nil {
		b.others.CompareAndSwap(nil, new(sync.Pool))
	}
	b.others.Load().Put(c.cq)
}
