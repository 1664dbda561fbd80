package driver

import (
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
)

// bind finds memory for a message that begins with a segment of this payload. The segment is the
// only segment of the message if last is set. The memory is head, for the header of a byte stream,
// and then body. self says that the Read that waits has the receive role.
//
// In message mode a message waits until Read has taken another one. The peer of a byte stream has a
// credit for each message, and each credit has memory. So data of a byte stream waits only for the
// memory of the next Read, while a Read has the receive role. A message without a credit is
// refused: DDP finds no buffer, and the stream ends. In message mode, too, a message of several
// segments waits for the memory of the next Read.
func (b *delivery) bind(payload []byte, last, self bool) (head, body []byte, answer binding) {
	// A message that will be discarded needs no room.
	full := b.used >= b.depth && (b.unread.Stream || !b.unread.Discards())
	if b.unread.Stream && len(payload) > bytestream.HeaderLen {
		full = b.used >= b.depth-bytestream.ExtraBuffers // the rest is for messages without data
	}
	switch {
	case full && b.unread.Stream:
		return nil, nil, refused
	case full:
		b.setDelay(delayNone)
		return nil, nil, delayed
	}
	n, longest := len(payload), b.size
	if b.unread.Stream {
		head = b.placing.head[:]
		n, longest = max(n-bytestream.HeaderLen, 0), b.size-bytestream.HeaderLen
	}
	if b.longest != nil {
		longest = max(min(longest, b.longest(b.bound, last)), 0)
	}
	delay := delayNone
	switch {
	case self && last && n <= longest && b.stays(payload):
	case self && b.pauses(payload, last):
		delay = delayPaused
	case self && !last && b.goesLong(n, longest):
	case !b.findMemory(n, longest, last, payload):
		delay = delayShort
	}
	b.setDelay(delay)
	if delay != delayNone {
		return nil, nil, delayed
	}
	b.used++
	b.bound++
	return head, b.placing.body, bound
}

// goesLong binds a message of several segments, of which this one has n bytes, to the memory of the
// Read that has the receive role, if there is room for the longest message. It reports whether it
// did. The budget must have the memory that the message may retreat to.
func (b *delivery) goesLong(n, longest int) bool {
	room := b.reader.room()
	if b.unread.Stream || !b.serves() || b.reader.isServed() || b.unread.Len() > 0 ||
		n > longest || longest > len(room) || !b.memory.hold(bufpool.ChunkSize(longest)) {
		return false
	}
	b.placing.become(placingLong)
	b.placing.body = room[:longest:longest]
	return true
}

// retreat gives a long message memory of the pool, because the Read in whose memory it is placed
// leaves. The caller moves there what has been placed. If there is no such message, retreat returns
// nil.
func (b *delivery) retreat() (body []byte) {
	p := &b.placing
	if p.state != placingLong {
		return nil
	}
	p.become(placingPooled)
	p.chunk = bufpool.GetChunk(len(p.body))
	p.body = p.chunk.B
	return p.body
}

// findMemory finds memory for a message of n bytes, or of up to longest bytes if this segment is
// not the last. In message mode it reports false if there is no memory.
func (b *delivery) findMemory(n, longest int, last bool, payload []byte) bool {
	r, p := &b.reader, &b.placing
	room := r.room()
	fits := last && b.serves() && b.unread.Len() == 0 && 0 < n && n <= len(room) && n <= longest
	if b.unread.Stream {
		fits = fits && b.grant == nil && bytestream.IsData(payload)
	} else {
		fits = fits && !r.isServed()
	}
	if fits {
		p.become(placingDirect)
		p.body = room[:n:n]
		return true
	}
	if !last {
		n = longest
	}
	n = min(n, longest)
	size := n
	if b.unread.Stream && b.unread.Len() > 0 && n < bytestream.Combine && bytestream.IsData(payload) {
		// The reader is behind, so the chunk gets room for messages that follow.
		size = max(n, min(longest, joined))
	}
	c := bufpool.GetChunk(size)
	switch {
	case b.unread.Stream:
		b.memory.fill(c.Size())
	case b.unread.Discards():
		b.memory.held += int64(c.Size()) // until accept discards the message
	case !b.memory.hold(c.Size()):
		c.Put()
		return false
	}
	c.B = c.B[:n:min(cap(c.B), longest)]
	p.become(placingPooled)
	p.chunk, p.body = c, c.B
	return true
}

// received returns the memory of the present message, of which DDP has placed n bytes: head is the
// header of the byte stream, and body is the rest. If a message is shorter than the header, all of
// it is in head.
func (b *delivery) received(n int) (head, body []byte) {
	if b.unread.Stream {
		head = b.placing.head[:min(n, bytestream.HeaderLen)]
		n -= len(head)
	}
	return head, b.placing.body[:n]
}

// accept gives n bytes of payload of the present message to the waiting Read, or adds them to the
// unread data. It reports whether the message's buffer is free again, and for how many buffers the
// peer of a byte stream gets its credits back.
func (b *delivery) accept(n int, kind bytestream.Buffer) (freed bool, back int) {
	p := &b.placing
	switch p.state {
	case placingStays:
		body := p.body[:n]
		b.unbind()
		if b.serve(body); len(b.rest) > 0 {
			return false, 0
		}
	case placingDirect, placingLong:
		b.unbind()
		b.reader.gets(n)
	default:
		c := b.unbind()
		if b.unread.Discards() && (n > 0 || !b.unread.Stream) {
			b.unread.Lose()
		}
		if !b.unread.Discards() && (!b.unread.Stream || n > 0 && !b.unread.Join(c.B[:n])) {
			b.unread.Add(memory{chunk: c}, c.B[:n])
			return false, 0
		}
		b.put(c)
	}
	b.used--
	return true, b.handBack(1, kind)
}

// handBack notes that n buffers of this kind are free again. It returns for how many of them the
// peer of a byte stream gets a credit back.
func (b *delivery) handBack(n int, kind bytestream.Buffer) (back int) {
	w := &b.memory.window
	switch {
	case kind == bytestream.ExtraBuffer:
		return 0
	case n == 0 || kind == bytestream.ControlBuffer || !w.IsOpen():
		return n
	case w.Now == w.Most && common.room() >= 0:
		return n
	}
	for range n {
		change := w.resize()
		b.depth += change
		back += w.HandBack(change)
	}
	b.memory.settle()
	return back
}
