package driver

import (
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// An inbox is where messages wait for Read. No buffer is posted ahead: the driver asks for one when a
// message begins (bind), so an idle connection holds none. It is the waiting reader's own memory if the
// message fits there, so that its octets are not copied again, else memory of the pool. The depth bounds
// how many messages there are: the peer of a byte stream knows it as its credits, every other one
// is held back by TCP (see driver.place).
type inbox struct {
	framed bool // messages carry the header of the byte stream
	size   int  // longest message, header included, in octets
	qp     *rdmap.QP
	cq     *rdmap.CompletionQueue
	ready  chan struct{} // capacity 1: the waiting reader has something
	lock   chan struct{} // capacity 1: held by the Read that looks

	// placing says that a message is bound, and toReader that it goes to the memory of a Read. The receive role guards
	// them, so most segments need no lock to know that nothing is to be done.
	placing  bool
	toReader bool

	look atomic.Uint64 // what other goroutines look at without the lock: see unlock

	head [bytestream.HeaderLen]byte // of the message being placed; the receive role guards it

	mu locks.Mutex[locks.Inbox]
	// most messages at a time
	depth  int       // +checklocks:mu
	placed sync.Cond // of mu: direct has become false
	// messages bound or unread
	used int // +checklocks:mu
	// the message that is being placed goes to want
	direct bool // +checklocks:mu
	// else it goes here
	chunk *bufpool.Chunk // +checklocks:mu
	// oldest first
	unread []message // +checklocks:mu
	// index of the oldest
	first int // +checklocks:mu
	// a reader waits
	waiting bool // +checklocks:mu
	// its memory
	want []byte // +checklocks:mu
	// octets in it
	got int // +checklocks:mu
	// it has got its message, or at least one octet of the stream
	served bool // +checklocks:mu
	// no more octets of the stream will come
	eof bool // +checklocks:mu
	// nobody will read what comes
	discard bool // +checklocks:mu
	// something of the peer's was thrown away
	dropped bool // +checklocks:mu
	// to the peer, which has offered a long Write; nil: nothing
	lent   *lent     // +checklocks:mu
	memory allowance // +checklocks:mu
	// the message at hand waits for memory, in message mode
	short  bool         // +checklocks:mu
	window atomic.Int64 // a copy of memory.window.now: how many credits of a byte stream's peer there are in all
}

// joined is the maximum length in octets of the memory in which short messages of a byte stream wait together. It does
// not grow with Config.RecvSize, so that two short messages never take more than this.
const joined = 64 << 10

// A message is unread octets, in memory of the pool.
type message struct {
	chunk *bufpool.Chunk
	data  []byte // what has not been read
	// unbuffered says that it uses none of the buffers that the peer knows of.
	unbuffered bool
}

func newInbox(qp *rdmap.QP, cq *rdmap.CompletionQueue, depth, size int) *inbox {
	in := &inbox{depth: depth, size: size, qp: qp, cq: cq, ready: make(chan struct{}, 1), lock: make(chan struct{}, 1)}
	in.placed.L = &in.mu
	return in
}

// bind posts a buffer for a message that begins with a segment of this payload, its only one if last is set.
// In message mode it reports false when there may be no more messages, or when there is no memory; a message that is read
// makes room. The message of a byte stream never waits: its peer has a credit for it, and so it has memory.
func (in *inbox) bind(payload []byte, last bool) bool {
	in.mu.Lock()
	full := in.used >= in.depth && (in.framed || !in.discard) // a message that is thrown away needs no room
	if in.framed && len(payload) > bytestream.HeaderLen {
		full = in.used >= in.depth-bytestream.ExtraBuffers // those are for messages without data
	}
	if full {
		in.mu.Unlock()
		// A byte stream's peer has no credit for it: DDP finds no buffer and ends the stream.
		return in.framed
	}
	var head []byte
	body, longest := len(payload), in.size
	if in.framed {
		head = in.head[:]
		body, longest = max(body-bytestream.HeaderLen, 0), in.size-bytestream.HeaderLen
	}
	b, ok := in.bindLocked(body, longest, last, payload)
	if in.short = !ok; in.short {
		in.mu.Unlock()
		return false
	}
	in.used++
	in.placing, in.toReader = true, in.direct
	in.mu.Unlock()
	if err := in.qp.PostRecv(rdmap.RecvRequest{Head: head, Buf: b}); err != nil { // the stream has ended
		in.mu.Lock()
		in.dropLocked()
		in.mu.Unlock()
	}
	return true
}

// bindLocked finds memory for a message of body octets, or more if this is not the last segment. In message mode it is
// not ok if there is none.
//
// +checklocks:in.mu
func (in *inbox) bindLocked(body, longest int, last bool, payload []byte) (b []byte, ok bool) {
	room := in.want[in.got:]
	fits := last && in.waiting && in.first == len(in.unread) && 0 < body && body <= len(room) && body <= longest
	if in.framed {
		fits = fits && bytestream.IsData(payload)
	} else {
		fits = fits && !in.served
	}
	if fits {
		in.direct = true
		return room[:body:body], true
	}
	if !last {
		body = longest
	}
	body = min(body, longest)
	size := body
	if in.framed && in.first < len(in.unread) && body < bytestream.Combine && bytestream.IsData(payload) {
		size = max(body, min(longest, joined)) // the reader is behind: there is room for what comes next
	}
	c := bufpool.GetChunk(size)
	switch {
	case in.framed:
		in.memory.fill(c.Size())
	case in.discard:
		in.memory.held += int64(c.Size()) // until it is thrown away
	case !in.memory.hold(c.Size()):
		c.Put()
		return nil, false
	}
	in.chunk = c
	in.chunk.B = in.chunk.B[:body:min(cap(in.chunk.B), longest)]
	return in.chunk.B, true
}

// settle tells whether the message that was bound is there, now that a Send has been delivered, and where it is: the header of
// the byte stream in head, and the rest in body. A message that is shorter than the header is all in head.
func (in *inbox) settle() (head, body []byte, there bool) {
	if !in.placing {
		return nil, nil, false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	var done [1]rdmap.Completion
	switch {
	case in.cq.Poll(done[:]) == 0:
		return nil, nil, false
	case done[0].Status != rdmap.StatusOK:
		in.dropLocked()
		return nil, nil, false
	}
	n := int(done[0].Len)
	if in.framed {
		head = in.head[:min(n, len(in.head))]
		n -= len(head)
	}
	if in.direct {
		return head, in.want[in.got:][:n], true
	}
	return head, in.chunk.B[:n], true
}

// dropControl frees the buffer of a message that is not data, and returns for how many the peer gets its credits back.
func (in *inbox) dropControl(b bytestream.Buffer) (back int) {
	in.mu.Lock()
	defer in.unlock()
	in.dropLocked()
	return in.handBackLocked(1, b)
}

// lend registers the memory of the Read that waits for the n octets of an offer. The handle has no length if none does, or not
// for enough.
func (in *inbox) lend(n int, register func(p []byte) (*ddp.Region, error)) (rdmap.Handle, error) {
	in.mu.Lock()
	defer in.unlock()
	p := in.want[:min(n, len(in.want), bytestream.MaxGrant)]
	if !in.waiting || in.served || in.first < len(in.unread) || len(p) < bytestream.MinGrant {
		return rdmap.Handle{}, nil
	}
	region, err := register(p)
	if err != nil {
		return rdmap.Handle{}, err
	}
	in.lent = &lent{region: region}
	return rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: uint32(region.Len())}, nil
}

// takeLent takes in that the peer has placed n octets in the memory that was lent, and uses it no longer.
func (in *inbox) takeLent(n int) {
	in.mu.Lock()
	defer in.unlock()
	l := in.lent
	if l == nil { // the connection has ended
		return
	}
	in.lent = nil
	l.region.Deregister() // this waits for nobody: only the caller's goroutine places
	switch {
	case l.chunk == nil: // the reader waits
		in.got, in.served = n, true
	case in.discard:
		in.dropped = true
		l.chunk.Put()
	default:
		in.pushLocked(message{chunk: l.chunk, data: l.chunk.B[:n], unbuffered: true})
	}
}

// endLent takes back what was lent, if anything was: nothing comes of the offer.
func (in *inbox) endLent() {
	in.mu.Lock()
	defer in.unlock()
	in.endLentLocked()
}

// +checklocks:in.mu
func (in *inbox) endLentLocked() {
	l := in.lent
	if l == nil {
		return
	}
	in.lent = nil
	l.region.Deregister()
	if l.chunk != nil {
		l.chunk.Put()
	}
}

// shut takes back what was lent, and of the process's memory, when the connection has ended.
func (in *inbox) shut() {
	in.mu.Lock()
	defer in.unlock()
	in.memory.end()
	in.endLentLocked()
}

// unbind gives the reader's memory back to it where the message that was to go there, of a single segment, has
// come and was not accepted: the stream has ended.
func (in *inbox) unbind() {
	if !in.toReader {
		return
	}
	in.mu.Lock()
	defer in.unlock()
	if in.direct {
		in.dropLocked()
	}
}

// dropLocked takes the buffer back that was bound.
//
// +checklocks:in.mu
func (in *inbox) dropLocked() {
	if in.chunk != nil {
		in.putLocked(in.chunk)
	}
	in.releaseLocked()
	in.used--
}

// releaseLocked ends the binding; the chunk is the caller's.
//
// +checklocks:in.mu
func (in *inbox) releaseLocked() (c *bufpool.Chunk) {
	c, in.chunk = in.chunk, nil
	in.placing, in.toReader = false, false
	if in.direct {
		in.direct = false
		in.placed.Broadcast()
	}
	return c
}

// accept takes in n octets of payload that have been placed as one message. It reports whether their buffer is free again,
// and for how many buffers the peer of a byte stream gets its credits back by that.
func (in *inbox) accept(n int, b bytestream.Buffer) (freed bool, back int) {
	in.mu.Lock()
	defer in.unlock()
	if in.direct {
		in.got += n
		in.served = true
	}
	c := in.releaseLocked()
	in.dropped = in.dropped || in.discard && c != nil && (n > 0 || !in.framed)
	switch {
	case c == nil:
	case in.discard || in.framed && (n == 0 || n < bytestream.Combine && in.joinLocked(c.B[:n])):
		in.putLocked(c)
	default:
		in.pushLocked(message{chunk: c, data: c.B[:n]})
		return false, 0
	}
	in.used--
	return true, in.handBackLocked(1, b)
}

// joinLocked puts short data of the stream behind the newest, if there is room, so that it takes up no buffer.
//
// +checklocks:in.mu
func (in *inbox) joinLocked(data []byte) bool {
	if in.first == len(in.unread) {
		return false
	}
	m := &in.unread[len(in.unread)-1]
	if cap(m.data)-len(m.data) < len(data) {
		return false
	}
	m.data = append(m.data, data...)
	return true
}

// +checklocks:in.mu
func (in *inbox) pushLocked(m message) {
	if in.first > 0 && len(in.unread) == cap(in.unread) {
		in.unread = in.unread[:copy(in.unread, in.unread[in.first:])]
		in.first = 0
	}
	in.unread = append(in.unread, m)
}

// take gives a reader what there is: as much of the stream as p holds, or as much of one message. freed is how many buffers
// have become free, and back for how many the peer of a byte stream gets its credits back.
func (in *inbox) take(p []byte) (n, freed, back int, ok bool) {
	in.mu.Lock()
	defer in.unlock()
	for in.first < len(in.unread) {
		m := &in.unread[in.first]
		k := copy(p[n:], m.data)
		m.data = m.data[k:]
		n += k
		ok = true
		if len(m.data) > 0 {
			break
		}
		freed += in.freeLocked(m)
		in.popLocked()
		if !in.framed {
			break
		}
	}
	return n, freed, in.handBackLocked(freed, bytestream.DataBuffer), ok
}

// popLocked removes the oldest message. An inbox that has been emptied keeps no memory of a long queue.
//
// +checklocks:in.mu
func (in *inbox) popLocked() {
	in.unread[in.first] = message{}
	in.first++
	if in.first == len(in.unread) {
		in.unread, in.first = in.unread[:0], 0
	}
}

// await registers a reader: what comes may go to p.
func (in *inbox) await(p []byte) {
	in.mu.Lock()
	in.waiting, in.want, in.got, in.served = true, p, 0, false
	in.unlock()
}

// leave ends await: p is the reader's again, with n octets in it if it was served.
func (in *inbox) leave() (n int, served bool) {
	in.mu.Lock()
	defer in.unlock()
	for in.direct { // a copy, no more
		in.placed.Wait()
	}
	if l := in.lent; l != nil && l.chunk == nil {
		l.chunk = bufpool.GetChunk(l.region.Len())
		ddp.Redirect(l.region, l.chunk.B)
	}
	n, served = in.got, in.served
	in.waiting, in.want, in.got, in.served = false, nil, 0, false
	return n, served
}

// +checklocks:in.mu
func (in *inbox) hasLocked() bool {
	return in.served || in.first < len(in.unread) || in.eof || in.discard
}

// What other goroutines look at without the lock: bits of inbox.look. The bits above them are the number of bytes that the
// waiting reader still has memory for.
const (
	lookHas     = 1 << iota // a reader has something to come back for
	lookOver                // the stream has come to its end, or the way in is closed
	lookWaiting             // a reader waits

	lookRoom = 3 // where the number begins
)

// unlock notes what other goroutines look at without the lock, and releases mu.
//
// +checklocksrelease:in.mu
func (in *inbox) unlock() {
	look := uint64(len(in.want)-in.got) << lookRoom
	if in.hasLocked() {
		look |= lookHas
	}
	if in.eof || in.discard {
		look |= lookOver
	}
	if in.waiting {
		look |= lookWaiting
	}
	in.look.Store(look)
	in.mu.Unlock()
}

// has reports whether a reader has something to come back for.
func (in *inbox) has() bool { return in.look.Load()&lookHas != 0 }

// over reports whether a Read waits in vain: the stream has come to its end, or the way in is closed.
func (in *inbox) over() bool { return in.look.Load()&lookOver != 0 }

// room returns how many bytes the waiting reader still has memory for.
func (in *inbox) room() int { return int(in.look.Load() >> lookRoom) }

// notify wakes the waiting reader if there is something for it. A reader looks after it has said that it waits, and the
// inbox looks for a reader after it has got something; so one of the two sees the other.
func (in *inbox) notify() {
	if in.look.Load()&(lookHas|lookWaiting) == lookHas|lookWaiting {
		Wake(in.ready)
	}
}

// end notes that the stream has come to its end.
func (in *inbox) end() {
	in.mu.Lock()
	in.eof = true
	in.unlock()
}

// ended reports whether the stream has come to its end.
func (in *inbox) ended() bool {
	in.mu.Lock()
	defer in.unlock()
	return in.eof
}

// closeRead throws away what comes from now on.
func (in *inbox) closeRead() {
	in.mu.Lock()
	in.discard = true
	in.unlock()
	in.notify()
}

// putLocked gives back the memory of a message.
//
// +checklocks:in.mu
func (in *inbox) putLocked(c *bufpool.Chunk) {
	in.memory.release(c.Size())
	c.Put()
}

// freeLocked gives back the memory of a message that is read, and returns how many buffers that frees.
//
// +checklocks:in.mu
func (in *inbox) freeLocked(m *message) int {
	if m.unbuffered {
		m.chunk.Put()
		return 0
	}
	in.putLocked(m.chunk)
	in.used--
	return 1
}

// isShort reports whether a message waits for memory.
func (in *inbox) isShort() bool {
	in.mu.Lock()
	defer in.unlock()
	return in.short
}

// close throws away what is unread, and what comes from now on. It reports whether something of the peer's is lost by
// that, or was before.
func (in *inbox) close() (lost bool) {
	in.mu.Lock()
	defer in.unlock()
	in.discard = true
	in.dropped = in.dropped || in.first < len(in.unread)
	for in.first < len(in.unread) {
		in.freeLocked(&in.unread[in.first])
		in.popLocked()
	}
	return in.dropped
}
