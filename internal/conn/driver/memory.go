package driver

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
)

// This file bounds the memory that all peers together can make the process hold. Each connection
// has a fixed allowance, with which it always makes progress. All memory beyond the allowances
// comes from one budget. When the budget is used up, nothing fails and no connection waits for
// another one:
//
//   - A byte stream reserves its window at startup, before its peer gets the credits for the
//     window. If less memory is left, the window is smaller. So a message that the peer has a
//     credit for always finds memory, and the connection never stops reading from TCP, which would
//     hold up everything behind that message. See Window.
//   - In message mode there are no credits. The connection stops reading from TCP until its program
//     reads.
//   - A Read that lends its memory to a long Write of the peer may leave before the peer has
//     written there. What the peer writes then goes to memory of the connection. That memory is
//     reserved when it is granted, and the grant is as long as there is memory for. If there is too
//     little, the offer is refused, and the Write comes as data. See takeGrant.
//   - A receive buffer and an output batch have smaller replacements. See loan.
//   - A burst of Writes fills fewer messages before they are posted. See byteStream.aheadLocked.

// DefaultMemoryLimit is the initial limit of SetMemoryLimit, in bytes.
const DefaultMemoryLimit = 128 << 20

const (
	// unreadAllowance is how many bytes of unread messages a connection in message mode may always
	// hold. A connection that holds fewer bytes always finds memory for one more message.
	unreadAllowance = 64 << 10
	unreadStep      = 64 << 10 // bytes that one step takes from the budget or gives back

	batchCost = 512 << 10 // bytes of a batch
)

// A budget is memory that connections share, in bytes.
type budget struct {
	limit   atomic.Int64
	taken   atomic.Int64 // on loan, held in message mode or by bursts of Writes, or reserved for windows and grants
	windows atomic.Int64 // part of taken: reserved for unread bytes of byte streams
	filled  atomic.Int64 // part of windows: in use
	grants  atomic.Int64 // part of taken: reserved for memory that replaces a Read's
}

// common is the budget of the process.
var common = newBudget(DefaultMemoryLimit)

func newBudget(limit int64) *budget {
	b := &budget{}
	b.limit.Store(limit)
	return b
}

// SetMemoryLimit sets the maximum number of bytes that all connections of the process may hold
// beyond the fixed allowance of each, and returns the previous maximum. A negative n changes
// nothing.
func SetMemoryLimit(n int64) (before int64) {
	if n < 0 {
		return common.limit.Load()
	}
	return common.limit.Swap(n)
}

// MemoryReserved returns how many bytes of the limit are in use, or reserved for windows and
// grants.
func MemoryReserved() int64 { return common.taken.Load() }

// take takes n bytes from the budget and reports whether the budget had them.
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

// takeGrant takes the memory that may have to replace n bytes of a Read's. It returns for how many
// bytes the budget has memory, or 0 if a grant is not worth it. All grants together get at most
// half of what everything else leaves, so they cost no connection its buffers. One grant gets at
// most half of what is left for grants, so it leaves something to others.
func (b *budget) takeGrant(n int) (granted int) {
	most := (b.limit.Load() - b.taken.Load() - b.grants.Load()) / 4
	if int64(n) > most {
		n = int(max(most, 0))
	}
	if int64(bufpool.ChunkSize(n)) > most {
		n /= 2 // chunks have few lengths, and the one that n needs is less than twice as long
	}
	size := int64(bufpool.ChunkSize(n))
	if n < bytestream.MinGrant || !b.take(size) {
		return 0
	}
	b.grants.Add(size)
	return n
}

// giveGrant gives size bytes back that takeGrant has taken.
func (b *budget) giveGrant(size int64) {
	b.grants.Add(-size)
	b.give(size)
}
