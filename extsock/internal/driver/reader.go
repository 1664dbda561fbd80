package driver

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/extsock/internal/wait"
)

// A reader is the Read that waits for messages, of which there is one at a time.
type reader struct {
	waiting bool
	want    []byte // its memory: messages may go there
	got     int    // bytes in it
	served  bool   // it has got its message, or at least one byte of the stream
}

// A readResult is what a Read has got while it waited.
type readResult struct {
	n    int
	ok   bool // something, if only a message of length 0
	over bool // the wait is over: n and ok are final
}

// An outcome is how a Read finds the inbox.
type outcome uint8

const (
	waits  outcome = iota // it is the waiting Read now
	took                  // it has got what was there
	ended                 // nothing more will come
	behind                // another Read waits: this one looks again when it gets its turn
)

// A taking is what a Read took from the inbox.
type taking struct {
	n     int // bytes
	freed int // buffers that are free again
	back  int // buffers for which the peer of a byte stream gets its credits back
}

// begin gives a Read what there is: as much of the stream as p holds, or as much of one message. If there
// is nothing, the Read waits: what comes may go to p until leave.
func (in *inbox) begin(p []byte) (outcome, taking) {
	in.mu.Lock()
	defer in.unlock()
	switch {
	case in.reader.waiting:
		return behind, taking{}
	case in.first < len(in.unread):
		return took, in.takeLocked(p)
	case in.eof || in.discard:
		return ended, taking{}
	}
	in.reader = reader{waiting: true, want: p}
	return waits, taking{}
}

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

// leave ends the wait of a Read: its memory is its own again.
func (in *inbox) leave() readResult {
	in.mu.Lock()
	defer in.unlock()
	return in.leaveLocked()
}

// +checklocks:in.mu
func (in *inbox) leaveLocked() readResult {
	r := &in.reader
	for in.direct { // a copy, no more
		in.placed.Wait()
	}
	if l := in.lent; l != nil && l.chunk == nil {
		l.chunk = bufpool.GetChunk(l.region.Len())
		ddp.Redirect(l.region, l.chunk.B)
	}
	result := readResult{n: r.got, ok: r.served, over: true}
	*r = reader{}
	return result
}

// +checklocks:in.mu
func (in *inbox) hasLocked() bool {
	return in.reader.served || in.first < len(in.unread) || in.eof || in.discard
}

// What other goroutines look at without the lock: bits of inbox.look. The bits above them are the number
// of bytes that the waiting Read still has memory for.
const (
	lookHas     = 1 << iota // a Read has something to come back for
	lookWaiting             // a Read waits

	lookRoom = 2 // where the number begins
)

// unlock notes what other goroutines look at without the lock, and releases mu.
//
// +checklocksrelease:in.mu
func (in *inbox) unlock() {
	look := uint64(len(in.reader.want)-in.reader.got) << lookRoom
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

// room returns how many bytes the waiting Read still has memory for.
func (in *inbox) room() int { return int(in.look.Load() >> lookRoom) }

// notify wakes the waiting Read if there is something for it. A Read looks after it has said that it
// waits, and the inbox looks for a Read after it has got something; so one of the two sees the other.
func (in *inbox) notify() {
	if in.look.Load()&(lookHas|lookWaiting) == lookHas|lookWaiting {
		wait.Wake(in.ready)
	}
}
