package filecopy

import (
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

const (
	// window is the most chunks of a file that are under way at a time.
	window = 4
	// Lengths of a chunk in octets. The last one of a file may be shorter than minChunk.
	minChunk   = 64 << 10
	firstChunk = 1 << 20
	maxChunk   = 4 << 20
)

// How long a chunk may take from the server's announcement to the client's answer before the next ones are
// made shorter, or should at least take before they are made longer.
const (
	slowChunk = 4 * time.Second
	fastChunk = time.Second
)

// A pace is how long the server's chunks are: as long as they can be without one taking very long.
// So messages, which queue up behind chunks, are not late on a slow link.
type pace struct {
	n     int // the current length; 0 before the first
	limit int // the longest
}

// next returns the length of the next chunk of a file of which rest octets, at least 1, are left.
func (p *pace) next(rest int64) int {
	if p.n == 0 {
		p.n = min(firstChunk, p.limit)
	}
	return int(min(int64(p.n), rest))
}

// took notes how long a chunk of n octets took.
func (p *pace) took(n int, d time.Duration) {
	switch {
	case d > slowChunk:
		p.n = max(p.n/2, min(minChunk, p.limit))
	case d < fastChunk && n == p.n: // a chunk at the end of a file says nothing
		p.n = min(p.n*2, p.limit)
	}
}

// A slot is the memory that the server lends to its client for a chunk.
type slot struct {
	buf    []byte
	region extsock.Region // of buf; zero unless the slot is lent
	since  time.Time
}

// lend registers the slot's memory, as long as the last call of memory has made it. What is in it is the
// client's to read or write until takeBack.
func (s *slot) lend(c *extsock.Conn, a ddp.Access) (rdmap.Handle, error) {
	r, err := c.Register(s.buf, a)
	if err != nil {
		return rdmap.Handle{}, err
	}
	s.region, s.since = r, time.Now()
	return r.Handle(), nil
}

// takeBack ends the loan and returns the memory, which the client can't change any more.
func (s *slot) takeBack() []byte {
	s.region.Deregister()
	s.region = extsock.Region{}
	return s.buf
}

// memory returns the slot's memory with a length of n octets. It keeps what it has allocated.
func (s *slot) memory(n int) []byte {
	s.buf = resized(s.buf, n)
	return s.buf
}

// resized returns b, or new memory if b is too short, with a length of n octets. Whoever needs a long chunk
// will soon need the longest.
func resized(b []byte, n int) []byte {
	switch {
	case cap(b) >= n:
		return b[:n]
	case n >= firstChunk:
		return make([]byte, n, maxChunk)
	}
	return make([]byte, n)
}
