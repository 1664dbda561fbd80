package ddp

import (
	"fmt"
)

// A Segment is one DDP Segment to send. Header and Payload are valid until the next call of the
// Sender's Next, Start or Release.
type Segment struct {
	Header   []byte
	Payload  [][]byte // the pieces of the payload, in order
	Last     bool     // the last segment of its Message
	Snapshot bool     // Payload can change at any time; copy it before computing a CRC
}

// A Sender cuts Messages into Segments. The zero value is ready for a new stream. At most one
// goroutine at a time may use a Sender.
//
//	s.Start(m)
//	for s.Next(mulpdu) {
//		… copy s.Segment() …
//		s.Release()
//	}
//	if err := s.Err(); err != nil { … }
type Sender struct {
	// Far, if not nil, gives the memory to which a Sender copies the payload of a Segment from a
	// Region of [Domain.RegisterMemory].
	Far FarBuffer

	sent [NumQueues]uint32 // by QN: messages started, modulo 2^32

	m       *Message // nil if there is none, or it has been cut to its end
	done    uint64   // payload bytes of m that have been cut
	piece   int      // m.Payload[piece][skip:] comes next
	skip    int
	segment Segment
	held    *Region // locked for reading, because segment.Payload is its memory
	kept    bool    // held also has the payload of the Segments before
	err     error

	header  [UntaggedHeaderLen]byte
	payload [][]byte // segment.Payload, kept for its capacity
}

// A FarBuffer has memory for payload.
type FarBuffer interface {
	// Payload returns memory for the n bytes of payload of the next Segment, or nil if it has none.
	// header is the length of the Segment's header.
	Payload(header, n int) []byte
}

// Start begins to send m. If m is untagged, Start sets its MSN. The Sender keeps m until Next
// returns false. If an earlier Message has not been cut to its end, Start abandons that Message.
func (s *Sender) Start(m *Message) {
	s.Release()
	s.m, s.done, s.piece, s.skip, s.err = m, 0, 0, 0, nil
	if m.Source == nil {
		var n uint64
		for _, p := range m.Payload {
			n += uint64(len(p))
		}
		if n < uint64(m.Len) {
			panic(fmt.Sprintf("BUG: DDP Message of %d bytes with a payload of %d", m.Len, n))
		}
	}
	if m.Tagged {
		return
	}
	if m.QN >= NumQueues {
		panic(fmt.Sprintf("BUG: DDP Message for QN %d", m.QN))
	}
	// "The Message Sequence Number specifies a sequence number that MUST be increased by one
	// (modulo 2^32) with each DDP Message targeting the specific Queue Number" and "The initial
	// value for MSN MUST be one." (RFC 5041 §4.3)
	s.sent[m.QN]++
	m.MSN = s.sent[m.QN]
}

// Next releases the Segment before it, unless Keep keeps it, and cuts the next one. Its header and
// its payload together have at most mulpdu bytes. mulpdu may change from call to call. It must have
// room for a header and one byte. Next returns false after the last Segment, and also when the
// Message's source Region is gone, or its SourceStream discards. In that case Err returns an error.
func (s *Sender) Next(mulpdu int) bool {
	if s.kept {
		s.forget()
	} else {
		s.Release()
	}
	m := s.m
	if m == nil {
		return false
	}
	headerLen := UntaggedHeaderLen
	if m.Tagged {
		headerLen = TaggedHeaderLen
	}
	if mulpdu <= headerLen {
		panic(fmt.Sprintf("BUG: MULPDU of %d bytes", mulpdu))
	}
	n := min(uint64(mulpdu-headerLen), uint64(m.Len)-s.done)
	if !s.cut(n, headerLen) {
		s.m = nil
		return false
	}
	// "It MUST be set to one on the last DDP Segment of every DDP Message. It MUST NOT be set to
	// one on any other DDP Segment." (RFC 5041 §4.1) And "A zero-length DDP Message is allowed and
	// MUST consume exactly one DDP Segment." (RFC 5041 §5.2)
	last := s.done+n == uint64(m.Len)
	s.segment = Segment{Header: s.appendHeader(last), Payload: s.payload, Last: last, Snapshot: m.Source != nil}
	s.done += n
	if last {
		s.m = nil
	}
	return true
}

// Segment returns the Segment that the last Next cut. It is valid until the next call
// of Next or Release.
func (s *Sender) Segment() *Segment { return &s.segment }

// Release releases the memory of the Segment's payload. Until then the garbage collector can't free
// that memory, or [Region.Deregister] waits for the Region. Call Release once the payload has been
// copied, and before anything that can block.
func (s *Sender) Release() {
	if s.held != nil {
		s.held.mu.RUnlock() // +checklocksforce: Next has locked it
		s.held, s.kept = nil, false
	}
	s.forget()
}

// forget drops the Segment.
func (s *Sender) forget() {
	clear(s.payload)
	s.payload = s.payload[:0]
	s.segment = Segment{}
}

// Keep is for a Segment whose payload the caller neither copies nor computes a CRC of. Its Region
// stays held until Release, also while Next cuts more Segments of the same Message. So the caller
// may give all of them to TCP at once, and may lock nothing but what TCP locks before it calls
// Release. Keep reports false if the payload is not the memory of a Region: then the next Next may
// change it, and Keep does nothing.
func (s *Sender) Keep() bool {
	s.kept = s.held != nil && s.held.memory == nil
	return s.kept
}

// Detach copies the rest of a Message that has been cut only in part, so that the owner of the
// payload may change it. If the rest is longer than limit bytes, Detach does nothing and returns
// false. A Message from a Region needs no copy, because no owner waits for it.
func (s *Sender) Detach(limit int) bool {
	m := s.m
	if m == nil || m.Source != nil {
		return true
	}
	rest := uint64(m.Len) - s.done
	if rest > uint64(limit) {
		return false
	}
	b := make([]byte, 0, rest)
	for rest > 0 {
		p := m.Payload[s.piece][s.skip:]
		p = p[:min(uint64(len(p)), rest)]
		b = append(b, p...)
		rest -= uint64(len(p))
		s.piece++
		s.skip = 0
	}
	m.Payload, s.piece, s.skip = [][]byte{b}, 0, 0
	return true
}

// Err returns why Next ended before the Message did. The error is an [*AccessError], whose TO says
// how far the Sender came. The stream then lacks the end of the Message, and the only message that
// may follow is a Terminate.
func (s *Sender) Err() error { return s.err }

// cut sets s.payload, which is empty, to the next n bytes of the Message, which follow a header of
// headerLen bytes. It returns false if the Message's source is gone.
func (s *Sender) cut(n uint64, headerLen int) bool {
	m := s.m
	if m.Source != nil {
		if n == 0 {
			return true
		}
		mem, err := s.hold(n)
		if err != nil {
			s.err = err
			return false
		}
		if m.Source.memory != nil {
			if s.err = s.fetch(n, headerLen); s.err != nil {
				s.Release()
				return false
			}
			return true
		}
		s.payload = append(s.payload, mem)
		return true
	}
	for n > 0 {
		p := m.Payload[s.piece][s.skip:]
		if uint64(len(p)) > n {
			p = p[:n]
			s.skip += len(p)
		} else {
			s.piece++
			s.skip = 0
		}
		if len(p) > 0 {
			s.payload = append(s.payload, p)
			n -= uint64(len(p))
		}
	}
	return true
}

// hold returns the next n bytes of the Message's source Region, which is held from then on.
//
// +checklocksignore: the Region is locked already if it is kept
func (s *Sender) hold(n uint64) (mem []byte, err error) {
	m := s.m
	if s.kept {
		return s.held.heldLocked(m.SourceTO+s.done, n, Access(0), m.SourceStream)
	}
	if mem, err = m.Source.hold(m.SourceTO+s.done, n, 0, m.SourceStream); err == nil {
		s.held = m.Source
	}
	return mem, err
}

// fetch sets s.payload, which is empty, to a copy of the next n bytes of a Message whose source is
// a Region of far memory.
func (s *Sender) fetch(n uint64, headerLen int) error {
	var p []byte
	if s.Far != nil {
		p = s.Far.Payload(headerLen, int(n))
	}
	if p == nil {
		p = make([]byte, n)
	}
	if err := s.m.Source.fetch(p, s.m.SourceTO+s.done, s.m.SourceStream.needs(RemoteRead)); err != nil {
		return err
	}
	s.payload = append(s.payload, p)
	return nil
}

// appendHeader returns the DDP Header of the segment that begins at s.done.
func (s *Sender) appendHeader(last bool) []byte {
	m := s.m
	if m.Tagged {
		// "the TO MUST be set to the octet offset from the first octet in the associated ULP
		// Message to the first octet in the ULP Payload contained in the DDP Segment, plus the TO
		// assigned to the first octet in the associated ULP Message." (RFC 5041 §5.2)
		return TaggedHeader{Last: last, RsvdULP: m.RsvdULP, STag: m.STag, TO: m.TO + s.done}.AppendTo(s.header[:0])
	}
	return UntaggedHeader{
		Last: last, RsvdULP: m.RsvdULP, RsvdULP32: m.RsvdULP32, QN: m.QN, MSN: m.MSN, MO: uint32(s.done),
	}.AppendTo(s.header[:0])
}
