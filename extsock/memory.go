package extsock

import (
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/internal/bufpool"
	"github.com/rddp/rddp/mpa"
)

// This file bounds what all peers together can make the process hold. Each connection has a fixed allowance, with
// which it always gets on; what goes beyond comes from one budget. Where that is used up nothing fails: unread
// messages hold up their own connection, and what is received to or waits for TCP gets along with less.

// DefaultMemoryLimit is the limit of SetMemoryLimit at the start, in octets.
const DefaultMemoryLimit = 128 << 20

const (
	// unreadAllowance is what each connection may hold of unread messages, in octets; with less than that a message
	// always finds memory, so that no other connection can bring it to a standstill.
	unreadAllowance = 64 << 10
	unreadStep      = 64 << 10 // is taken from the budget at a time, so that it is seldom asked

	batchCost = mpa.BatchMemory
)

// A budget is memory that connections share, in octets.
type budget struct {
	limit, taken atomic.Int64
}

// common is the process's.
var common = newBudget(DefaultMemoryLimit)

func newBudget(limit int64) *budget {
	b := &budget{}
	b.limit.Store(limit)
	return b
}

// SetMemoryLimit sets how many octets all connections of the process together may hold for their peers beyond the
// fixed allowance of each, and returns what it was; a negative n changes nothing. It counts unread messages beyond
// 64 KiB and one message per connection, the buffer that a connection receives to, which it keeps while more than
// 16 KiB of an FPDU have come and not the rest (512 KiB), and a batch of FPDUs until TCP has taken it (512 KiB). When
// the limit is reached, a
// connection whose program does not read stops reading from TCP, and in place of 512 KiB there are 66. So 0 is the
// least memory, not an end. A limit below what is held now works as that becomes less. What is not counted: registered
// memory, the Region of a granted Write among it, and the payload of the program's own operations.
func SetMemoryLimit(n int64) (before int64) {
	if n < 0 {
		return common.limit.Load()
	}
	return common.limit.Swap(n)
}

// take takes n octets and reports whether there were as many.
func (b *budget) take(n int64) bool {
	if b.taken.Add(n) <= b.limit.Load() {
		return true
	}
	b.taken.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.taken.Add(-n) }

// An allowance counts the memory of one connection's unread messages. The inbox's lock guards it.
type allowance struct {
	held  int64 // octets
	taken int64 // of the budget
	over  bool  // the connection has ended: what is unread is the program's
}

// hold adds c's memory, or where the budget has none reports false.
func (a *allowance) hold(n int) bool {
	if !a.over && a.held >= unreadAllowance && a.held+int64(n) > unreadAllowance+a.taken {
		more := (int64(n) + unreadStep - 1) / unreadStep * unreadStep
		if !common.take(more) {
			return false
		}
		a.taken += more
	}
	a.held += int64(n)
	return true
}

// release takes n octets off.
func (a *allowance) release(n int) {
	a.held -= int64(n)
	if a.held <= unreadAllowance {
		a.giveBack()
	}
}

func (a *allowance) giveBack() {
	if a.taken > 0 {
		common.give(a.taken)
		a.taken = 0
	}
}

func (a *allowance) end() {
	a.over = true
	a.giveBack()
}

// small holds buffers for one FPDU each.
var small = sync.Pool{New: func() any { return new([mpa.MinBuffer]byte) }}

// A loan is a receive buffer that a connection has borrowed. The receive role guards it.
type loan struct{ paid bool }

func (l *loan) get() []byte {
	if l.paid = common.take(bufpool.Size); l.paid {
		return buffers.Get()
	}
	return small.Get().(*[mpa.MinBuffer]byte)[:]
}

func (l *loan) put(b []byte) {
	if !l.paid {
		small.Put((*[mpa.MinBuffer]byte)(b))
		return
	}
	buffers.Put(b)
	l.end()
}

// end gives back what was paid, where the buffer is dropped.
func (l *loan) end() {
	if l.paid {
		l.paid = false
		common.give(bufpool.Size)
	}
}

// lean holds batches for few FPDUs.
var lean = sync.Pool{New: func() any { return mpa.NewSmallBatch() }}

// A batchLoan is the same for where FPDUs wait for TCP. The transmit token guards it.
type batchLoan struct{ paid bool }

func (k *batchLoan) get() *mpa.Batch {
	if k.paid = common.take(batchCost); k.paid {
		return batches.Get().(*mpa.Batch)
	}
	return lean.Get().(*mpa.Batch)
}

func (k *batchLoan) put(b *mpa.Batch) {
	if !k.paid {
		lean.Put(b)
		return
	}
	batches.Put(b)
	k.end()
}

// end gives back what was paid.
func (k *batchLoan) end() {
	if k.paid {
		k.paid = false
		common.give(batchCost)
	}
}
