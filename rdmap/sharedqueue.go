package rdmap

import (
	"math"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/ring"
)

// A SharedReceiveQueue (RFC 5042 §2.3.2) holds receive buffers for several queue pairs. A queue
// pair that has it in its Config posts no buffers of its own. The oldest buffer is bound to a queue
// pair only when a Send begins to arrive there. It completes on the RecvCQ of that queue pair. So a
// server needs buffers for the messages on their way, and not for each of its connections. Any
// goroutine may use the queue.
//
// The queue has a fixed depth. A Send that finds it empty ends its stream (RFC 5041 §7.2), like a
// Send for which no buffer is posted. One peer can use up the buffers of all queue pairs, if its
// messages arrive faster than buffers are posted. It can't do so with messages that it begins and
// does not finish, because it can have only one of these. Arm warns the program in time, and
// Completion.QPNum says which peer used a buffer (RFC 5042 §6.4.3.1).
type SharedReceiveQueue struct {
	event chan struct{} // capacity 1: see Arm
	depth int           // the maximum number of buffers

	mu      locks.Mutex[locks.SharedQueue]
	buffers ring.Ring[RecvRequest] // +checklocks:mu
	// Fewer buffers than limit cause an event. 0 means that no event is wanted.
	limit    int  // +checklocks:mu
	isClosed bool // +checklocks:mu
}

// NewSharedReceiveQueue returns an empty queue with room for depth buffers, at least 1. Buffers
// that are bound to a QP do not count.
func NewSharedReceiveQueue(depth int) *SharedReceiveQueue {
	return &SharedReceiveQueue{event: make(chan struct{}, 1), depth: max(depth, 1)}
}

// PostRecv appends a buffer to the queue. Any goroutine may call it, and it never waits. The memory
// belongs to the queue until the Completion, which comes exactly once, or until Close returns the
// ID. The error is ErrQueueFull, ErrClosed, or ErrMessageTooLong for a buffer of more than 2^32-1
// bytes.
func (s *SharedReceiveQueue) PostRecv(r RecvRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case uint64(len(r.Head))+uint64(len(r.Buf)) > math.MaxUint32:
		return ErrMessageTooLong
	case s.isClosed:
		return ErrClosed
	case s.buffers.Len() == s.depth:
		return ErrQueueFull
	}
	*s.buffers.Push() = r
	return nil
}

// Len returns the number of buffers that are posted and not bound to a QP.
func (s *SharedReceiveQueue) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffers.Len()
}

// Cap returns the number of buffers that the queue has room for.
func (s *SharedReceiveQueue) Cap() int { return s.depth }

// Arm asks for one event when fewer than limit buffers are left, which may be the case already.
// After the event there is no other until Arm is called again. Arm takes back an event that nobody
// has received. With a limit of 0 or less there is no event. Each event is one value on the
// channel, which is always the same.
func (s *SharedReceiveQueue) Arm(limit int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.event:
	default:
	}
	s.limit = max(limit, 0)
	s.watchLocked()
	return s.event
}

// watchLocked raises the event if it is due.
//
// +checklocks:s.mu
func (s *SharedReceiveQueue) watchLocked() {
	if s.buffers.Len() < s.limit && !s.isClosed {
		s.limit = 0
		signal(s.event)
	}
}

// Close closes the queue. It returns the IDs of the buffers that are not bound to a QP, oldest
// first. These buffers belong to the caller again and have no Completion. From now on PostRecv
// fails, Sends find no buffer, and there is no event.
func (s *SharedReceiveQueue) Close() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	var ids []uint64
	for s.buffers.Len() > 0 {
		ids = append(ids, s.buffers.First().ID)
		s.buffers.Pop()
	}
	return ids
}

// take removes the oldest buffer.
func (s *SharedReceiveQueue) take() (r RecvRequest, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buffers.Len() == 0 {
		return RecvRequest{}, false
	}
	r = *s.buffers.First()
	s.buffers.Pop()
	s.watchLocked()
	return r, true
}

// TakeShared provides a buffer for a Send that begins to arrive. It binds the oldest buffer of the
// SharedReceiveQueue to the QP, unless a buffer that no message has filled is bound already. It
// returns false if the queue is empty, if the RecvCQ has no entry left, or if the QP receives
// nothing more. DDP then finds no buffer, and the stream ends. The goroutine that places segments
// calls TakeShared before it places the first segment of a message for QN 0. Without a
// SharedReceiveQueue, TakeShared does nothing and returns false.
func (q *QP) TakeShared() bool {
	if q.cfg.SRQ == nil {
		return false
	}
	queue := &q.queues[ddp.QNSend]
	if queue.Len() > 0 {
		return true
	}
	q.postRecvMu.Lock()
	defer q.postRecvMu.Unlock()
	r, ok := q.bindShared()
	if ok {
		mustPost(queue, r.Head, r.Buf, r.ID)
	}
	return ok
}

// bindShared moves a buffer to rq. From then on the end of the stream completes the buffer.
func (q *QP) bindShared() (r RecvRequest, ok bool) {
	q.mu.Lock()
	defer q.unlock()
	if !q.receivesLocked() || q.rq.isFull() || !q.cfg.RecvCQ.reserve() {
		return RecvRequest{}, false
	}
	r, ok = q.cfg.SRQ.take()
	if !ok {
		q.cfg.RecvCQ.release()
		return RecvRequest{}, false
	}
	q.rq.push(recvEntry{id: r.ID, head: r.Head, buf: r.Buf})
	return r, true
}
