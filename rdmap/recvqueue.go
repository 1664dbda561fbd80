package rdmap

import (
	"math"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/ring"
)

// A recvQueue holds the posted receive buffers until their Completions. The buffers are in posting
// order, and messages fill them in that order. Once the stream has started, each buffer is also in
// the ddp.Queue of the Sends, in the same order.
type recvQueue struct {
	entries ring.Ring[recvEntry]
	depth   int    // the maximum number of buffers
	blamed  Status // if not StatusOK, the status with which the oldest buffer is flushed
}

// A recvEntry is one posted buffer.
type recvEntry struct {
	id    uint64
	head  []byte
	buf   []byte
	isRTR bool // the QP's own buffer, for the peer's RTR
}

func (r *recvQueue) init(depth int) { r.depth = depth }

func (r *recvQueue) isFull() bool { return r.entries.Len() >= r.depth }

// isEmpty reports whether no buffer is posted.
func (r *recvQueue) isEmpty() bool { return r.entries.Len() == 0 }

func (r *recvQueue) push(e recvEntry) { *r.entries.Push() = e }

// start gives all buffers to DDP. If the peer's RTR is a Send, a buffer of length 0 for it comes
// first.
func (r *recvQueue) start(queue *ddp.Queue, expectRTR bool) {
	if expectRTR {
		r.depth++
		posted := r.entries.Len()
		r.push(recvEntry{isRTR: true})
		for range posted {
			e := *r.entries.First()
			r.entries.Pop()
			r.push(e)
		}
	}
	for pos := r.entries.Head(); pos < r.entries.Tail(); pos++ {
		e := r.entries.At(pos)
		mustPost(queue, e.head, e.buf, e.id)
	}
}

// retire completes the oldest buffer.
func (r *recvQueue) retire(cq *CompletionQueue, c Completion) {
	e := *r.entries.First()
	r.entries.Pop()
	if e.isRTR {
		return
	}
	c.ID, c.Op = e.id, WorkRecv
	cq.complete(c)
}

// PostRecv appends a buffer to the receive queue. Any goroutine may call it, also before Start, and
// it never waits. A closing stream still accepts buffers, because its peer may still send. If
// PostRecv returns nil, there will be exactly one Completion. It returns
//
//   - ErrClosed or ErrPeerClosed if nothing more can arrive;
//   - ErrQueueFull or ErrCompletionQueueFull if a queue has no room;
//   - ErrMessageTooLong for a buffer of more than 2^32-1 bytes;
//   - ErrBadRequest if the QP takes its buffers from a shared receive queue.
func (q *QP) PostRecv(r RecvRequest) error {
	if uint64(len(r.Head))+uint64(len(r.Buf)) > math.MaxUint32 {
		return ErrMessageTooLong
	}
	if q.cfg.SRQ != nil {
		return errSharedQueue
	}
	// The two queues must have the same order. But PostRecv must not wait for DDP's queue while it
	// holds mu, because DDP's queue is locked while a segment is copied.
	q.postRecvMu.Lock()
	defer q.postRecvMu.Unlock()
	started, err := q.pushRecv(r)
	if err == nil && started {
		mustPost(&q.queues[ddp.QNSend], r.Head, r.Buf, r.ID)
	}
	return err
}

func (q *QP) pushRecv(r RecvRequest) (started bool, err error) {
	q.mu.Lock()
	defer q.unlock()
	switch {
	case q.state != stateIdle && !q.isUpLocked():
		return false, q.closedErrLocked()
	case q.peerClosed:
		return false, ErrPeerClosed
	case q.rq.isFull():
		return false, ErrQueueFull
	case !q.cfg.RecvCQ.reserve():
		return false, ErrCompletionQueueFull
	}
	q.rq.push(recvEntry{id: r.ID, head: r.Head, buf: r.Buf})
	return q.state != stateIdle, nil
}
