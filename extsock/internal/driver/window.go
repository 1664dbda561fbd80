package driver

import (
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/bytestream"
)

// A Window is a bytestream.Window whose memory is reserved in the budget. Everything that the peer's messages could hold up is
// behind them in the TCP stream: the credits for our own Writes, the answers to our RDMA Reads, the peer's Reads, and the end.
//
// A window opens during startup, before the peer learns its credits.
type Window struct{ bytestream.Window }

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

// room returns how many octets windows may take more. It is negative after the limit was lowered.
func (b *budget) room() int64 {
	limit := b.limit.Load()
	return min(limit/4*windowShare-b.windows.Load(), limit-b.taken.Load())
}

// openWindow opens a window for as many messages of size octets as there is memory for, at most n.
func (b *budget) openWindow(n, size int) Window {
	w := Window{bytestream.Window{Least: min(n, leastWindow), Unit: int64(bufpool.ChunkSize(size - bytestream.HeaderLen))}}
	more := max(b.room(), 0) / windowPart / w.Unit
	w.Most = w.Least + int(min(more, int64(n-w.Least)))
	if w.Now = w.Most; !b.takeWindow(w.Reserved()) { // another connection was faster
		w.Now, w.Most = w.Least, w.Least
	}
	return w
}

// OpenWindow opens a window in the budget of the process.
func OpenWindow(n, size int) Window { return common.openWindow(n, size) }

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

// Close gives the window's memory back.
func (w *Window) Close() {
	if w.IsOpen() {
		common.giveWindow(w.Reserved())
	}
	*w = Window{}
}

// resize makes the window one message smaller if there is too little memory, or larger if there is enough again.
// It returns by how much.
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

// handBackLocked takes in that n buffers of this kind are free again, and returns for how many the peer of a byte stream gets
// its credits back.
//
// +checklocks:in.mu
func (in *inbox) handBackLocked(n int, b bytestream.Buffer) (back int) {
	w := &in.memory.window
	switch {
	case b == bytestream.ExtraBuffer:
		return 0
	case n == 0 || b == bytestream.ControlBuffer || !w.IsOpen() || in.memory.over:
		return n
	case w.Now == w.Most && common.room() >= 0:
		return n
	}
	for range n {
		change := w.resize()
		in.depth += change
		back += w.HandBack(change)
	}
	in.memory.settle()
	in.window.Store(int64(w.Now))
	return back
}

// setWindow makes the inbox that of a byte stream with w.
func (in *inbox) setWindow(w Window) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.framed = true
	in.depth = w.Now + bytestream.ExtraBuffers
	in.memory.window = w
	in.window.Store(int64(w.Now))
}
