package ddp

import (
	"bytes"
	"fmt"
)

// A ReceiverConfig says what an inbound stream may reach.
type ReceiverConfig struct {
	// Domain holds the Regions, and Stream is the stream's number in it. Nil means no Regions.
	Domain *Domain
	Stream uint64

	// Queues holds the Untagged Buffers by QN; nil means that the QN is not valid on the stream.
	Queues [numQueues]*Queue

	// Admit says what the ULP thinks of a segment by its RsvdULP octet, before all else but the DDP
	// version: for a tagged one the right that its Region must grant, and an error for one that it
	// does not accept, at all or on this queue. qn counts only for an untagged segment; whether it is
	// one of Queues is checked afterwards and no concern of Admit. Admit must be pure: the same
	// arguments give the same answer.
	// Nil admits everything, and RemoteWrite is then the right that is needed.
	Admit func(tagged bool, rsvdULP uint8, qn QN) (need Access, err error)

	// InMessage tells which untagged messages that Admit accepts bring their payload, at most 8
	// octets, in the Message itself: Message.Buffer is then not the posted buffer, which the message
	// uses up all the same and whose length does not matter (RFC 7306 §6: Immediate Data).
	// Nil means none.
	InMessage func(rsvdULP uint8, qn QN) bool
}

// A Receiver places the payload of one stream's inbound segments and delivers their messages. It is
// used by one goroutine at a time.
//
// Place and TryPlace are its inputs, Deliver, Message and Err its outputs. A segment is named by its
// stream offset: where its FPDU begins. Drain Deliver after each input; until then messages pile up.
//
// Place never fails. The first segment that is not right ends the stream in its order: what was sent
// before it is still delivered, then Err tells, and what follows it is dropped.
type Receiver struct {
	config ReceiverConfig

	next     uint64 // stream offset: segments below it have been judged
	tagged   taggedMessage
	untagged [numQueues]untaggedMessage
	early    []earlySegment // placed before their turn; offsets rise, and all are ≥ next

	ready  deliveries
	failed failure
	err    error // failed.err, once its turn has come

	message Message
	inline  [inMessageLen]byte // what Message.Buffer refers to if the payload came in the Message
}

// A failure is the segment that ended the stream.
type failure struct {
	err error // nil: none
	off uint64
}

// A segment is one inbound DDP Segment.
type segment struct {
	off     uint64
	header  []byte // as many octets of a DDP Header as there are
	payload []byte // nil if it has been placed early
	length  int    // of the whole segment: header and payload
}

// n returns how many octets of payload the segment has.
func (s *segment) n() uint64 { return uint64(s.length - len(s.header)) }

// NewReceiver returns a Receiver for a new stream: the first MSN of each queue is 1.
func NewReceiver(c ReceiverConfig) *Receiver {
	if c.Domain == nil {
		c.Domain = new(Domain)
	}
	if c.Admit == nil {
		c.Admit = func(bool, uint8, QN) (Access, error) { return RemoteWrite, nil }
	}
	if c.InMessage == nil {
		c.InMessage = func(uint8, QN) bool { return false }
	}
	r := &Receiver{config: c}
	for qn := range r.untagged {
		r.untagged[qn].MSN = 1
	}
	return r
}

// Bind gives the next message of queue qn its buffer. The next message is the one whose first
// segment comes next on qn. The message fills head first and then b, and either may be empty. Bind
// is for a driver that finds memory for a message only when the message begins. The goroutine that
// uses the Receiver calls it. A message in a bound buffer takes no lock and does not use the Queue.
//
//   - Bind gives a buffer to one message. Immediate Data uses the buffer up, too. A message that is
//     longer than head and b together ends the stream with CodeTooLong.
//   - A second Bind before the message begins replaces the buffer of the first.
//   - The caller must not call Bind while the Queue of qn has a posted buffer that no message has
//     filled. The posted buffers go, in their order, to the messages that have no bound buffer. So
//     Bind would delay that posted buffer by one message.
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
	m := &r.untagged[qn]
	if m.begun || r.failed.err != nil || qn == QNSend && r.isEarly(m.MSN) {
		return false
	}
	m.bound, m.isBound = bound, true
	return true
}

// Place places the payload of the segment at stream offset off, which is ulpdu, if all is well with
// it. Offsets rise from call to call, except that a segment that was given before is skipped. Every
// segment between the last offset and off must have been accepted by TryPlace.
func (r *Receiver) Place(off uint64, ulpdu []byte) {
	r.placeEarly(off + 1)
	if off < r.next {
		return
	}
	n := min(headerLen(ulpdu), len(ulpdu))
	r.place(segment{off: off, header: ulpdu[:n], payload: ulpdu[n:], length: len(ulpdu)})
}

// place judges the next segment of the stream, all of it before the first octet is placed.
func (r *Receiver) place(s segment) {
	r.next = s.off + 1
	// "DDP MUST silently drop any subsequent incoming DDP Segments." (RFC 5041 §7.1)
	if r.failed.err != nil {
		return
	}
	var err error
	if IsTagged(s.header) {
		err = r.placeTagged(&s)
	} else {
		err = r.placeUntagged(&s)
	}
	if err != nil {
		r.failed = failure{err: segmentError(&s, err), off: s.off}
	}
}

// segmentError adds to err the segment that it is about: "The DDP layer SHOULD include in the error
// report the DDP Header, the type of error, and the length of the DDP segment, if available."
// (RFC 5041 §7.1)
func segmentError(s *segment, err error) error {
	e := &Error{Code: CodeULP, Header: bytes.Clone(s.header), SegmentLen: s.length, Err: err}
	switch err := err.(type) {
	case *Error:
		e.Code, e.Err = err.Code, nil
		if e.Code == codeLocalCatastrophic {
			e.Header = nil // too short for one
		}
	case *AccessError:
		e.Code = err.Code
	}
	return e
}

// Deliver goes on to the next message in stream order and reports whether there is one. edge is the
// stream offset below which every segment has been given to Place or accepted by TryPlace: a message
// is delivered when its last segment lies below it.
//
// "At the Data Sink, DDP MUST Deliver a DDP Message if and only if all of the following are true"
// (RFC 5041 §5.4): its last segment had the L bit, all its segments have been Placed, all preceding
// messages have been Placed, and each of them has been Delivered.
func (r *Receiver) Deliver(edge uint64) bool {
	r.placeEarly(edge)
	for r.ready.due(edge) {
		d := r.ready.pop()
		r.message, r.inline = d.message, d.inline
		if d.message.Bound {
			d.message.Buffer = nil // for the same reason as below
		}
		if r.message.Tagged || r.fetchBuffer(d.inMessage) {
			return true
		}
	}
	r.message.Buffer = nil // not to keep it from the garbage collector until the next message
	if r.failed.err != nil && r.failed.off < edge {
		r.err = r.failed.err
	}
	return false
}

// fetchBuffer gives r.message its Buffer. Unless the buffer was bound, fetchBuffer takes it out of
// its queue. It returns false if the queue has been flushed: the owner of the posted buffer has it
// back, and the message is not delivered.
func (r *Receiver) fetchBuffer(inMessage bool) bool {
	m := &r.message
	if m.Bound {
		if inMessage {
			m.Buffer = r.inline[:m.Len]
		}
		return true
	}
	b, ok := r.config.Queues[m.QN].take()
	if inMessage {
		b.head, b.b = nil, r.inline[:]
	}
	if ok {
		m.Buffer, m.ID = b.filled(m.Len), b.id
	}
	return ok
}

// Message returns what the last Deliver that returned true has delivered. It is good until the next
// call of Deliver; its Buffer, once delivered, is the caller's for good, unless the payload came in
// the Message.
func (r *Receiver) Message() *Message { return &r.message }

// Err returns the [*Error] that has ended the stream, or nil. It tells only when
// Deliver has returned false beyond the last message before the failing segment.
func (r *Receiver) Err() error { return r.err }

// Unfinished reports whether a message has begun whose last segment has not come in order. The end of the stream is then
// no graceful one (RFC 5041 §6.2.1).
func (r *Receiver) Unfinished() bool {
	for i := range r.untagged {
		if r.untagged[i].begun {
			return true
		}
	}
	return r.tagged.begun
}

// A delivery is a message all of whose segments have been placed.
type delivery struct {
	off       uint64 // stream offset of its last segment
	message   Message
	inMessage bool // the payload is inline
	inline    [inMessageLen]byte
}

// deliveries holds the messages that are to be delivered, in order.
type deliveries struct {
	list []delivery
	head int
}

// due reports whether the oldest delivery lies below stream offset edge.
func (d *deliveries) due(edge uint64) bool { return d.head < len(d.list) && d.list[d.head].off < edge }

// pop removes the oldest delivery. What it returns is good until the next push.
func (d *deliveries) pop() *delivery {
	d.head++
	return &d.list[d.head-1]
}

func (d *deliveries) push(v delivery) {
	if d.head > 0 && len(d.list) == cap(d.list) { // use the room of those that are gone
		d.list = d.list[:copy(d.list, d.list[d.head:])]
		d.head = 0
	}
	d.list = append(d.list, v)
}
