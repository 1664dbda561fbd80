package driver

import (
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/inbox"
)

// A delivery decides where an arriving message goes: to the memory of the Read that waits, to
// memory of the pool and then to the inbox, or nowhere until the next Read comes. It is a value
// without a lock, a goroutine or a clock. A lockedDelivery guards it.
//
// It has several small states, each with a table of its own. They change independently of each
// other, except where the comments of the states say otherwise.
type delivery struct {
	bound uint32 // messages that have begun, modulo 2^32
	size  int    // the maximum length of a message in bytes, with the header of a byte stream
	depth int    // the maximum number of messages
	// longest, if not nil, returns the maximum length of a message, which size bounds: see
	// ReceiveConfig.Longest. Only message mode has it.
	longest func(before uint32, whole bool) int

	used int // messages placed at present, or unread
	// unread has what Reads have not taken. If it is a stream, messages carry the header of the
	// byte stream.
	unread  inbox.Inbox[memory]
	placing placing
	reader  reader
	delay   delay
	// rest is the part of a message of a byte stream that stays in the receive buffer. Reads have
	// taken what was before it.
	rest []byte
	// grant is memory of a Read that the peer may write to, because the peer has offered a long
	// Write. It is nil if there is none.
	grant  *grant
	memory allowance
}

// A memory is the memory of an unread message. It comes from the pool.
type memory struct {
	chunk *bufpool.Chunk
	// unbuffered says that the message uses none of the buffers for which the peer has credits. Its
	// memory was reserved for a grant.
	unbuffered bool
}

// joined is the length in bytes of the memory in which short messages of a byte stream wait
// together. It does not grow with Config.RecvSize, so that a few short messages never take more
// memory.
const joined = 64 << 10

// A binding is the answer to a message that begins.
type binding uint8

const (
	bound   binding = iota // it has memory
	refused                // it gets no memory: the peer has used more buffers than it may
	delayed                // it must wait: see delay
)

// drop frees the buffer of the present message, which is not data or will not be placed.
func (b *delivery) drop() {
	if c := b.unbind(); c != nil {
		b.put(c)
	}
	b.used--
}

// unbind ends the placing of the present message. The caller owns the chunk.
func (b *delivery) unbind() (c *bufpool.Chunk) {
	p := &b.placing
	if p.state == placingLong {
		b.memory.release(bufpool.ChunkSize(len(p.body)))
	}
	c = p.chunk
	p.body, p.chunk = nil, nil
	p.become(placingNone)
	return c
}

// serves reports whether a Read waits that may still get something. After Close or CloseRead a Read
// that waits keeps what it has got, but gets no more. The data before may have been thrown away, so
// what arrives then is not the next part of the stream. It may even be the peer's answer to Close.
func (b *delivery) serves() bool { return b.reader.isThere() && !b.unread.Discards() }

// put returns the memory of a message.
func (b *delivery) put(c *bufpool.Chunk) {
	b.memory.release(c.Size())
	c.Put()
}

// free returns the memory of a message of which nothing is unread any more. The result is the
// number of buffers that are free again.
func (b *delivery) free(m memory) (freed int) {
	if m.unbuffered {
		m.chunk.Put()
		b.memory.endGrant(m.chunk.Size())
		return 0
	}
	b.put(m.chunk)
	b.used--
	return 1
}

// setWindow makes the delivery that of a byte stream with window w.
func (b *delivery) setWindow(w Window) {
	b.unread.Stream = true
	b.depth = w.Now + bytestream.ExtraBuffers
	b.memory.open(w)
}

// setDelay changes the delay. Nothing else does.
func (b *delivery) setDelay(next delay) {
	if next != b.delay {
		delayNext.Become(&b.delay, next)
	}
}

// streamEnds notes that no more bytes of the stream will arrive.
func (b *delivery) streamEnds() {
	if len(b.rest) == 0 {
		b.unread.End()
	} else {
		b.unread.EndBehind()
	}
}

// close discards the unread data, and all data that arrives from now on. It reports whether data of
// the peer is lost by that, or was lost before.
func (b *delivery) close() (lost bool) {
	b.unread.Discard()
	if b.delay == delayPaused || len(b.rest) > 0 {
		b.unread.Lose()
	}
	return b.unread.Close(func(m memory) { b.free(m) })
}

// end returns the memory that no Read will get, when the connection has ended: the memory of an
// incomplete message, the grant, and the window. Unread messages stay, and stay counted.
func (b *delivery) end() {
	if b.placing.state != placingNone {
		b.drop()
	}
	if len(b.rest) > 0 { // the connection has failed, or Close has come
		b.rest = nil
		b.used--
	}
	b.endGrant()
	b.memory.end()
}
