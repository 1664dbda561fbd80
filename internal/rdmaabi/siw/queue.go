package siw

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

var le = binary.LittleEndian

// MaxSegments is the maximum number of segments of an entry.
const MaxSegments = 6

// Lengths of entries, and where the segments begin, in bytes.
const (
	sendLen    = 24 + MaxSegments*uverbs.SGELen
	receiveLen = 16 + MaxSegments*uverbs.SGELen
	doneLen    = 32
	sendList   = 24
	recvList   = 16
	stateAt    = 8
)

// The flags of an entry.
const (
	valid     = 1 << 0
	signaled  = 1 << 2
	solicited = 1 << 3
	fence     = 1 << 4

	anyFlag     = 1<<16 - 1 // of a work request
	anyDoneFlag = 1<<8 - 1
)

// A queue is an array of entries. The program is its producer or its consumer.
type queue struct {
	b     []byte
	len   int // of an entry, in bytes
	n, at uint32
}

// open returns a queue of n entries in b.
func open(b []byte, n uint32, entryLen int) (queue, error) {
	if n == 0 || uint64(n)*uint64(entryLen) > uint64(len(b)) {
		return queue{}, fmt.Errorf("siw: %d entries of %d bytes in %d bytes of memory", n, entryLen, len(b))
	}
	return queue{b: b, len: entryLen, n: n}, nil
}

// entry returns the next entry and its state.
func (q *queue) entry() (b []byte, state *uint32) {
	b = q.b[int(q.at)*q.len:][:q.len]
	return b, (*uint32)(unsafe.Pointer(&b[stateAt]))
}

func (q *queue) advance() { q.at = (q.at + 1) % q.n }

// put adds a work request. It returns false if its place is not free.
func (q *queue) put(id uint64, state uint32, list []uverbs.SGE, listAt int, fill func(b []byte)) bool {
	b, s := q.entry()
	if len(list) > MaxSegments || atomic.LoadUint32(s)&anyFlag != 0 {
		return false
	}
	le.PutUint64(b, id)
	clear(b[listAt:])
	for i, e := range list {
		e.Put(b[listAt+i*uverbs.SGELen:])
	}
	fill(b)
	atomic.StoreUint32(s, state|valid|uint32(len(list))<<16)
	q.advance()
	return true
}

// A SendQueue is the send queue of a queue pair.
type SendQueue struct{ q queue }

// operations are siw's numbers of operations.
var operations = map[uverbs.SendOp]uint32{uverbs.OpWrite: 0, uverbs.OpRead: 1, uverbs.OpSend: 3}

// Put adds a work request. Its operation is Send, Write or Read; a Read has at most one segment.
// Put returns false if the queue is full.
func (s *SendQueue) Put(w *uverbs.SendWR, list []uverbs.SGE) bool {
	op, ok := operations[w.Op]
	if !ok || w.Op == uverbs.OpRead && len(list) > 1 {
		panic(fmt.Sprintf("BUG: %v with %d segments", w.Op, len(list)))
	}
	state := op<<24 | signaled
	if w.Flags&uverbs.Fence != 0 {
		state |= fence
	}
	if w.Flags&uverbs.Solicited != 0 {
		state |= solicited
	}
	return s.q.put(w.ID, state, list, sendList, func(b []byte) {
		le.PutUint32(b[12:], w.RKey)
		le.PutUint64(b[16:], w.Addr)
	})
}

// A ReceiveQueue is the receive queue of a queue pair.
type ReceiveQueue struct{ q queue }

// Put adds a receive. It returns false if the queue is full.
func (r *ReceiveQueue) Put(id uint64, list []uverbs.SGE) bool {
	return r.q.put(id, 0, list, recvList, func([]byte) {})
}

// A CompletionQueue holds the kernel's completions.
type CompletionQueue struct {
	q    queue
	wake *uint32 // which completions wake the program once
}

// statuses are the statuses that siw has, by its numbers.
var statuses = [...]uverbs.WCStatus{
	uverbs.Success, uverbs.LocalLengthErr, uverbs.LocalProtErr, uverbs.LocalQPErr, uverbs.FlushErr, uverbs.BadResponseErr, uverbs.LocalAccessErr,
	uverbs.RemoteAccessErr, uverbs.RemoteInvalidErr, uverbs.GeneralErr,
}

// completed are the operations of completions, by siw's numbers.
var completed = map[uint32]uverbs.WCOp{0: uverbs.WCWrite, 1: uverbs.WCRead, 3: uverbs.WCSend, 8: uverbs.WCRecv}

// Arm makes the next completion wake the program, once.
func (c *CompletionQueue) Arm() {
	const solicited, next = 1 << 0, 1 << 1
	atomic.StoreUint32(c.wake, solicited|next)
}

// Take takes the oldest completion. ok is false if there is none.
func (c *CompletionQueue) Take() (w uverbs.WC, ok bool, err error) {
	b, s := c.q.entry()
	state := atomic.LoadUint32(s)
	if state&valid == 0 {
		return w, false, nil
	}
	w = uverbs.WC{ID: le.Uint64(b), Len: le.Uint32(b[12:]), QPN: le.Uint32(b[24:])}
	atomic.StoreUint32(s, state&^anyDoneFlag)
	c.q.advance()
	op, status := state>>8&0xff, state>>16
	if w.Op, ok = completed[op]; !ok || status >= uint32(len(statuses)) {
		return w, false, fmt.Errorf("siw: a completion with operation %d and status %d", op, status)
	}
	w.Status = statuses[status]
	return w, true, nil
}
