package rdmap

import (
	"math"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
)

// A SharedReceiveQueue (RFC 5042 §2.3.2) holds receive buffers for several queue pairs. A queue pair that
// has it in its Config posts no buffers of its own. The oldest buffer is bound to a queue pair only when a
// Send begins to arrive there, and completes on the RecvCQ of that queue pair. So a server needs buffers
// for the messages on their way, and not for each of its connections. Any goroutine may use the queue.
//
// The queue does not grow. A Send that finds it empty ends its stream (RFC 5041 §7.2), as does a Send for
// which no buffer is posted. One peer can use up the buffers of all: with messages that come faster than
// buffers are posted, but not with messages that it begins and does not finish, of which it has one. Arm
// tells in time, and Completion.QPNum tells whose peer it is (RFC 5042 §6.4.3.1).
type SharedReceiveQueue struct {
	event chan struct{} // capacity 1: see Arm

	mu locks.Mutex[locks.SharedQueue]
	// a ring
	buffers []RecvRequest // +checklocks:mu
	// the oldest buffer, and how many there are
	head int // +checklocks:mu
	n    int // +checklocks:mu
	// fewer than this are an event; 0: none is wanted
	limit    int  // +checklocks:mu
	isClosed bool // +checklocks:mu
}

// NewSharedReceiveQueue returns an empty queue with room for depth buffers, at least 1. Those that are
// bound to a QP do not count.
func NewSharedReceiveQueue(depth int) *SharedReceiveQueue {
	return &SharedReceiveQueue{event: make(chan struct{}, 1), buffers: make([]RecvRequest, max(depth, 1))}
}

// PostRecv puts a buffer at the end of the queue; any goroutine may call it. It never waits. r.Buf is the
// queue's until its Completion, which comes exactly once, or until Close returns its ID. It returns
// ErrQueueFull, ErrClosed, or ErrMessageTooLong for a buffer of more than 2^32-1 octets.
func (s *SharedReceiveQueue) PostRecv(r RecvRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case uint64(len(r.Head))+uint64(len(r.Buf)) > math.MaxUint32:
		return ErrMessageTooLong
	case s.isClosed:
		return ErrClosed
	case s.n == len(s.buffers):
		return ErrQueueFull
	}
	s.buffers[(s.head+s.n)%len(s.buffers)] = r
	s.n++
	return nil
}

// Len returns how many buffers are posted and not bound to a QP.
func (s *SharedReceiveQueue) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// Cap returns how many buffers the queue has room for.
func (s *SharedReceiveQueue) Cap() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.buffers)
}

// Arm asks for one event when fewer than limit buffers are left, which may be now. After the event there is
// none until Arm is called again. Arm takes back an event that nobody has received. A limit of 0 or less
// asks for no event. The channel, on which each event is one value, is always the same.
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
	if s.n < s.limit && !s.isClosed {
		s.limit = 0
		signal(s.event)
	}
}

// Close ends the queue and returns the IDs of the buffers that are not bound to a QP, oldest first: they
// are the caller's again and have no Completion. From now on PostRecv fails, Sends find no buffer, and
// there is no event.
func (s *SharedReceiveQueue) Close() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	var ids []uint64
	for s.n > 0 {
		ids = append(ids, s.takeLocked().ID)
	}
	return ids
}

// take removes the oldest buffer.
func (s *SharedReceiveQueue) take() (r RecvRequest, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return RecvRequest{}, false
	}
	r = s.takeLocked()
	s.watchLocked()
	return r, true
}

// +checklocks:s.mu
func (s *SharedReceiveQueue) takeLocked() RecvRequest {
	r := s.buffers[s.head]
	s.buffers[s.head] = RecvRequest{}
	s.head = (s.head + 1) % len(s.buffers)
	s.n--
	return r
}

// TakeShared sees to it that a Send that begins finds a buffer: it binds the oldest one of the
// SharedReceiveQueue to the QP, unless one that no message has filled is bound already. It reports false
// where there is none, or no entry of the RecvCQ for it, or nothing more is received; DDP then finds no
// buffer and the stream ends. The one goroutine that places segments calls it before it places the first
// segment of a message for QN 0. A QP without such a queue has what is posted, and the answer is false.
func (q *QP) TakeShared() bool {
	if q.cfg.SRQ == nil {
		return false
	}
	queue := q.queues[ddp.QNSend]
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

// bindShared moves a buffer to rq. From then on the end of the stream completes it.
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
