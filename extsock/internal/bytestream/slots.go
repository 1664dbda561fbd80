package bytestream

import (
	"sync"

	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/rdmap"
)

// A slot is one message from Next to its Completion. Its number is the ID of the Work Request.
type slot struct {
	header [HeaderLen]byte
	body   [maxBody]byte // of a message that is not data
	parts  [2][]byte

	kind    output
	chunk   *bufpool.Chunk // what is sent; nil if that is a Write's own memory, or nothing but a header and a body
	own     bool           // a Write waits for it
	n       int            // bytes of a Write
	credits int            // that the header carries
	control int            // part of them: owedControl
	done    bool
}

// MaxSlots bounds the messages that are posted at a time.
const MaxSlots = 256

// spareSlots holds the slots that no stream needs. No stream keeps unused ones of its own: an idle
// connection takes less memory, and among many connections the slot that was used last is in the
// CPU's cache.
var spareSlots = sync.Pool{New: func() any { return new(slot) }}

// slots is a ring of the messages posted, from head to tail.
type slots struct {
	ring  []*slot // has as many places as were ever needed at a time, a power of two
	depth int     // the maximum number of messages posted
	head  uint64
	tail  uint64
}

func (s *slots) isFull() bool  { return s.tail-s.head >= uint64(s.depth) }
func (s *slots) isEmpty() bool { return s.tail == s.head }

func (s *slots) place(id uint64) **slot { return &s.ring[id&uint64(len(s.ring)-1)] }

// at returns the slot of a message that is posted.
func (s *slots) at(id uint64) *slot { return *s.place(id) }

// next returns the slot of the next message, for which there is room. It may hold what an earlier
// Next prepared.
func (s *slots) next() *slot {
	if s.tail-s.head == uint64(len(s.ring)) {
		s.grow()
	}
	e := s.place(s.tail)
	if *e == nil {
		*e = spareSlots.Get().(*slot)
	}
	return *e
}

// grow doubles the length of the ring. An idle connection has sent few messages at a time, so its ring
// is short.
func (s *slots) grow() {
	before := s.ring
	s.ring = make([]*slot, max(2*len(before), 4))
	for id := s.head; id < s.tail; id++ {
		*s.place(id) = before[id&uint64(len(before)-1)]
	}
}

// retire frees the slots of the oldest messages, as far as they are done.
func (s *slots) retire() {
	for ; s.head < s.tail && s.at(s.head).done; s.head++ {
		e := s.place(s.head)
		**e = slot{}
		spareSlots.Put(*e)
		*e = nil
	}
}

// fill makes wr the Send of a header and data behind it, which is in the slot's chunk, in its body,
// or a Write's own.
func (e *slot) fill(wr *rdmap.WorkRequest, h Header, data []byte) {
	wr.Op = rdmap.WorkSend
	if e.chunk != nil { // with room for the header in front
		h.AppendTo(e.chunk.B[:0])
		wr.Data = e.chunk.B
		return
	}
	h.AppendTo(e.header[:0])
	e.parts = [2][]byte{e.header[:], data}
	wr.Gather = e.parts[:]
}
