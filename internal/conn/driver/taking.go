package driver

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// This file gives a Read what the delivery has for it, when the Read begins and when it has waited.

// A readResult is what a Read has got while it waited.
type readResult struct {
	n    int
	ok   bool // the Read has got something, perhaps only a message of length 0
	over bool // the wait is over: n and ok are final
}

// An outcome says how a Read finds the inbox.
type outcome uint8

const (
	waits  outcome = iota // the Read is the waiting Read now
	took                  // the Read has got what was there
	ended                 // nothing more will arrive
	behind                // another Read waits; this Read looks again when it gets its turn
)

// A taking is what a Read took from the inbox.
type taking struct {
	n     int // bytes
	freed int // buffers that are free again
	back  int // buffers for which the peer of a byte stream gets its credits back
}

// begin gives a Read what has arrived: as much of the stream as p has room for, or as much of one
// message. If there is nothing, the Read waits, and arriving bytes may go to p until leave. note is
// that of the reader.
func (b *delivery) begin(p []byte, note *rdmap.Completion) (outcome, taking) {
	switch {
	case b.reader.isThere():
		return behind, taking{}
	case b.unread.Len() > 0:
		return took, b.take(p, note)
	case b.isOver():
		return ended, taking{}
	}
	b.reader.become(readerWaiting)
	b.reader.want, b.reader.note = p, note
	return waits, taking{}
}

// take moves bytes of unread messages to p.
func (b *delivery) take(p []byte, note *rdmap.Completion) (t taking) {
	t.n = b.unread.Take(p, note, func(m memory) { t.freed += b.free(m) })
	t.back = b.handBack(t.freed, bytestream.DataBuffer)
	return t
}

// leave ends the wait of a Read. After that, the driver no longer uses the Read's memory: nothing
// is being placed there, and if it is granted, other memory replaces it.
func (b *delivery) leave() readResult {
	if g := b.grant; g != nil && g.chunk == nil { // the budget has the memory: see makeGrant
		g.chunk = bufpool.GetChunk(g.region.Len())
		ddp.Redirect(g.region, g.chunk.B)
	}
	r := &b.reader
	result := readResult{n: r.got, ok: r.isServed(), over: true}
	if result.ok && !b.unread.Stream {
		b.unread.EndNote(r.note)
	}
	r.become(readerAbsent)
	r.want, r.got, r.note = nil, 0, nil
	return result
}

// has reports whether a Read has something to come back for.
func (b *delivery) has() bool {
	return b.reader.isServed() || b.unread.Len() > 0 || b.isOver()
}

// isOver reports whether Reads get nothing behind what is unread. The rest in the receive buffer
// has arrived: CloseRead leaves it to Reads.
func (b *delivery) isOver() bool { return b.unread.IsOver() && len(b.rest) == 0 }
