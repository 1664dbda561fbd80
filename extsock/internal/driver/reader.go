package driver

import (
	"os"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/extsock/internal/wait"
)

// A reader is the Read that waits for messages. One Read waits at a time.
type reader struct {
	waiting bool
	want    []byte // the Read's memory, where messages may go
	got     int    // bytes in want
	served  bool   // the Read has got its message, or at least one byte of the stream
}

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

// begin gives a Read what the inbox holds: as much of the stream as p has room for, or as much of
// one message. If the inbox holds nothing, the Read waits, and arriving bytes may go to p until
// leave.
func (in *inbox) begin(p []byte) (outcome, taking) {
	in.mu.Lock()
	defer in.unlock()
	switch {
	case in.reader.waiting:
		in.queued.Store(true)
		return behind, taking{}
	case in.first < len(in.unread):
		return took, in.takeLocked(p)
	case in.eof || in.discard:
		return ended, taking{}
	}
	in.reader = reader{waiting: true, want: p}
	return waits, taking{}
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

// takeLocked moves bytes of unread messages to p.
//
// +checklocks:in.mu
func (in *inbox) takeLocked(p []byte) (t taking) {
	for in.first < len(in.unread) {
		m := &in.unread[in.first]
		k := copy(p[t.n:], m.data)
		m.data = m.data[k:]
		t.n += k
		if len(m.data) > 0 {
			break
		}
		t.freed += in.freeLocked(m)
		in.popLocked()
		if !in.framed {
			break
		}
	}
	t.back = in.handBackLocked(t.freed, bytestream.DataBuffer)
	return t
}

// leave ends the wait of a Read. After that, the driver no longer uses the Read's memory.
func (in *inbox) leave() readResult {
	in.mu.Lock()
	defer in.unlock()
	return in.leaveLocked()
}

// leaveLocked is leave for callers that hold mu.
//
// +checklocks:in.mu
func (in *inbox) leaveLocked() readResult {
	r := &in.reader
	for in.direct { // a copy, no more: DDP is placing the message
		in.placed.Wait()
	}
	if l := in.lent; l != nil && l.chunk == nil { // the budget has the memory: see lend
		l.chunk = bufpool.GetChunk(l.region.Len())
		ddp.Redirect(l.region, l.chunk.B)
	}
	result := readResult{n: r.got, ok: r.served, over: true}
	*r = reader{}
	return result
}

// hasLocked is has for callers that hold mu.
//
// +checklocks:in.mu
func (in *inbox) hasLocked() bool {
	return in.reader.served || in.first < len(in.unread) || in.eof || in.discard
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
	look := uint32(0)
	if in.hasLocked() {
		look |= lookHas
	}
	if in.reader.waiting {
		look |= lookWaiting
	}
	in.look.Store(look)
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
