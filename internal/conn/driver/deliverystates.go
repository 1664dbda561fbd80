package driver

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/rdmap"
)

// This file has the states of a delivery: what the waiting Read has got, where the present message
// goes, and why the next message has no memory.

// A reader is the Read that waits for messages. One Read waits at a time.
type reader struct {
	state readerState
	want  []byte // the Read's memory, where messages may go
	got   int    // bytes in want
	// note, if not nil, becomes the Completion of the message that the Read begins, in message
	// mode.
	note *rdmap.Completion
}

// A readerState is what the waiting Read has got.
//
//	absent ──begin──▶ waiting ──a message, or bytes of the stream──▶ served
//	  ▲                  │                                             │
//	  └──────leave───────┴────────────────────leave────────────────────┘
type readerState uint8

const (
	readerAbsent  readerState = iota // no Read waits
	readerWaiting                    // a Read waits, and has got nothing
	readerServed                     // it has got its message, or at least one byte of the stream
)

var readerNames = [...]string{"absent", "waiting", "served"}

func (s readerState) String() string { return readerNames[s] }

var readerNext = states.Table[readerState]{
	readerAbsent:  states.To(readerWaiting),
	readerWaiting: states.To(readerServed, readerAbsent),
	readerServed:  states.To(readerAbsent),
}

// become changes the state of the reader. Nothing else does.
func (r *reader) become(next readerState) { readerNext.Become(&r.state, next) }

// isThere reports whether a Read waits, and isServed whether it has got something.
func (r *reader) isThere() bool  { return r.state != readerAbsent }
func (r *reader) isServed() bool { return r.state == readerServed }

// gets notes that the waiting Read has got n more bytes, or a message of length 0.
func (r *reader) gets(n int) {
	r.got += n
	if r.state != readerServed {
		r.become(readerServed)
	}
}

// room returns the part of the Read's memory that is free.
func (r *reader) room() []byte { return r.want[r.got:] }

// A placing is the present message, which DDP is placing.
type placing struct {
	state placingState
	head  [bytestream.HeaderLen]byte
	body  []byte
	chunk *bufpool.Chunk // in placingPooled, the memory of body
}

// A placingState is where the present message goes.
//
//	none ──bind──▶ pooled, direct, stays, long ──accept, drop──▶ none
//	                 ▲                     │
//	                 └──────retreat────────┘
//
// A long message takes more than one step. Meanwhile the Read has the receive role, and before it
// leaves, the message retreats from its memory.
type placingState uint8

const (
	placingNone   placingState = iota // there is none
	placingPooled                     // to memory of the pool
	placingDirect                     // to the memory of the Read that waits
	placingStays                      // to the place where it lies in the receive buffer, until Reads have taken it
	placingLong                       // to the memory of the Read that receives, in several segments
)

var placingNames = [...]string{"none", "pooled", "direct", "stays", "long"}

func (s placingState) String() string { return placingNames[s] }

var placingNext = states.Table[placingState]{
	placingNone:   states.To(placingPooled, placingDirect, placingStays, placingLong),
	placingPooled: states.To(placingNone),
	placingDirect: states.To(placingNone),
	placingStays:  states.To(placingNone),
	placingLong:   states.To(placingNone, placingPooled),
}

// become changes the state of the placing. Nothing else does.
func (p *placing) become(next placingState) { placingNext.Become(&p.state, next) }

// holdsReader reports whether the waiting Read must not leave, because its memory is being written
// to, or will be as soon as the message is accepted.
func (p *placing) holdsReader() bool {
	return p.state == placingDirect || p.state == placingStays || p.state == placingLong
}

// A delay is why the message that comes next has no memory yet.
//
//	none ◀──▶ short, paused;  paused ──▶ short, if home finds no memory
type delay uint8

const (
	delayNone   delay = iota
	delayShort        // it waits for memory, in message mode
	delayPaused       // it waits in the receive buffer for the next Read
)

var delayNames = [...]string{"none", "short", "paused"}

func (s delay) String() string { return delayNames[s] }

var delayNext = states.Table[delay]{
	delayNone:   states.To(delayShort, delayPaused),
	delayShort:  states.To(delayNone),
	delayPaused: states.To(delayNone, delayShort),
}

// A grant is the memory of a waiting Read to which the peer may write.
type grant struct {
	region *ddp.Region
	chunk  *bufpool.Chunk // replaces the Read's memory after the Read; nil while it waits
}

// size returns how many bytes are reserved for the chunk, whether there is one or not.
func (g *grant) size() int { return bufpool.ChunkSize(g.region.Len()) }
