package ddp

import (
	"fmt"

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
	size  int // bytes of each of the Queue's own buffers; 0 if Post gives it buffers

	mu locks.Mutex[locks.Queue]
	// buffers is a ring of count buffers from head on. The first full of them hold whole messages
	// that wait for delivery. The next buffer is the one being filled. The ring grows when needed
	// and never shrinks. It is not a ring.Ring because head and count also hold for the Queue's own
	// buffers, which have no entries.
	buffers []buffer // +checklocks:mu
	head    int      // +checklocks:mu
	count   int      // +checklocks:mu
	full    int      // +checklocks:mu
	closed  bool     // +checklocks:mu
	// own has the Queue's own buffers. It is nil until a message needs one. The ring then has no
	// entries, because the buffers follow one another in own too.
	own *ownBuffers // +checklocks:mu
}

// ownBuffers are the buffers that a Queue has made itself.
type ownBuffers struct {
	memory  []byte // of all buffers, one after the other
	present buffer // the buffer that atLocked returned last
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

// NewQueue returns a Queue that holds at most depth buffers. If size is 0, the Queue is empty, and
// Post gives it buffers. Otherwise it begins with depth buffers of its own, of size bytes each,
// which take no memory until the first message.
func NewQueue(depth, size int) *Queue {
	q := new(Queue)
	q.Init(depth, size)
	return q
}

// Init makes q what NewQueue returns. It is for an owner that has the Queue in its own memory, and
// must be called before the other methods. The zero value holds no buffers.
//
// +checklocksignore: nobody else has q yet
func (q *Queue) Init(depth, size int) {
	q.depth, q.size = depth, size
	if size > 0 {
		q.count = depth
	}
}

// Post appends a buffer. A message fills head first and then b, and either may be empty. The
// Message that fills the buffer, or Flush, returns id. After a Flush, Post does nothing and returns
// false. Posting more buffers than the Queue holds, or a buffer of more than 2^32-1 bytes, is a bug
// of the caller.
//
// A Queue with buffers of its own gets back, by Post(nil, nil, 0), the buffer of the oldest message
// that has been delivered and whose buffer it has not got back.
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
	case q.size > 0:
		q.count++
		return true
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
// message has not been delivered. When Flush returns, all copies into these buffers have ended. The
// Queue is then closed: Post returns false, and a message finds no posted buffer.
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
	if q.size > 0 {
		b := q.ownLocked(q.full + int(k))
		q.own.present = b
		return &q.own.present, true
	}
	return &q.buffers[(q.head+q.full+int(k))%len(q.buffers)], true
}

// ownLocked returns the Queue's own buffer that comes k after the oldest.
//
// +checklocks:q.mu
func (q *Queue) ownLocked(k int) buffer {
	if q.own == nil {
		q.own = &ownBuffers{memory: make([]byte, q.depth*q.size)}
	}
	at := (q.head + k) % q.depth * q.size
	return buffer{b: q.own.memory[at : at+q.size : at+q.size]}
}

// popLocked removes the oldest buffer.
//
// +checklocks:q.mu
func (q *Queue) popLocked() buffer {
	if q.size > 0 {
		b := q.ownLocked(0)
		q.head = (q.head + 1) % q.depth
		q.count--
		return b
	}
	b := q.buffers[q.head]
	q.buffers[q.head] = buffer{}
	q.head = (q.head + 1) % len(q.buffers)
	q.count--
	return b
}
