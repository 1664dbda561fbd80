// Package bufpool keeps the receive buffers that connections borrow while bytes are arriving, and
// memory for messages.
//
// An idle connection holds no buffer: it waits in toe.Stream.ReadSegment without one. So ten
// thousand idle connections need ten thousand goroutines and no buffers.
package bufpool

import (
	"math/bits"
	"sync"
)

// Size is the length of every buffer, in bytes. The longest FPDU must fit, and several of them make
// a read worth its system call. Between 256 KiB and 1 MiB, the throughput over loopback did not
// differ beyond the noise.
const Size = 512 << 10

// A Pool lends buffers of Size bytes. The zero value is ready to use. Any goroutine may call its
// methods.
type Pool struct{ p sync.Pool }

// Get lends a buffer, whose content is undefined. The caller returns it with Put.
func (p *Pool) Get() []byte {
	if b, ok := p.p.Get().(*[Size]byte); ok {
		return b[:]
	}
	return new([Size]byte)[:]
}

// Put takes back a buffer that Get lent. The caller must not use it any more.
func (p *Pool) Put(b []byte) { p.p.Put((*[Size]byte)(b[:Size])) }

// Chunk sizes are powers of two between these, in bytes.
const (
	minChunk = 512
	maxChunk = 1 << 20
)

// A Chunk is memory that holds one message on its way to or from an application.
type Chunk struct {
	B     []byte // of the length that GetChunk was called with
	whole []byte
	class int // -1: not pooled
}

var chunks [12]sync.Pool // by class: minChunk << class bytes

// ChunkSize returns how many bytes of memory a chunk of n bytes takes.
func ChunkSize(n int) int {
	if n > maxChunk {
		return n
	}
	return minChunk << classOf(n)
}

// classOf returns the class of a chunk of n bytes. n must be at most maxChunk.
func classOf(n int) (class int) { return bits.Len(uint(max(n, 1)-1) / minChunk) }

// GetChunk lends n bytes of memory, whose content is undefined. Chunks longer than 1 MiB are not
// pooled.
func GetChunk(n int) *Chunk {
	if n > maxChunk {
		whole := make([]byte, n)
		return &Chunk{B: whole, whole: whole, class: -1}
	}
	class := classOf(n)
	c, ok := chunks[class].Get().(*Chunk)
	if !ok {
		c = &Chunk{whole: make([]byte, minChunk<<class), class: class}
	}
	c.B = c.whole[:n]
	return c
}

// Size returns how many bytes of memory the chunk takes.
func (c *Chunk) Size() int { return len(c.whole) }

// Put takes back a chunk that GetChunk lent. The caller must not use it any more.
func (c *Chunk) Put() {
	c.B = nil
	if c.class >= 0 {
		chunks[c.class].Put(c)
	}
}
