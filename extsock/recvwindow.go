package extsock

import "github.com/rddp/rddp/extsock/internal/bufpool"

// A window is how many messages the peer of a byte stream may have on their way here or unread, and the memory that is
// reserved for them. The peer's credits never exceed the window, so a message within the peer's credits needs no memory
// that is not there, and receiving it never waits. Everything that the peer's messages could hold up is behind them in
// the TCP stream: the credits for our own Writes, the answers to our RDMA Reads, the peer's Reads, and the end.
//
// The first leastWindow messages are the connection's fixed allowance. The memory of the others is the budget's. A
// window opens during startup, before the peer learns its credits. It may shrink later, when the memory limit has been
// lowered, and grow again up to its first size: the connection then keeps credits back that it owes, or gives back more.
type window struct {
	now   int   // messages
	most  int   // messages that the peer was told at startup; 0: there is no window
	least int   // messages that are the allowance
	unit  int64 // octets that the longest message takes
}

const (
	// leastWindow is the smallest window of a connection whose Config does not ask for less, in messages. Two of them are
	// the reserve, so data can fill six: a program may rely on it that a few Writes are taken without a Read. With four,
	// the least that a byte stream works with, a stream over loopback had half the throughput that it has with eight.
	leastWindow = 8
	// windowPart bounds what one window may take: that part of what is left. So the first connections leave some to
	// later ones.
	windowPart = 32
	// Windows take windowShare of 4 parts of the limit. The rest is for what is lent.
	windowShare = 3
)

// reserved returns how many octets the window has of the budget.
func (w *window) reserved() int64 { return int64(w.now-w.least) * w.unit }

// room returns how many octets windows may take more. It is negative after the limit was lowered.
func (b *budget) room() int64 {
	limit := b.limit.Load()
	return min(limit/4*windowShare-b.windows.Load(), limit-b.taken.Load())
}

// openWindow opens a window for as many messages of size octets as there is memory for, at most n.
func (b *budget) openWindow(n, size int) window {
	w := window{least: min(n, leastWindow), unit: int64(bufpool.ChunkSize(size - headerLen))}
	more := max(b.room(), 0) / windowPart / w.unit
	w.most = w.least + int(min(more, int64(n-w.least)))
	if w.now = w.most; !b.takeWindow(w.reserved()) { // another connection was faster
		w.now, w.most = w.least, w.least
	}
	return w
}

// takeWindow is take for a window.
func (b *budget) takeWindow(n int64) bool {
	if !b.take(n) {
		return false
	}
	b.windows.Add(n)
	return true
}

func (b *budget) giveWindow(n int64) {
	b.windows.Add(-n)
	b.give(n)
}

// close gives the window's memory back.
func (w *window) close() {
	if w.most > 0 {
		common.giveWindow(w.reserved())
	}
	*w = window{}
}

// isSettled reports whether the window need not be resized.
func (w *window) isSettled() bool { return w.now == w.most && common.room() >= 0 }

// resize makes the window one message smaller if there is too little memory, or larger if there is enough again.
// It returns by how much.
func (w *window) resize() int {
	room := common.room()
	switch {
	case room < 0 && w.now > w.least:
		w.now--
		common.giveWindow(w.unit)
		return -1
	case room >= w.unit && w.now < w.most && common.takeWindow(w.unit):
		w.now++
		return 1
	}
	return 0
}

// handBack takes in that n buffers that held data, or an offer or its end, are free again, and returns for how many the
// peer gets its credits back. The credits of grants and of messages that carry only credits are never kept back: the peer
// may have no others for its next ones. conformance/models/credits.pml shows the standstill.
func (in *inbox) handBack(n int) (credits int) {
	if n == 0 {
		return 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	w := &in.memory.window
	if in.memory.over || w.isSettled() {
		return n
	}
	for range n {
		change := w.resize()
		in.depth += change
		credits += 1 + change
	}
	in.memory.settle()
	in.window.Store(int64(w.now))
	return credits
}

// setWindow makes the inbox that of a byte stream with w.
func (in *inbox) setWindow(w window) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.framed = true
	in.depth = w.now + extraBuffers
	in.memory.window = w
	in.window.Store(int64(w.now))
}
