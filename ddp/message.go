package ddp

// maxMessageLen is the length of the longest payload of a DDP Message, in bytes (RFC 5041 §1.2).
const maxMessageLen = 1<<32 - 1

// A Message is one DDP Message, which is one message of the layer above. A [Sender] and a
// [Receiver] use the same type. The comments of the fields say in which direction each is used. All
// lengths are in bytes.
type Message struct {
	Tagged    bool
	RsvdULP   uint8  // the same in every segment
	RsvdULP32 uint32 // untagged only; a Receiver takes it from the first segment

	// STag and TO say where the first payload byte of a tagged Message goes. In a Message without
	// payload they mean nothing and are not checked (RFC 5041 §5.2).
	STag STag
	TO   uint64

	QN  QN     // untagged
	MSN uint32 // untagged only; set by Sender and Receiver, never by the caller

	Len uint32 // payload bytes

	// For a Sender. If Source is nil, the payload is the first Len bytes of the gather list
	// Payload, and the caller must not change them until they are sent. Otherwise the payload is
	// the Len bytes of Source from TO SourceTO on. Those bytes may change at any time, and the
	// Sender reads them segment by segment, until Source is gone or Discard of SourceStream is
	// called. That is the stream of the peer that gets them, or nil if there is none to ask.
	Payload      [][]byte
	Source       *Region
	SourceTO     uint64
	SourceStream *Stream

	// ID is any number for a Sender, which does not look at it.
	ID uint64

	// From a Receiver, untagged only. Buffer is the buffer without its head, cut to the bytes that
	// the message has written. Bound means that the buffer came from Receiver.Bind. Otherwise the
	// buffer was posted to the Queue, and ID is the ID with which it was posted.
	Buffer []byte
	Bound  bool

	// From a Receiver, tagged only. Contiguous means that every segment with payload followed the
	// one before it, with the same STag and the next TO. So the whole payload is in STag from TO
	// on.
	Contiguous bool

	// From a Receiver. The DDP Header and the length of the Message's last segment, for a Terminate
	// that must name that segment.
	Header     [UntaggedHeaderLen]byte
	HeaderLen  int
	SegmentLen int
}

// setSegment records s as the last segment of m.
func (m *Message) setSegment(s *segment) {
	m.HeaderLen = copy(m.Header[:], s.header)
	m.SegmentLen = s.length
}
