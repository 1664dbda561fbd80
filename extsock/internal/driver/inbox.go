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

// An inbox is where messages wait for Read. No buffer is posted in advance: the driver asks for a
// buffer when a message begins, so an idle connection holds none. If the message fits in the memory
// of the waiting Read, that memory is the buffer, and no goroutine copies the message again.
// Otherwise the buffer is memory of the pool.
//
// The depth bounds the number of messages. The peer of a byte stream knows the depth as its
// credits. TCP holds back the messages of every other peer.
//
// The methods in this file without Locked in their name are for the goroutine with the receive role,
// except three: the program's calls use close and closeRead, and the goroutine that ends the
// connection uses giveBack. The methods of a Read are in reader.go. A Read also frees what it has
// read, with freeLocked, popLocked and putLocked.
type inbox struct {
	framed bool        // messages carry the header of the byte stream
	size   int         // the maximum length of a message in bytes, with that header
	queued atomic.Bool // more than one Read has waited at a time

	look   atomic.Uint32 // what other goroutines look at without the lock; see unlock
	window atomic.Int64  // a copy of memory.window.Now: the credits of a byte stream's peer

	placing placing // the receive role guards it
	held    bool    // a Read with the receive role holds mu; the receive role guards it

	mu locks.Mutex[locks.Inbox]
	// the maximum number of messages
	depth int // +checklocks:mu
	// messages bound or unread
	used int // +checklocks:mu
	// the present message goes to the reader's memory
	direct bool // +checklocks:mu
	// unread[first] is the oldest message
	unread []message // +checklocks:mu
	// index of the oldest message
	first  int    // +checklocks:mu
	reader reader // +checklocks:mu
	// no more bytes of the stream will arrive
	eof bool // +checklocks:mu
	// the program has closed the way in: arriving messages are thrown away
	discard bool // +checklocks:mu
	// a message of the peer was thrown away
	dropped bool // +checklocks:mu
	// memory that the peer may write to, because the peer has offered a long Write; nil if there is
	// none
	lent   *lent     // +checklocks:mu
	memory allowance // +checklocks:mu
	// the present message waits for memory, in message mode
	short bool // +checklocks:mu
	// the present message waits in the receive buffer for the next Read, in a byte stream
	paused bool // +checklocks:mu
	// the rest of a message of a byte stream that stays in the receive buffer; Reads have taken
	// what was before it
	rest []byte // +checklocks:mu
	// the stream ends after rest
	restEnds bool      // +checklocks:mu
	placed   sync.Cond // of mu: direct has become false

	ready chan struct{} // capacity 1: the waiting Read has something
	turn  chan struct{} // capacity 1: a Read has returned, so the next Read may begin
}

// A placing is the present message: the message that DDP is placing.
type placing struct {
	bound  bool // there is such a message
	direct bool // the message, or the beginning of it, goes to the reader's memory
	stays  bool // the message stays in the receive buffer until Reads have taken it
	head   [bytestream.HeaderLen]byte
	body   []byte
	chunk  *bufpool.Chunk // the memory of body; nil if body is the reader's memory
}

// A message is bytes that no Read has taken yet, in memory of the pool.
type message struct {
	chunk *bufpool.Chunk
	data  []byte // the unread part
	// unbuffered says that the message uses none of the buffers that the peer knows of. Its memory
	// was reserved for a grant.
	unbuffered bool
}

// A lent is the memory of a waiting Read to which the peer may write.
type lent struct {
	region *ddp.Region
	chunk  *bufpool.Chunk // replaces the Read's memory after the Read; nil while it waits
}

// size returns how many bytes are reserved for the chunk, whether there is one or not.
func (l *lent) size() int { return bufpool.ChunkSize(l.region.Len()) }

// joined is the length in bytes of the memory in which short messages of a byte stream wait
// together. Config.RecvSize does not change it, so two short messages never take more memory.
const joined = 64 << 10

func newInbox(depth, size int) *inbox {
	in := &inbox{depth: depth, size: size, ready: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	in.placed.L = &in.mu
	return in
}

// hold locks mu for all messages that one read of the stream has brought. It is for a Read that
// holds the receive role, because no other goroutine often needs mu then. If the home goroutine has
// the role, each method locks mu itself, so a Read can take messages meanwhile.
//
// +checklocksignore: release unlocks
func (in *inbox) hold() {
	in.mu.Lock()
	in.held = true
}

// release ends hold, if mu is held. If the inbox now has something for the Read, the wait of the
// Read ends, as by leave.
//
// +checklocksignore: hold has locked mu
func (in *inbox) release() (result readResult) {
	if !in.held {
		return readResult{}
	}
	in.held = false
	if in.hasLocked() {
		result = in.leaveLocked()
	}
	in.unlock()
	return result
}

// enter locks mu unless hold has locked it.
//
// +checklocksacquire:in.mu
// +checklocksignore: where it does not lock, hold has
func (in *inbox) enter() {
	if !in.held {
		in.mu.Lock()
	}
}

// exit ends enter.
//
// +checklocksrelease:in.mu
// +checklocksignore: where it does not unlock, release will
func (in *inbox) exit() {
	if !in.held {
		in.unlock()
	}
}

// bind finds a buffer for a message that begins with a segment of this payload. The segment is the
// only segment of the message if last is set. The buffer is head, for the header of a byte stream,
// and then body.
//
// If the message gets no buffer, ok is false. If wait is also true, the message must wait. In
// message mode it waits until Read has taken another message. The peer of a byte stream has a
// credit for each message, and each credit has memory. So data of a byte stream waits only for the
// memory of the next Read, while a Read has the receive role. For a message without a credit DDP
// finds no buffer, and the stream ends.
func (in *inbox) bind(payload []byte, last bool) (head, body []byte, ok, wait bool) {
	in.enter()
	defer in.exit()
	// A message that is thrown away needs no room.
	full := in.used >= in.depth && (in.framed || !in.discard)
	if in.framed && len(payload) > bytestream.HeaderLen {
		full = in.used >= in.depth-bytestream.ExtraBuffers // the rest is for messages without data
	}
	if full {
		return nil, nil, false, !in.framed
	}
	in.paused = false
	n, longest := len(payload), in.size
	if in.framed {
		head = in.placing.head[:]
		n, longest = max(n-bytestream.HeaderLen, 0), in.size-bytestream.HeaderLen
	}
	if last && n <= longest && in.staysLocked(payload) {
		in.used++
		return head, in.placing.body, true, false
	}
	if in.paused = in.pausesLocked(payload, last); in.paused {
		return nil, nil, false, true
	}
	if in.short = !in.bindLocked(n, longest, last, payload); in.short {
		return nil, nil, false, true
	}
	in.used++
	return head, in.placing.body, true, false
}

// bindLocked finds memory for a message of n bytes, or of up to longest bytes if this segment is
// not the last. In message mode it reports false if there is no memory.
//
// +checklocks:in.mu
func (in *inbox) bindLocked(n, longest int, last bool, payload []byte) bool {
	r := &in.reader
	room := r.want[r.got:]
	fits := last && in.servesLocked() && in.first == len(in.unread) && 0 < n && n <= len(room) && n <= longest
	if in.framed {
		fits = fits && in.lent == nil && bytestream.IsData(payload)
	} else {
		fits = fits && !r.served
	}
	p := &in.placing
	if fits {
		in.direct = true
		p.bound, p.direct, p.body = true, true, room[:n:n]
		return true
	}
	if !last {
		n = longest
	}
	n = min(n, longest)
	size := n
	if in.framed && in.first < len(in.unread) && n < bytestream.Combine && bytestream.IsData(payload) {
		// The reader is behind, so the chunk gets room for messages that follow.
		size = max(n, min(longest, joined))
	}
	c := bufpool.GetChunk(size)
	switch {
	case in.framed:
		in.memory.fill(c.Size())
	case in.discard:
		in.memory.held += int64(c.Size()) // until accept throws the message away
	case !in.memory.hold(c.Size()):
		c.Put()
		return false
	}
	c.B = c.B[:n:min(cap(c.B), longest)]
	p.bound, p.chunk, p.body = true, c, c.B
	return true
}

// received returns the memory of the message whose receive has completed: head is the header of the
// byte stream, and body is the rest. If a message is shorter than the header, all of it is in head.
func (in *inbox) received(c rdmap.Completion) (head, body []byte) {
	n := int(c.Len)
	if in.framed {
		head = in.placing.head[:min(n, bytestream.HeaderLen)]
		n -= len(head)
	}
	return head, in.placing.body[:n]
}

// accept adds n bytes of payload, which DDP has placed as one message, to the unread data. It
// reports whether their buffer is free again, and for how many buffers the peer of a byte stream
// gets its credits back.
func (in *inbox) accept(n int, b bytestream.Buffer) (freed bool, back int) {
	in.enter()
	defer in.exit()
	switch {
	case in.placing.stays:
		in.serveLocked(in.placing.body[:n])
		in.unbindLocked()
		if len(in.rest) > 0 {
			return false, 0
		}
	case in.direct:
		in.reader.got += n
		in.reader.served = true
	}
	c := in.unbindLocked()
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

// dropControl frees the buffer of a message that is not data. It returns for how many buffers the
// peer gets its credits back.
func (in *inbox) dropControl(b bytestream.Buffer) (back int) {
	in.enter()
	defer in.exit()
	in.dropLocked()
	return in.handBackLocked(1, b)
}

// unbind returns the reader's memory when the message meant for it, of a single segment, has
// arrived but was not accepted because the stream had ended.
func (in *inbox) unbind() {
	if in.placing.direct {
		in.drop()
	}
}

// drop frees the buffer of a message that will not be placed.
func (in *inbox) drop() {
	in.enter()
	defer in.exit()
	in.dropLocked()
}

// dropLocked is drop for callers that hold mu.
//
// +checklocks:in.mu
func (in *inbox) dropLocked() {
	if c := in.unbindLocked(); c != nil {
		in.putLocked(c)
	}
	in.used--
}

// unbindLocked ends the placing of a message. The caller owns the chunk.
//
// +checklocks:in.mu
func (in *inbox) unbindLocked() (c *bufpool.Chunk) {
	p := &in.placing
	c = p.chunk
	p.bound, p.direct, p.stays, p.body, p.chunk = false, false, false, nil, nil
	if in.direct {
		in.direct = false
		in.placed.Broadcast()
	}
	return c
}

// joinLocked appends short data of the stream to the newest message, if there is room. The data
// then takes up no buffer of its own.
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

// pushLocked adds the newest message.
//
// +checklocks:in.mu
func (in *inbox) pushLocked(m message) {
	if in.first > 0 && len(in.unread) == cap(in.unread) {
		in.unread = in.unread[:copy(in.unread, in.unread[in.first:])]
		in.first = 0
	}
	in.unread = append(in.unread, m)
}

// servesLocked reports whether a Read waits that may still get something. After Close or CloseRead
// a Read that waits keeps what it has got, but gets no more. The data before may have been thrown
// away, so what arrives then is not the next part of the stream. It may even be the peer's answer
// to Close.
//
// +checklocks:in.mu
func (in *inbox) servesLocked() bool { return in.reader.waiting && !in.discard }

// lend registers the memory of the waiting Read for the n bytes of an offer, or as much of it as the
// budget could replace. If no Read waits, or that is too short, the handle has length 0.
func (in *inbox) lend(n int, register func(p []byte) (*ddp.Region, error)) (rdmap.Handle, error) {
	in.enter()
	defer in.exit()
	r := &in.reader
	p := r.want[:min(n, len(r.want), bytestream.MaxGrant)]
	if !in.servesLocked() || r.served || in.first < len(in.unread) || len(p) < bytestream.MinGrant {
		return rdmap.Handle{}, nil
	}
	p = p[:in.memory.grant(len(p))]
	if len(p) == 0 {
		return rdmap.Handle{}, nil
	}
	region, err := register(p)
	if err != nil {
		in.memory.endGrant(bufpool.ChunkSize(len(p)))
		return rdmap.Handle{}, err
	}
	in.lent = &lent{region: region}
	return rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: uint32(region.Len())}, nil
}

// takeLent notes that the peer has placed n bytes in the lent memory and no longer uses the memory.
func (in *inbox) takeLent(n int) {
	in.enter()
	defer in.exit()
	l := in.lent
	if l == nil { // the connection has ended
		return
	}
	in.lent = nil
	l.region.Deregister() // this waits for no goroutine: only the caller places
	switch {
	case in.discard:
		in.dropped = true
		if l.chunk != nil {
			l.chunk.Put()
		}
		in.memory.endGrant(l.size())
	case l.chunk == nil: // the reader waits
		in.reader.got, in.reader.served = n, true
		in.memory.endGrant(l.size())
	default:
		in.pushLocked(message{chunk: l.chunk, data: l.chunk.B[:n], unbuffered: true})
	}
}

// endLent takes the lent memory back, if there is any, because the peer will not use its offer.
func (in *inbox) endLent() {
	in.enter()
	defer in.exit()
	in.endLentLocked()
}

// endLentLocked is endLent for callers that hold mu.
//
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
	in.memory.endGrant(l.size())
}

// streamEnds notes that no more bytes of the stream will arrive.
func (in *inbox) streamEnds() {
	in.enter()
	defer in.exit()
	in.eof = len(in.rest) == 0
	in.restEnds = true
}

// isShort reports whether the present message waits for memory.
func (in *inbox) isShort() bool {
	in.enter()
	defer in.exit()
	return in.short
}

// closeRead throws away all data that arrives from now on.
func (in *inbox) closeRead() {
	in.mu.Lock()
	in.discard = true
	in.unlock()
	in.notify()
}

// close throws away the unread data, and all data that arrives from now on. It reports whether data
// of the peer is lost by that, or was lost before.
func (in *inbox) close() (lost bool) {
	in.mu.Lock()
	defer in.unlock()
	in.discard = true
	in.dropped = in.dropped || in.paused || len(in.rest) > 0 || in.first < len(in.unread)
	for in.first < len(in.unread) {
		in.freeLocked(&in.unread[in.first])
		in.popLocked()
	}
	return in.dropped
}

// giveBack returns the lent memory, and the budget's memory, when the connection has ended.
func (in *inbox) giveBack() {
	in.mu.Lock()
	defer in.unlock()
	in.memory.end()
	in.endLentLocked()
}

// putLocked returns the memory of a message.
//
// +checklocks:in.mu
func (in *inbox) putLocked(c *bufpool.Chunk) {
	in.memory.release(c.Size())
	c.Put()
}

// freeLocked returns the memory of a message that has been read. Its result is the number of
// buffers that are free again.
//
// +checklocks:in.mu
func (in *inbox) freeLocked(m *message) int {
	if m.unbuffered {
		m.chunk.Put()
		in.memory.endGrant(m.chunk.Size())
		return 0
	}
	in.putLocked(m.chunk)
	in.used--
	return 1
}

// popLocked removes the oldest message. An empty inbox keeps no memory of a long queue.
//
// +checklocks:in.mu
func (in *inbox) popLocked() {
	in.unread[in.first] = message{}
	in.first++
	if in.first == len(in.unread) {
		in.unread, in.first = in.unread[:0], 0
	}
}
