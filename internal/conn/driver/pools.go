package driver

import (
	"sync"

	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/mpa"
)

// Loans come from these pools. Lean buffers and batches cost nothing of the budget.
var (
	buffers     bufpool.Pool
	leanBuffers = sync.Pool{New: func() any { return new([mpa.MinBuffer]byte) }} // for one FPDU each
	batches     = sync.Pool{New: func() any { return mpa.NewBatch(batchCost) }}
	leanBatches = sync.Pool{New: func() any { return mpa.NewBatch(mpa.MinBuffer) }} // for few FPDUs each
)

// A loan is a receive buffer, or an output batch, that a busy connection has borrowed. If the
// budget has no memory for it, the connection gets a lean one. The receive role guards the loan of
// the buffer, and the holder of the transmit token owns the loan of the batch.
type loan struct{ paid int64 } // bytes of the budget; 0: lean

// take takes n bytes from the budget and reports whether the budget had them.
func (l *loan) take(n int64) bool {
	if common.take(n) {
		l.paid = n
	}
	return l.paid > 0
}

// end gives the paid memory back to the budget. The caller returns or drops what was lent.
func (l *loan) end() {
	common.give(l.paid)
	l.paid = 0
}

// get borrows a receive buffer.
func (l *loan) get() []byte {
	if l.take(bufpool.Size) {
		return buffers.Get()
	}
	return leanBuffers.Get().(*[mpa.MinBuffer]byte)[:]
}

// put returns the receive buffer.
func (l *loan) put(b []byte) {
	if l.paid == 0 {
		leanBuffers.Put((*[mpa.MinBuffer]byte)(b))
	} else {
		buffers.Put(b)
	}
	l.end()
}

// getBatch borrows an output batch.
func (l *loan) getBatch() *mpa.Batch {
	if l.take(batchCost) {
		return batches.Get().(*mpa.Batch)
	}
	return leanBatches.Get().(*mpa.Batch)
}

// putBatch returns the output batch.
func (l *loan) putBatch(b *mpa.Batch) {
	if l.paid == 0 {
		leanBatches.Put(b)
	} else {
		batches.Put(b)
	}
	l.end()
}
