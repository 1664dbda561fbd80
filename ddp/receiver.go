package ddp

import (
	"bytes"
	"fmt"
	"slices"
)

// A ReceiverConfig describes what an inbound stream may reach.
type ReceiverConfig struct {
	// Stream says which Regions the stream may reach. A nil Stream means none.
	Stream *Stream

	// Queues holds the Untagged Buffers by QN. A nil Queue means that the QN is not valid on the
	// stream.
	Queues [NumQueues]*Queue

	// Admit decides by a segment's RsvdULP byte whether the ULP accepts the segment. The Receiver
	// calls it after it has checked the DDP version, and before all other checks. For a tagged
	// segment Admit returns the right that the Region must grant. It returns an error for a segment
	// that the ULP does not accept at all, or not on this queue. qn has a meaning only for an
	// untagged segment. Admit must leave a qn that is not in Queues to the Receiver, which checks
	// it afterwards. Admit must be pure: the same arguments give the same result. A nil Admit
	// accepts everything and asks for RemoteWrite.
	Admit func(tagged bool, rsvdULP uint8, qn QN) (need Access, err error)

	// InMessage reports whether an untagged message that Admit accepts brings its payload, of at
	// most 8 bytes, in the Message itself. Message.Buffer is then not the message's buffer. Such a
	// message still uses up a buffer, whose length does not matter (RFC 7306 §6: Immediate Data). A
	// nil InMessage means that there are no such messages.
	InMessage func(rsvdULP uint8, qn QN) bool
}

// A Receiver places the payload of one stream's inbound segments and delivers their messages. At
// most one goroutine at a time may use a Receiver.
//
// Bind, Rebind, Place and TryPlace are its inputs. Deliver, Message and Err are its outputs. The
// stream offset at which its FPDU begins identifies a segment. Call Deliver after each input until
// it returns false; otherwise messages accumulate.
//
// Place never fails. The first wrong segment ends the stream, in stream order: Deliver still
// delivers the messages that ended before it. Then Err returns the error, and the Receiver drops
// all later segments.
//
// NewReceiver makes a Receiver: the methods of the zero value panic.
type Receiver struct {
	// SavedCopies is the number of segments that TryPlace has placed and whose turn in the stream
	// has since come: their payload was not copied again. A segment's turn comes when Place gets a
	// later segment, or Deliver an edge after it. Only the Receiver changes it.
	SavedCopies uint64

	config ReceiverConfig

	next  uint64         // the segments below this stream offset have been checked
	early []earlySegment // placed before their turn; their offsets rise and are at least next
	// earlySpans are the spans of early.
	earlySpans earlySpans
	ready      deliveries
	failed     failure
	err        error // failed.err, once all messages before the failure are delivered

	// untagged has the message of each QN. Few connections get messages on other queues than
	// QNSend, so theirs are made by the first segment.
	untagged [NumQueues]*untaggedMessage
	sends    untaggedMessage // of QNSend
	tagged   taggedMessage
}

// A failure is the segment that ended the stream.
type failure struct {
	err error // nil if no segment has failed
	off uint64
}

// A segment is one inbound DDP Segment.
type segment struct {
	off     uint64
	header  []byte // the bytes of a DDP Header that the segment has
	payload []byte // nil if the payload has been placed early
	length  int    // of header and payload together, in bytes
}

// n returns the length of the segment's payload in bytes.
func (s *segment) n() uint64 { return uint64(s.length - len(s.header)) }

// NewReceiver returns a Receiver for a new stream. The first MSN of each queue is 1.
func NewReceiver(c ReceiverConfig) *Receiver {
	r := new(Receiver)
	r.Init(c)
	return r
}

// Init makes the zero Receiver what NewReceiver returns. It is for an owner that has the Receiver
// in its own memory.
func (r *Receiver) Init(c ReceiverConfig) {
	if c.Stream == nil {
		c.Stream = NewStream(new(Domain), 0)
	}
	if c.Admit == nil {
		c.Admit = func(bool, uint8, QN) (Access, error) { return RemoteWrite, nil }
	}
	if c.InMessage == nil {
		c.InMessage = func(uint8, QN) bool { return false }
	}
	r.config = c
	r.sends.MSN = 1
	r.untagged[QNSend] = &r.sends
}

// message returns the message of queue qn.
func (r *Receiver) message(qn QN) *untaggedMessage {
	if r.untagged[qn] == nil {
		r.untagged[qn] = &untaggedMessage{Message: Message{MSN: 1}}
	}
	return r.untagged[qn]
}

// Destination returns the memory where Place would put the payload of a tagged ULPDU now, or nil.
// It is for a caller that wants the CPU to fetch that memory in advance. The caller must neither
// read nor write it, because it may already have another owner. Destination changes nothing, and
// the ULPDU need not be verified: a wrong one has the destination that its header names, or none.
// The goroutine that uses the Receiver calls Destination.
func (r *Receiver) Destination(ulpdu []byte) []byte {
	if !IsTagged(ulpdu) {
		return nil
	}
	h, payload, err := ParseTagged(ulpdu)
	if err != nil || len(payload) == 0 {
		return nil
	}
	need, err := r.config.Admit(true, h.RsvdULP, 0)
	if err != nil {
		return nil
	}
	region, mem, err := r.config.Stream.hold(h.STag, h.TO, uint64(len(payload)), need)
	if err != nil {
		return nil
	}
	defer region.mu.RUnlock() // +checklocksforce: hold has locked it
	return mem
}

// Bind gives the next message of queue qn its buffer. The next message is the one whose first
// segment comes next on qn. The message fills head first and then b, and either may be empty. Bind
// is for a driver that finds memory for a message only when the message begins. The goroutine that
// uses the Receiver calls it. A message in a bound buffer takes no lock and does not use the Queue.
//
//   - Bind gives a buffer to one message. Immediate Data uses the buffer up, too. A message that is
//     longer than head and b together ends the stream with Code 0x205.
//   - A second Bind before the message begins replaces the buffer of the first.
//   - The caller must not call Bind while the Queue of qn has a posted buffer that no message has
//     filled. The posted buffers go, in their order, to the messages that have no bound buffer. So
//     Bind would delay that posted buffer by one message.
//   - If a segment is all of the message, b may be the payload of that segment itself, from byte
//     len(head) on. Then Place checks the segment, copies its first bytes to head, and leaves the
//     others where they are.
//   - Queue.Flush does not take a bound buffer back. When the stream has ended, the caller gets its
//     memory back by giving the Receiver no more segments.
//
// The buffer belongs to the Receiver until Deliver delivers its message, whose Bound is then true.
// Bind returns false, and the buffer stays the caller's, if a segment of the message has already
// been placed, in order or early, or if an error has ended the stream. A buffer of more than 2^32-1
// bytes is a bug of the caller.
func (r *Receiver) Bind(qn QN, head, b []byte) bool {
	bound := buffer{head: head, b: b}
	if n := bound.room(); n > maxMessageLen {
		panic(fmt.Sprintf("BUG: Untagged Buffer of %d bytes", n))
	}
	m := r.message(qn)
	if m.begun || r.failed.err != nil || qn == QNSend && r.isEarly(m.MSN) {
		return false
	}
	if m.bound == nil {
		m.bound = new(buffer)
	}
	*m.bound, m.isBound = bound, true
	return true
}

// Rebind gives the next message of queue qn other memory b, in place of the b of Bind, and moves to
// it what has been placed there. The old memory is then the caller's. b must be as long as the old
// one, and the message must not be complete. The goroutine that uses the Receiver calls Rebind.
func (r *Receiver) Rebind(qn QN, b []byte) {
	m := r.message(qn)
	if !m.isBound || len(b) != len(m.bound.b) {
		panic(fmt.Sprintf("BUG: Rebind to %d bytes, of a message with a bound buffer: %t", len(b), m.isBound))
	}
	n := max(int(m.Len)-len(m.bound.head), 0)
	if qn == QNSend && r.isEarly(m.MSN) {
		n = len(b)
	}
	copy(b, m.bound.b[:n])
	m.bound.b = b
}

// Place checks ulpdu, the segment at stream offset off, and places its payload if the segment
// passes all checks. Offsets rise from call to call. Place skips a segment that it was given
// before. Every segment between the last offset and off must have been accepted by TryPlace.
func (r *Receiver) Place(off uint64, ulpdu []byte) {
	r.placeEarly(off + 1)
	if off < r.next {
		return
	}
	n := min(headerLen(ulpdu), len(ulpdu))
	r.place(&segment{off: off, header: ulpdu[:n], payload: ulpdu[n:], length: len(ulpdu)})
}

// place checks the next segment of the stream completely before it places the first byte.
func (r *Receiver) place(s *segment) {
	r.next = s.off + 1
	// "DDP MUST silently drop any subsequent incoming DDP Segments." (RFC 5041 §7.1)
	if r.failed.err != nil {
		return
	}
	var err error
	if IsTagged(s.header) {
		err = r.placeTagged(s)
	} else {
		err = r.placeUntagged(s)
	}
	if err != nil {
		r.failed = failure{err: segmentError(s, err), off: s.off}
	}
}

// segmentError adds to err the segment that err is about. "The DDP layer SHOULD include in the
// error report the DDP Header, the type of error, and the length of the DDP segment, if available."
// (RFC 5041 §7.1)
func segmentError(s *segment, err error) error {
	e := &Error{Code: CodeULP, Header: bytes.Clone(s.header), SegmentLen: s.length, Err: err}
	switch err := err.(type) {
	case *Error:
		e.Code, e.Err = err.Code, nil
	case *AccessError:
		e.Code = err.Code
	}
	if len(s.header) < headerLen(s.header) {
		e.Header = nil // the segment is too short to have one
	}
	return e
}

// Deliver advances to the next message in stream order and reports whether there is one. edge is
// the stream offset below which every segment has been given to Place or accepted by TryPlace.
// Deliver delivers a message when the message's last segment is below edge.
//
// "At the Data Sink, DDP MUST Deliver a DDP Message if and only if all of the following are true"
// (RFC 5041 §5.4): its last segment had the L bit, all its segments have been Placed, all preceding
// messages have been Placed, and each of them has been Delivered.
func (r *Receiver) Deliver(edge uint64) bool {
	r.ready.drop()
	r.placeEarly(edge)
	for r.ready.due(edge) {
		d := r.ready.pop()
		if d.message.Tagged || r.fetchBuffer(d) {
			r.ready.delivered = d
			return true
		}
	}
	if r.failed.err != nil && r.failed.off < edge {
		r.err = r.failed.err
	}
	return false
}

// fetchBuffer gives the message of d its Buffer. Unless the buffer was bound, fetchBuffer takes it
// out of its queue. It returns false if the queue has been flushed: the owner of the posted buffer
// has it back, and the message is not delivered.
func (r *Receiver) fetchBuffer(d *delivery) bool {
	m := &d.message
	if m.Bound {
		if d.inMessage {
			m.Buffer = d.inline[:m.Len]
		}
		return true
	}
	b, ok := r.config.Queues[m.QN].take()
	if d.inMessage {
		b.head, b.b = nil, d.inline[:]
	}
	if ok {
		m.Buffer, m.ID = b.filled(m.Len), b.id
	}
	return ok
}

// Message returns the message that Deliver has delivered. It is valid until the next call of
// Deliver, Place or TryPlace. Its Buffer belongs to the caller from now on, unless the payload came
// in the Message.
func (r *Receiver) Message() *Message { return &r.ready.delivered.message }

// Err returns the [*Error] that has ended the stream, or nil. It returns the error only when
// Deliver has returned false after the last message before the wrong segment.
func (r *Receiver) Err() error { return r.err }

// Unfinished reports whether a message has begun whose last segment has not arrived in order. If
// so, the end of the stream is not graceful (RFC 5041 §6.2.1).
func (r *Receiver) Unfinished() bool {
	for _, m := range r.untagged {
		if m != nil && m.begun {
			return true
		}
	}
	return r.tagged.begun
}

// A delivery is a message all of whose segments have been placed.
type delivery struct {
	off       uint64 // stream offset of the last segment
	message   Message
	inMessage bool               // the payload is in inline
	inline    [inMessageLen]byte // what message.Buffer refers to if inMessage
}

// deliveries holds the messages that wait for delivery, in order. It is not a ring.Ring because a
// delivered message stays in its place until the next push. Nearly always only one message waits at
// a time, so all of them use the same place, which is in the CPU's cache.
type deliveries struct {
	list []delivery
	head int

	delivered *delivery // what Deliver has delivered last; nil if it has been dropped
}

// drop drops what Deliver has delivered, so that the garbage collector may free its buffer.
func (d *deliveries) drop() {
	if d.delivered != nil {
		d.delivered.message.Buffer, d.delivered = nil, nil
	}
}

// due reports whether the oldest delivery is below stream offset edge.
func (d *deliveries) due(edge uint64) bool { return d.head < len(d.list) && d.list[d.head].off < edge }

// pop removes the oldest delivery. The result is valid until the next push.
func (d *deliveries) pop() *delivery {
	d.head++
	return &d.list[d.head-1]
}

// push adds a delivery, whose last segment is at stream offset off. The caller fills in the rest: a
// delivery is too long to be copied more often than once.
func (d *deliveries) push(off uint64) *delivery {
	d.drop()
	if d.head > 0 && len(d.list) == cap(d.list) { // reuse the places of the deliveries that are gone
		d.list = d.list[:copy(d.list, d.list[d.head:])]
		d.head = 0
	}
	if len(d.list) == cap(d.list) {
		d.list = append(d.list, delivery{})
	} else {
		d.list = d.list[:len(d.list)+1]
	}
	v := &d.list[len(d.list)-1]
	v.off, v.inMessage = off, false
	return v
}

// placeEarly processes the segments placed early whose turn has come: those below stream offset
// end.
func (r *Receiver) placeEarly(end uint64) {
	if len(r.early) == 0 {
		return
	}
	n := 0
	for ; n < len(r.early) && r.early[n].off < end; n++ {
		e := &r.early[n]
		r.earlySpans.remove(e.span)
		r.place(&segment{off: e.off, header: e.header[:headerLen(e.header[:])], length: e.length})
	}
	r.early = slices.Delete(r.early, 0, n)
	r.SavedCopies += uint64(n)
}
