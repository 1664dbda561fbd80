package driver

import (
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
)

// A Window is a bytestream.Window whose memory is reserved in the budget. If a message of the peer
// had to wait for memory, everything behind it in the TCP stream would wait too: the credits for
// our own Writes, the answers to our RDMA Reads, the peer's Reads, and the end.
//
// A window opens during startup, before the peer learns its credits.
type Window struct{ bytestream.Window }

const (
	// leastWindow is the smallest window, in messages, of a connection whose Config does not ask
	// for less. Two of the messages are the reserve, so data can fill six. A program may therefore
	// rely on a few Writes without a Read. With a window of four, the minimum of a byte stream, a
	// stream over loopback had half the throughput that it has with eight.
	leastWindow = 8
	// One window may take at most 1/windowPart of the memory that is left for windows. So the first
	// connections leave memory for later connections.
	windowPart = 32
	// All windows together may take windowShare quarters of the limit. The rest is for loans and
	// unread messages.
	windowShare = 3
)

// room returns how many more bytes windows may take. It is negative after the limit was lowered.
func (b *budget) room() int64 {
	limit := b.limit.Load()
	return min(limit/4*windowShare-b.windows.Load(), limit-b.taken.Load())
}

// openWindow opens a window for up to n messages of size bytes: the allowance, and as many more as
// there is memory for.
func (b *budget) openWindow(n, size int) Window {
	w := Window{bytestream.Window{Least: min(n, leastWindow), Unit: int64(bufpool.ChunkSize(size - bytestream.HeaderLen))}}
	more := max(b.room(), 0) / windowPart / w.Unit
	w.Most = w.Least + int(min(more, int64(n-w.Least)))
	if w.Now = w.Most; !b.takeWindow(w.Reserved()) { // another connection was faster
		w.Now, w.Most = w.Least, w.Least
	}
	return w
}

// OpenWindow opens a window in the budget of the process. The window has room for up to n messages
// of size bytes: the allowance, and as many more as there is memory for.
func OpenWindow(n, size int) Window { return common.openWindow(n, size) }

// takeWindow is take for the memory of a window.
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

// Close gives the window's memory back.
func (w *Window) Close() { w.closeTo(0) }

// closeTo is Close, but for the memory of n bytes that stay unread. They no longer belong to a
// window, and their owner gives them back.
func (w *Window) closeTo(n int64) {
	if w.IsOpen() {
		common.windows.Add(-w.Reserved())
		common.give(w.Reserved() - n)
	}
	*w = Window{}
}

// resize makes the window one message smaller if there is too little memory, or one message larger
// if there is enough again. It returns the change in messages.
func (w *Window) resize() int {
	change := w.Change(common.room())
	switch {
	case change > 0 && !common.takeWindow(w.Unit): // another connection was faster
		return 0
	case change < 0:
		common.giveWindow(w.Unit)
	}
	return change
}
