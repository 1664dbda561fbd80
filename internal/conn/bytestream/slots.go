package bytestream

import (
	"sync"

	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/ring"
	"github.com/rddp/rddp/rdmap"
)

// A slot is one message from Next to its Completion. Its number is the ID of the Work Request.
type slot struct {
	header [HeaderLen]byte
	body   [maxBody]byte // of a message that is not data
	parts  [2][]byte

	kind    output
	chunk   *bufpool.Chunk // the message; nil if it is a Write's own memory, or only a header and a body
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

// slots holds the messages that are posted, in order. The position of a message is its number.
type slots struct {
	posted   ring.Ring[*slot]
	depth    int   // the maximum number of messages posted
	prepared *slot // of the next message; nil until Next needs it
}

func (s *slots) isFull() bool  { return s.posted.Len() >= s.depth }
func (s *slots) isEmpty() bool { return s.posted.Len() == 0 }

// at returns the slot of a message that is posted.
func (s *slots) at(id uint64) *slot { return *s.posted.At(id) }

// next returns the slot of the next message, for which there is room. It may hold what an earlier
// Next prepared.
func (s *slots) next() *slot {
	if s.prepared == nil {
		s.prepared = spareSlots.Get().(*slot)
	}
	return s.prepared
}

// post notes that the next message is posted.
func (s *slots) post() {
	*s.posted.Push() = s.prepared
	s.prepared = nil
}

// retire frees the slots of the oldest messages, as far as they are done.
func (s *slots) retire() {
	for !s.isEmpty() && (*s.posted.First()).done {
		e := *s.posted.First()
		s.posted.Pop()
		*e = slot{}
		spareSlots.Put(e)
	}
}

// fill makes wr the Send of a header and the data behind it. The data is in the slot's chunk, in
// its body, or in a Write's own memory.
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
