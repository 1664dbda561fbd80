package driver

import (
	"os"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

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

// begin gives a Read what the box holds: as much of the stream as p has room for, or as much of one
// message. If the box holds nothing, the Read waits, and arriving bytes may go to p until leave.
// note is that of the reader.
func (b *box) begin(p []byte, note *rdmap.Completion) (outcome, taking) {
	switch {
	case b.reader.isThere():
		return behind, taking{}
	case b.unread.Len() > 0:
		return took, b.take(p, note)
	case b.tail == tailEnded || b.discards():
		return ended, taking{}
	}
	b.reader.become(readerWaiting)
	b.reader.want, b.reader.note = p, note
	return waits, taking{}
}

// take moves bytes of unread messages to p.
func (b *box) take(p []byte, note *rdmap.Completion) (t taking) {
	for b.unread.Len() > 0 {
		m := b.unread.First()
		if !m.begun && !b.framed {
			m.begun = true
			b.endNote(note)
		}
		k := copy(p[t.n:], m.data)
		m.data = m.data[k:]
		t.n += k
		if len(m.data) > 0 {
			break
		}
		t.freed += b.pop()
		if !b.framed {
			break
		}
	}
	t.back = b.handBack(t.freed, bytestream.DataBuffer)
	return t
}

// endNote takes the note of the message that a Read begins. If to is not nil, it becomes the
// Completion of that message. This is done before another Read can begin the next message.
func (b *box) endNote(to *rdmap.Completion) {
	if to != nil {
		*to = b.notes.First().completion()
	}
	b.notes.Pop()
}

// A note is what the Completion of a message in the inbox says. A connection keeps memory for one,
// so it is short.
type note struct {
	qpNum     uint64
	immediate uint64
	n         uint32
	stag      ddp.STag
	flags     uint8
}

// The flags of a note.
const (
	noteSolicited = 1 << iota
	noteInvalidated
	noteImmediate
)

// noteOf returns the note of a message that was received: nothing was posted, and nothing has
// failed.
func noteOf(c *rdmap.Completion) note {
	n := note{qpNum: c.QPNum, immediate: c.Immediate, n: c.Len, stag: c.Invalidated}
	if c.Solicited {
		n.flags |= noteSolicited
	}
	if c.HasInvalidated {
		n.flags |= noteInvalidated
	}
	if c.HasImmediate {
		n.flags |= noteImmediate
	}
	return n
}

// completion returns the Completion that the note is of.
func (n *note) completion() rdmap.Completion {
	return rdmap.Completion{
		QPNum: n.qpNum, Op: rdmap.WorkRecv, Len: n.n, Solicited: n.flags&noteSolicited != 0,
		HasInvalidated: n.flags&noteInvalidated != 0, Invalidated: n.stag,
		HasImmediate: n.flags&noteImmediate != 0, Immediate: n.immediate,
	}
}

// leave ends the wait of a Read. After that, the driver no longer uses the Read's memory: nothing
// is being placed there, and if it is lent, other memory replaces it.
func (b *box) leave() readResult {
	if l := b.lent; l != nil && l.chunk == nil { // the budget has the memory: see lend
		l.chunk = bufpool.GetChunk(l.region.Len())
		ddp.Redirect(l.region, l.chunk.B)
	}
	r := &b.reader
	result := readResult{n: r.got, ok: r.isServed(), over: true}
	if result.ok && !b.framed {
		b.endNote(r.note)
	}
	r.become(readerAbsent)
	r.want, r.got, r.note = nil, 0, nil
	return result
}

// has reports whether a Read has something to come back for.
func (b *box) has() bool {
	return b.reader.isServed() || b.unread.Len() > 0 || b.tail == tailEnded || b.discards()
}

// begin is begin of the box.
func (in *inbox) begin(p []byte, note *rdmap.Completion) (outcome, taking) {
	in.mu.Lock()
	defer in.unlock()
	found, t := in.box.begin(p, note)
	switch found {
	case behind:
		in.queued.Store(true)
	case took:
		in.noteWindow()
	}
	return found, t
}

// nextTurn wakes a Read that has found this one waiting, if there may be one.
func (in *inbox) nextTurn() {
	if in.queued.Load() {
		wait.Wake(in.turn)
	}
}

// awaitTurn waits until the Read before has returned. The error is that of the deadline.
//
//go:noinline
func (in *inbox) awaitTurn(limit *wait.Deadline) error {
	select {
	case <-in.turn:
		return nil
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
}

// sleep waits until the Read that waits must look again: the inbox may have something, the receive
// role is offered, or the connection ends. The error is that of the deadline.
//
// It is a function of its own because a select takes much of the stack, and a Read that receives
// does not need it: the lines of its goroutine's stack are what a message has to fetch from memory.
//
//go:noinline
func (in *inbox) sleep(offer <-chan struct{}, end *ending, limit *wait.Deadline) error {
	select {
	case <-in.ready:
	case <-offer:
	case <-end.silent.Done():
	case <-end.closed.Done():
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// leave is leave of the box, after the message that DDP may be placing in the Read's memory.
func (in *inbox) leave() readResult {
	in.mu.Lock()
	defer in.unlock()
	for in.box.placing.holdsReader() { // a copy, no more
		in.leaving = true
		in.placed.Wait()
	}
	return in.box.leave()
}

// Other goroutines look at these bits of inbox.look without the lock.
const (
	lookHas     = 1 << iota // a Read has something to come back for
	lookWaiting             // a Read waits
)

// unlock updates what other goroutines look at without the lock, and releases mu.
//
// +checklocksrelease:in.mu
func (in *inbox) unlock() {
	b := &in.box
	look := uint32(0)
	if b.has() {
		look |= lookHas
	}
	if b.reader.isThere() {
		look |= lookWaiting
	}
	in.look.Store(look)
	if in.leaving && !b.placing.holdsReader() {
		in.leaving = false
		in.placed.Broadcast()
	}
	in.mu.Unlock()
}

// has reports whether a Read has something to come back for.
func (in *inbox) has() bool { return in.look.Load()&lookHas != 0 }

// notify wakes the waiting Read if the inbox has something for the Read. A Read looks at the inbox
// after it has noted that it waits, and the inbox looks for a Read after a message has arrived. So
// one of the two sees the other.
func (in *inbox) notify() {
	if in.look.Load()&(lookHas|lookWaiting) == lookHas|lookWaiting {
		wait.Wake(in.ready)
	}
}
