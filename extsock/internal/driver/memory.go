package driver

import (
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/mpa"
)

// This file bounds what all peers together can make the process hold. Each connection has a fixed allowance, with
// which it always makes progress. Everything beyond comes from one budget. When the budget is used up, nothing fails and
// no connection waits for another one:
//
//   - A byte stream reserves its window at startup, before its peer gets the credits for it, and gets a smaller window
//     when less is left. So a message that the peer has a credit for always finds memory, and the connection never stops
//     reading from TCP, behind which everything else would wait. See window.
//   - In message mode there are no credits. The connection stops reading from TCP until its program reads.
//   - A receive buffer and an output batch have smaller stand-ins. See loan and batchLoan.

// DefaultMemoryLimit is the limit of SetMemoryLimit at the start, in octets.
const DefaultMemoryLimit = 128 << 20

const (
	// unreadAllowance is how many octets of unread messages a connection in message mode may always hold. A connection
	// that holds less finds memory for one message more.
	unreadAllowance = 64 << 10
	unreadStep      = 64 << 10 // what is taken from the budget, and given back to it, at a time

	batchCost = 512 << 10 // bytes of a batch
)

// A budget is memory that connections share, in octets.
type budget struct {
	limit   atomic.Int64
	taken   atomic.Int64 // lent, held in message mode, or reserved for windows
	windows atomic.Int64 // part of taken: reserved for unread octets of byte streams
	filled  atomic.Int64 // part of windows: in use
}

// common is the process's.
var common = newBudget(DefaultMemoryLimit)

func newBudget(limit int64) *budget {
	b := &budget{}
	b.limit.Store(limit)
	return b
}

// SetMemoryLimit sets the limit in bytes of what all connections of the process may hold beyond the fixed allowance of
// each, and returns the previous limit. A negative n changes nothing.
func SetMemoryLimit(n int64) (before int64) {
	if n < 0 {
		return common.limit.Load()
	}
	return common.limit.Swap(n)
}

// take takes n octets and reports whether there were as many.
func (b *budget) take(n int64) bool {
	for {
		taken := b.taken.Load()
		if taken+n > b.limit.Load() {
			return false
		}
		if b.taken.CompareAndSwap(taken, taken+n) {
			return true
		}
	}
}

func (b *budget) give(n int64) { b.taken.Add(-n) }

// An allowance counts the memory of one connection's unread messages. The inbox's lock guards it.
type allowance struct {
	held   int64  // octets
	taken  int64  // of the budget
	over   bool   // the connection has ended: what is unread is the program's
	window Window // of a byte stream
}

// hold adds n octets in message mode, or reports false if the budget does not have them.
func (a *allowance) hold(n int) bool {
	if !a.over && a.held >= unreadAllowance && a.held+int64(n) > unreadAllowance+a.taken {
		more := steps(int64(n))
		if !common.take(more) {
			return false
		}
		a.taken += more
	}
	a.held += int64(n)
	return true
}

// fill adds n octets of a byte stream, for which the window has memory.
func (a *allowance) fill(n int) {
	a.held += int64(n)
	a.settle()
}

// release takes n octets off. The budget gets them back in steps, so that it has back what a connection held at its
// peak even if that one never empties.
func (a *allowance) release(n int) {
	a.held -= int64(n)
	if a.window.IsOpen() {
		a.settle()
	} else if beyond := steps(a.held - unreadAllowance); beyond < a.taken {
		common.give(a.taken - beyond)
		a.taken = beyond
	}
}

// settle tells the budget how much of a byte stream's window is in use.
func (a *allowance) settle() {
	if a.over {
		return
	}
	w := &a.window
	beyond := min(steps(a.held-int64(w.Least)*w.Unit), w.Reserved())
	if beyond != a.taken {
		common.filled.Add(beyond - a.taken)
		a.taken = beyond
	}
}

// end gives everything back.
func (a *allowance) end() {
	a.over = true
	if a.window.IsOpen() {
		common.filled.Add(-a.taken)
		a.window.Close()
	} else {
		common.give(a.taken)
	}
	a.taken = 0
}

// steps rounds n up to whole steps; it is 0 for a negative n.
func steps(n int64) int64 { return (max(n, 0) + unreadStep - 1) / unreadStep * unreadStep }

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
var lean = sync.Pool{New: func() any { return mpa.NewBatch(mpa.MinBuffer) }}

// A batchLoan is the loan of an output batch: the memory in which FPDUs wait for TCP. The transmit token guards it.
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
