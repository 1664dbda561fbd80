package filecopy

import (
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

const (
	// window is the maximum number of chunks of a file that are in progress at a time.
	window = 4
	// The minimum, initial and maximum length of a chunk in bytes. The last chunk of a file may be
	// shorter than minChunk.
	minChunk   = 64 << 10
	firstChunk = 1 << 20
	maxChunk   = 4 << 20
)

// These bound the time of a chunk from the server's announcement to the client's answer. If a chunk
// takes longer than slowChunk, the next chunks are shorter. If it takes less than fastChunk, they
// are longer.
const (
	slowChunk = 4 * time.Second
	fastChunk = time.Second
)

// A pace chooses the length of the server's chunks: as long as possible, as long as no chunk takes
// too long. So messages, which queue after chunks, are not late on a slow link.
type pace struct {
	n     int // the current length; 0 before the first chunk
	limit int // the maximum length
}

// next returns the length of the next chunk of a file that has rest bytes left. rest is at least 1.
func (p *pace) next(rest int64) int {
	if p.n == 0 {
		p.n = min(firstChunk, p.limit)
	}
	return int(min(int64(p.n), rest))
}

// took records how long a chunk of n bytes took.
func (p *pace) took(n int, d time.Duration) {
	switch {
	case d > slowChunk:
		p.n = max(p.n/2, min(minChunk, p.limit))
	case d < fastChunk && n == p.n: // ignore a short chunk at the end of a file
		p.n = min(p.n*2, p.limit)
	}
}

// A slot is the memory that the server lends to its client for a chunk.
type slot struct {
	buf    []byte
	region extsock.Region // the registration of buf; zero unless the slot is lent
	since  time.Time
}

// lend registers the slot's memory, with the length of the last call of memory. The client may read
// or write it until takeBack.
func (s *slot) lend(c *extsock.Conn, a ddp.Access) (rdmap.Handle, error) {
	r, err := c.Register(s.buf, a)
	if err != nil {
		return rdmap.Handle{}, err
	}
	s.region, s.since = r, time.Now()
	return r.Handle(), nil
}

// takeBack ends the registration and returns the memory, which the client can no longer change.
func (s *slot) takeBack() []byte {
	s.region.Deregister()
	s.region = extsock.Region{}
	return s.buf
}

// memory returns the slot's memory, resized to n bytes.
func (s *slot) memory(n int) []byte {
	s.buf = resized(s.buf, n)
	return s.buf
}

// resized returns b with a length of n bytes, or new memory if the capacity of b is too small. If n
// is at least firstChunk, new memory has the capacity maxChunk, because a caller with long chunks
// will soon need it.
func resized(b []byte, n int) []byte {
	switch {
	case cap(b) >= n:
		return b[:n]
	case n >= firstChunk:
		return make([]byte, n, maxChunk)
	}
	return make([]byte, n)
}
