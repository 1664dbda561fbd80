package ddp

import "github.com/rddp/rddp/ddp/internal/place"

// This file contains the checks of RFC 5041 §7.1. Both kinds of segment are checked in the same
// order: first the header, then the ULP's decision, then the destination. Only then is a byte
// written.

// inMessageLen is the maximum length in bytes of a payload that a Message carries in itself.
const inMessageLen = 8

// A taggedMessage is the tagged Message of the stream whose last segment has not arrived yet. At
// most one is in progress, because segments of different tagged messages do not interleave.
type taggedMessage struct {
	Message
	begun bool
}

// An untaggedMessage is the untagged Message of one QN whose last segment has not arrived yet.
// Between messages its MSN is the next one expected and its Len is 0.
type untaggedMessage struct {
	Message
	begun     bool
	inMessage bool // the payload goes to inline, not to the buffer
	isBound   bool // the message has a buffer of Bind's: bound
	inline    [inMessageLen]byte
	bound     *buffer // made by the first Bind; only the Receiver uses it, so no lock guards it
}

// placeUntagged checks and places a segment for an Untagged Buffer. Unlike for tagged segments, all
// checks also apply to segments without payload, because these consume a buffer.
func (r *Receiver) placeUntagged(s *segment) error {
	h, _, err := ParseUntagged(s.header)
	if err != nil {
		return err
	}
	if _, err := r.config.Admit(false, h.RsvdULP, h.QN); err != nil {
		return err
	}
	// "The QN is valid for this stream." (RFC 5041 §7.1)
	if h.QN >= NumQueues || r.config.Queues[h.QN] == nil {
		return &Error{Code: CodeInvalidQN}
	}
	m := r.message(h.QN)
	// "The Message Sequence Number falls in the range of legal Message Sequence Numbers, for the
	// queue defined by the QN." (RFC 5041 §7.1) Segments arrive in order here, so exactly one
	// number is legal.
	if h.MSN != m.MSN {
		return &Error{Code: CodeMSNRange}
	}
	if m.begun && m.RsvdULP != h.RsvdULP {
		return errRsvdULPChanged
	}
	if !m.begun {
		m.Message = Message{} // a literal of all fields would be made on the stack and copied
		m.RsvdULP, m.RsvdULP32, m.QN, m.MSN, m.Bound = h.RsvdULP, h.RsvdULP32, h.QN, h.MSN, m.isBound
		m.begun = true
		m.inMessage = r.config.InMessage(h.RsvdULP, h.QN)
	}
	if err := m.put(r.config.Queues[h.QN], s, &h); err != nil {
		return err
	}
	if h.Last {
		m.setSegment(s)
		if m.isBound {
			m.useBound()
		}
		d := r.ready.push(s.off)
		d.message = m.Message
		if m.inMessage {
			d.inMessage, d.inline = true, m.inline
		}
		m.begun, m.Len = false, 0
		if m.Bound {
			m.Buffer = nil // so that the garbage collector may free it
		}
		m.MSN++ // "MUST wrap to 0 after a value of 0xFFFFFFFF" (RFC 5041 §4.3)
	}
	return nil
}

// put places the segment's payload in the buffer of the message. That is the bound buffer, or else
// the first buffer of q that is not full. In the latter case a Flush waits meanwhile.
func (m *untaggedMessage) put(q *Queue, s *segment, h *UntaggedHeader) error {
	if m.isBound {
		return m.fill(m.bound, s, h)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	// "The QN and MSN have an associated buffer that allows Placement of the payload." (RFC 5041
	// §7.1)
	b, ok := q.atLocked(0)
	if !ok {
		return &Error{Code: CodeNoBuffer}
	}
	if err := m.fill(b, s, h); err != nil {
		return err
	}
	if h.Last {
		q.full++
	}
	return nil
}

// fill places the segment's payload in b, or in the message itself if the payload belongs there.
func (m *untaggedMessage) fill(b *buffer, s *segment, h *UntaggedHeader) error {
	if m.inMessage {
		b = &buffer{b: m.inline[:]}
	}
	// "The MO falls in the range of legal offsets associated with the Untagged Buffer." (RFC 5041
	// §7.1) Segments arrive in order, so only the offset just after the previous bytes is legal.
	if h.MO != m.Len {
		return &Error{Code: CodeInvalidMO}
	}
	// "The sum of the DDP Segment payload length and the MO falls in the range of legal offsets
	// associated with the Untagged Buffer." (RFC 5041 §7.1)
	end := uint64(h.MO) + s.n()
	if end > b.room() {
		return &Error{Code: CodeTooLong}
	}
	b.put(uint64(h.MO), s.payload)
	m.Len = uint32(end)
	return nil
}

// useBound moves a bound buffer to the message, whose last segment has been placed in it. The next
// message has none until the next Bind.
func (m *untaggedMessage) useBound() {
	if !m.inMessage {
		m.Buffer = m.bound.filled(m.Len)
	}
	*m.bound, m.isBound = buffer{}, false
}

// put copies payload to offset off of the buffer. The caller has checked that the payload fits.
func (b *buffer) put(off uint64, payload []byte) {
	if head := uint64(len(b.head)); off < head {
		payload = payload[copy(b.head[off:], payload):]
		off = 0
	} else {
		off -= head
	}
	// The payload may lie in b already: see Receiver.Bind.
	if to := b.b[off:]; len(payload) > 0 && &to[0] != &payload[0] {
		place.Copy(to, payload)
	}
}

// placeTagged checks and places a segment for a Tagged Buffer.
func (r *Receiver) placeTagged(s *segment) error {
	h, _, err := ParseTagged(s.header)
	if err != nil {
		return err
	}
	need, err := r.config.Admit(true, h.RsvdULP, 0)
	if err != nil {
		return err
	}
	m := &r.tagged
	if !m.begun {
		m.Message = Message{Tagged: true, RsvdULP: h.RsvdULP, STag: h.STag, TO: h.TO, Contiguous: true}
		m.begun = true
	} else if m.RsvdULP != h.RsvdULP {
		return errRsvdULPChanged
	}
	// "The STag and TO fields MUST NOT be checked for a zero-length Tagged DDP Message." (RFC 5041
	// §5.2) Likewise the fields of a segment without payload in a longer message are not checked
	// (RFC 5041 §7.1).
	if n := s.n(); n > 0 {
		if err := r.putTagged(s, h, need); err != nil {
			return err
		}
		if m.Len == 0 {
			m.STag, m.TO = h.STag, h.TO
		} else if h.STag != m.STag || h.TO != m.TO+uint64(m.Len) {
			m.Contiguous = false
		}
		m.Len += uint32(n)
	}
	if h.Last {
		m.setSegment(s)
		m.begun = false
		r.ready.push(s.off).message = m.Message
	}
	return nil
}

// putTagged places the payload of a segment that has a payload.
func (r *Receiver) putTagged(s *segment, h TaggedHeader, need Access) error {
	// A Region can't be larger than the longest message, so a message that is longer writes to the
	// same memory again and again. DDP has no error number for that. Bounds fits best: it is the
	// message that is out of range.
	if uint64(r.tagged.Len)+s.n() > maxMessageLen {
		return &AccessError{Code: CodeBounds, STag: h.STag, TO: h.TO, N: s.n(), Need: need, Stream: r.config.Stream.number}
	}
	region, mem, err := r.config.Stream.hold(h.STag, h.TO, s.n(), need)
	if err != nil {
		return unlessDiscarded(err)
	}
	defer region.mu.RUnlock() // +checklocksforce: hold has locked it; the copy may panic
	if s.payload != nil && region.memory != nil {
		return region.store(s.payload, h.TO, need)
	}
	if s.payload != nil && mem != nil {
		region.putAround(mem, s.payload, region.span(h.TO, s.n()), r.earlySpans)
	}
	return nil
}
