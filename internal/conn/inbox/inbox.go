// Package inbox keeps the messages that have arrived on a connection and that no Read has taken, in
// message mode and for the byte stream. Both engines have one: package driver, whose messages lie
// in memory of a pool, and package device, whose messages lie in registered buffers.
package inbox

import (
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/ring"
	"github.com/rddp/rddp/rdmap"
)

// An Inbox holds the unread messages in their order, and says what comes behind them. It is a value
// without a lock, a goroutine or a clock. An M is the memory of a message. It goes back to the
// caller when nothing of the message is unread.
type Inbox[M any] struct {
	Stream bool // Reads get a stream of bytes, without the borders of messages

	list  ring.Ring[message[M]]
	notes ring.Ring[note] // of the messages that no Read has begun, in message mode
	tail  tail
	sink  sink
}

// A message is bytes that no Read has taken.
type message[M any] struct {
	memory M
	data   []byte // the unread part
	begun  bool   // a Read has taken a part
}

// Len returns the number of messages.
func (b *Inbox[M]) Len() int { return b.list.Len() }

// All calls f with the memory of each message, from the oldest.
func (b *Inbox[M]) All(f func(memory M, unread int)) {
	for at := b.list.Head(); at < b.list.Tail(); at++ {
		m := b.list.At(at)
		f(m.memory, len(m.data))
	}
}

// Add adds a message, whose data lies in memory.
func (b *Inbox[M]) Add(memory M, data []byte) {
	*b.list.Push() = message[M]{memory: memory, data: data}
}

// Join appends data of the stream to the newest message, if it is short and there is room. The data
// then takes up no memory of its own.
func (b *Inbox[M]) Join(data []byte) bool {
	if b.list.Len() == 0 || len(data) >= bytestream.Combine {
		return false
	}
	m := b.list.At(b.list.Tail() - 1)
	if cap(m.data)-len(m.data) < len(data) {
		return false
	}
	m.data = append(m.data, data...)
	return true
}

// Take moves unread bytes to p, and returns their number: as much of the stream as p has room for,
// or as much of one message. If this begins a message, and to is not nil, *to becomes the
// Completion of that message. Take calls free with memory that holds nothing unread any more.
func (b *Inbox[M]) Take(p []byte, to *rdmap.Completion, free func(M)) (n int) {
	for b.list.Len() > 0 {
		m := b.list.First()
		if !m.begun && !b.Stream {
			m.begun = true
			b.EndNote(to)
		}
		k := copy(p[n:], m.data)
		m.data = m.data[k:]
		n += k
		if len(m.data) > 0 {
			break
		}
		memory := m.memory
		b.list.Pop()
		free(memory)
		if !b.Stream {
			break
		}
	}
	return n
}

// Show copies to p what Take would take, and takes nothing. all says that nothing else is unread,
// and ended that nothing follows.
func (b *Inbox[M]) Show(p []byte) (n int, all, ended bool) {
	left := b.list.Len() // messages that are not whole in p
	for at := b.list.Head(); left > 0; at++ {
		data := b.list.At(at).data
		k := copy(p[n:], data)
		if n += k; k < len(data) {
			break
		}
		if left--; !b.Stream {
			break
		}
	}
	return n, left == 0, left == 0 && b.IsOver()
}

// Close discards what is unread, and what arrives from now on. It reports whether data of the peer
// is lost by that, or was lost before.
func (b *Inbox[M]) Close(free func(M)) (lost bool) {
	b.Discard()
	if b.list.Len() > 0 {
		b.Lose()
	}
	for b.list.Len() > 0 {
		memory := b.list.First().memory
		b.list.Pop()
		free(memory)
	}
	return b.sink == sinkLosing
}
