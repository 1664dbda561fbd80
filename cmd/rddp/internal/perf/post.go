package perf

import (
	"context"
	"time"

	"github.com/rddp/rddp/rdmap"
)

// post posts the Work Requests of a run, with at most h.depth outstanding, and waits for their
// Completions. Without batches, it posts as long as there is room. With batches, it waits until
// half of the depth is free, and then fills it with one PostBatch.
func (e *end) post(ctx context.Context, h head) error {
	e.done = grow(e.done, h.depth)
	e.wrs = grow(e.wrs, 2*h.depth)
	underway, begin, used := 0, time.Now(), 0
	for at := 0; h.count > 0 || underway > 0; {
		if free := min(h.depth-underway, h.count); free > 0 && (!h.batch || underway <= h.depth/2) {
			var err error
			begin = h.rest(begin)
			if at, err = e.postSome(h, free, at); err != nil {
				return err
			}
			underway, h.count = underway+free, h.count-free
		}
		n, err := e.reap(ctx)
		if err != nil {
			return err
		}
		if h.latency { // the depth is 1
			now := time.Now()
			e.times.record(now.Sub(begin))
			begin = now
		}
		for underway -= n; e.reads && h.kind == kindRead && n > 0; n-- {
			var p []byte
			p, used = e.place(used, h.size)
			e.use(p)
		}
	}
	return nil
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// postSome posts n Work Requests, for the places in the ring from at on, and returns the next
// place.
func (e *end) postSome(h head, n, at int) (next int, err error) {
	wrs := e.wrs[:0]
	for range n {
		wrs = append(wrs, rdmap.WorkRequest{})
		wr := &wrs[len(wrs)-1]
		if at, err = e.request(wr, h, at); err != nil {
			return at, err
		}
		if h.kind == kindWrite && e.reads {
			wr.Unsignaled = true
			wrs = append(wrs, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: written})
		}
	}
	if h.batch {
		_, err = e.ddp.PostBatch(wrs)
		return at, err
	}
	for i := range wrs {
		if err := e.ddp.Post(&wrs[i]); err != nil {
			return at, err
		}
	}
	return at, nil
}

// request fills in wr, for the place at in the ring.
func (e *end) request(wr *rdmap.WorkRequest, h head, at int) (next int, err error) {
	if h.kind == kindAtomic {
		*wr = rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: 1, Remote: e.peer}
		return at, nil
	}
	p, next := e.place(at, h.size)
	*wr = rdmap.WorkRequest{Op: rdmap.WorkSend, Data: p}
	switch h.kind {
	case kindWrite:
		wr.Op = rdmap.WorkWrite
	case kindRead:
		wr.Op = rdmap.WorkRead
	case kindSend:
		return next, nil
	}
	wr.Remote, err = e.peer.Slice(int64(next-h.size), h.size)
	return next, err
}

// reap waits for at least one Completion and returns the number of Completions.
func (e *end) reap(ctx context.Context) (n int, err error) {
	cq := e.ddp.SendCQ()
	if n = cq.Poll(e.done); n == 0 {
		if n, err = cq.WaitBatch(ctx, e.done, false); err != nil {
			return 0, err
		}
	}
	for i := range e.done[:n] {
		if e.done[i].Status != rdmap.StatusOK {
			return 0, e.done[i].Err
		}
	}
	return n, nil
}
