// Package bufpool keeps the receive buffers that connections borrow while octets are arriving.
//
// An idle connection holds none: it waits in toe.Stream.ReadSegment with no buffer, so ten thousand
// idle connections cost ten thousand goroutines and nothing more.
package bufpool

import "sync"

// Size is the length of every buffer, in octets. It must hold the longest FPDU, and several of them for
// a read to be worth its system call. Between 256 KiB and 1 MiB no difference in throughput could be
// told from the noise on loopback.
const Size = 512 << 10

// A Pool lends buffers of Size octets. The zero value works. Safe for concurrent use.
type Pool struct{ p sync.Pool }

// Get lends a buffer; its content is undefined. The caller gives it back with Put.
func (p *Pool) Get() []byte {
	if b, ok := p.p.Get().(*[Size]byte); ok {
		return b[:]
	}
	return new([Size]byte)[:]
}

// Put takes back a buffer that Get lent. The caller must not use it any more.
func (p *Pool) Put(b []byte) { p.p.Put((*[Size]byte)(b[:Size])) }

// Chunk sizes are powers of two between these, in octets.
const (
	minChunk = 512
	maxChunk = 128 << 10
)

// A Chunk is memory that holds one message on its way to or from an application.
type Chunk struct {
	B     []byte // as long as was asked for
	whole []byte
	class int // -1: not pooled
}

var chunks [9]sync.Pool // by class: minChunk << class octets

// ChunkSize returns how much memory a chunk of n octets takes, in octets.
func ChunkSize(n int) int {
	if n > maxChunk {
		return n
	}
	return minChunk << classOf(n)
}

// classOf returns the class of a chunk of n octets, at most maxChunk.
func classOf(n int) (class int) {
	for minChunk<<class < n {
		class++
	}
	return class
}

// GetChunk lends memory of n octets, whose content is undefined. Longer ones than 128 KiB are not
// kept for the next.
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

// Size returns how much memory the chunk takes, in octets.
func (c *Chunk) Size() int { return len(c.whole) }

// Put takes back a chunk that GetChunk lent. The caller must not use it any more.
func (c *Chunk) Put() {
	c.B = nil
	if c.class >= 0 {
		chunks[c.class].Put(c)
	}
}
