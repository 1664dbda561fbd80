package ddp

import (
	"fmt"

	"github.com/rddp/rddp/ddp/internal/place"
	"github.com/rddp/rddp/internal/locks"
)

// A Queue holds the Untagged Buffers of one QN of one stream. The k-th posted buffer receives the
// message with the k-th MSN, not counting the messages that have a buffer of [Receiver.Bind]. Any
// goroutine may call the methods. The [Receiver] takes the buffers out.
//
// A buffer belongs to the Queue from Post until the Message that used it is delivered, or until
// Flush has returned.
type Queue struct {
	depth int // the maximum number of buffers

	mu locks.Mutex[locks.Queue]
	// buffers is a ring of count buffers from head on. The first full of them hold whole messages
	// that wait for delivery. The next buffer is the one being filled. The ring is as long as was
	// ever needed.
	buffers []buffer // +checklocks:mu
	head    int      // +checklocks:mu
	count   int      // +checklocks:mu
	full    int      // +checklocks:mu
	closed  bool     // +checklocks:mu
}

// A buffer is one posted Untagged Buffer: head and then b.
type buffer struct {
	head []byte
	b    []byte
	id   uint64
}

// room returns how many bytes the buffer can hold.
func (b *buffer) room() uint64 { return uint64(len(b.head)) + uint64(len(b.b)) }

// filled returns the part of b.b that a message of n bytes has written.
func (b *buffer) filled(n uint32) []byte { return b.b[:max(int(n)-len(b.head), 0)] }

// put copies payload to offset off of the buffer. The caller has checked that the payload fits.
func (b *buffer) put(off uint64, payload []byte) {
	if head := uint64(len(b.head)); off < head {
		payload = payload[copy(b.head[off:], payload):]
		off = 0
	} else {
		off -= head
	}
	place.Copy(b.b[off:], payload)
}

// NewQueue returns an empty Queue that holds at most depth buffers.
func NewQueue(depth int) *Queue { return &Queue{depth: depth} }

// Post appends a buffer. A message fills head first and then b, and either may be empty. The
// Message that fills the buffer, or Flush, returns id. After a Flush, Post does nothing and returns
// false. Posting more buffers than the Queue holds, or a buffer of more than 2^32-1 bytes, is a bug
// of the caller.
func (q *Queue) Post(head, b []byte, id uint64) bool {
	if n := uint64(len(head)) + uint64(len(b)); n > maxMessageLen {
		panic(fmt.Sprintf("BUG: Untagged Buffer of %d bytes", n))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false
	case q.count == q.depth:
		panic(fmt.Sprintf("BUG: more than %d Untagged Buffers in a Queue", q.depth))
	case q.count == len(q.buffers):
		q.growLocked()
	}
	q.buffers[(q.head+q.count)%len(q.buffers)] = buffer{head, b, id}
	q.count++
	return true
}

// growLocked makes the ring longer.
//
// +checklocks:q.mu
func (q *Queue) growLocked() {
	longer := make([]buffer, min(max(2*len(q.buffers), 4), q.depth))
	n := copy(longer, q.buffers[q.head:])
	copy(longer[n:], q.buffers[:q.head])
	q.buffers, q.head = longer, 0
}

// Len returns how many buffers can still receive bytes: the buffer being filled, and the buffers in
// which no message has been placed yet.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count - q.full
}

// Flush takes back all buffers and returns their IDs, oldest first. That includes buffers whose
// message has not been delivered. When Flush returns, no byte is copied into any of these buffers
// any more. The Queue is then closed: Post returns false, and a message finds no posted buffer.
func (q *Queue) Flush() []uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ids []uint64
	for range q.count {
		ids = append(ids, q.popLocked().id)
	}
	q.full = 0
	q.closed = true
	return ids
}

// take removes the oldest buffer that holds a whole message. After a Flush there is none.
func (q *Queue) take() (b buffer, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full == 0 {
		return buffer{}, false
	}
	q.full--
	return q.popLocked(), true
}

// atLocked returns the buffer for the message k after the one being filled, if it is posted.
//
// +checklocks:q.mu
func (q *Queue) atLocked(k uint32) (b *buffer, ok bool) {
	if uint64(k) >= uint64(q.count-q.full) {
		return nil, false
	}
	return &q.buffers[(q.head+q.full+int(k))%len(q.buffers)], true
}

// popLocked removes the oldest buffer.
//
// +checklocks:q.mu
func (q *Queue) popLocked() buffer {
	b := q.buffers[q.head]
	q.buffers[q.head] = buffer{}
	q.head = (q.head + 1) % len(q.buffers)
	q.count--
	return b
}
