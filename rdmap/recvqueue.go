package rdmap

import (
	"math"

	"github.com/rddp/rddp/ddp"
)

// A recvQueue holds the posted receive buffers until their Completions. The buffers are in posting
// order, and messages fill them in that order. The queue is a ring of the positions from head to
// tail, which only grow. Once the stream has started, each buffer is also in the ddp.Queue of the
// Sends, in the same order.
type recvQueue struct {
	entries []recvEntry // has as many places as were ever needed at a time
	depth   uint64      // the maximum number of buffers
	head    uint64
	tail    uint64
	blamed  Status // if not StatusOK, the status with which the oldest buffer is flushed
}

// A recvEntry is one posted buffer.
type recvEntry struct {
	id    uint64
	head  []byte
	buf   []byte
	isRTR bool // the QP's own buffer, for the peer's RTR
}

func (r *recvQueue) init(depth int) { r.depth = uint64(depth) }

func (r *recvQueue) at(pos uint64) *recvEntry { return &r.entries[pos%uint64(len(r.entries))] }

func (r *recvQueue) isFull() bool { return r.tail-r.head >= r.depth }

func (r *recvQueue) push(e recvEntry) {
	if r.tail-r.head == uint64(len(r.entries)) {
		longer := make([]recvEntry, min(max(2*uint64(len(r.entries)), 4), r.depth))
		for pos := r.head; pos < r.tail; pos++ {
			longer[pos%uint64(len(longer))] = *r.at(pos)
		}
		r.entries = longer
	}
	*r.at(r.tail) = e
	r.tail++
}

// start gives all buffers to DDP. If the peer's RTR is a Send, a buffer of length 0 for it comes
// first.
func (r *recvQueue) start(queue *ddp.Queue, expectRTR bool) {
	if expectRTR {
		r.depth++
		r.push(recvEntry{})
		for pos := r.tail - 1; pos > r.head; pos-- {
			*r.at(pos) = *r.at(pos - 1)
		}
		*r.at(r.head) = recvEntry{isRTR: true}
	}
	for pos := r.head; pos < r.tail; pos++ {
		e := r.at(pos)
		mustPost(queue, e.head, e.buf, e.id)
	}
}

// isEmpty reports whether no buffer is posted.
func (r *recvQueue) isEmpty() bool { return r.head == r.tail }

// retire completes the oldest buffer.
func (r *recvQueue) retire(cq *CompletionQueue, c Completion) {
	e := *r.at(r.head)
	*r.at(r.head) = recvEntry{}
	r.head++
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
//   - ErrSharedQueue if the QP takes its buffers from a shared receive queue.
func (q *QP) PostRecv(r RecvRequest) error {
	if uint64(len(r.Head))+uint64(len(r.Buf)) > math.MaxUint32 {
		return ErrMessageTooLong
	}
	if q.cfg.SRQ != nil {
		return ErrSharedQueue
	}
	// The two queues must have the same order. But PostRecv must not wait for DDP's queue while it
	// holds mu, because DDP's queue is locked while a segment is copied.
	q.postRecvMu.Lock()
	defer q.postRecvMu.Unlock()
	started, err := q.pushRecv(r)
	if err == nil && started {
		mustPost(q.queues[ddp.QNSend], r.Head, r.Buf, r.ID)
	}
	return err
}

func (q *QP) pushRecv(r RecvRequest) (started bool, err error) {
	q.mu.Lock()
	defer q.unlock()
	switch {
	case q.state != StateIdle && !q.isUpLocked():
		return false, q.closedErrLocked()
	case q.peerClosed:
		return false, ErrPeerClosed
	case q.rq.isFull():
		return false, ErrQueueFull
	case !q.cfg.RecvCQ.reserve():
		return false, ErrCompletionQueueFull
	}
	q.rq.push(recvEntry{id: r.ID, head: r.Head, buf: r.Buf})
	return q.state != StateIdle, nil
}
