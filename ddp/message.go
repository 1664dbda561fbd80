package ddp

// maxMessageLen is the longest payload of one DDP Message, in octets (RFC 5041 §1.2).
const maxMessageLen = 1<<32 - 1

// A Message is one DDP Message, which is one message of the layer above. The same type goes down, to
// a [Sender], and comes up, from a [Receiver]; each field says where it counts. All lengths are in
// octets.
type Message struct {
	Tagged    bool
	RsvdULP   uint8  // the same in every segment
	RsvdULP32 uint32 // untagged; up: from the first segment

	// STag and TO say, in a tagged Message, where its first payload octet goes. In one without
	// payload they mean nothing and are not checked (RFC 5041 §5.2).
	STag STag
	TO   uint64

	QN  QN     // untagged
	MSN uint32 // untagged; set by Sender and Receiver, never by the caller

	Len uint32 // payload octets

	// Down. The payload is either the first Len octets of the gather list Payload, which the caller
	// leaves unchanged until they are sent, or, where Source is not nil, the Len octets of Source
	// from its TO SourceTO on: those may change at any time and are read segment by segment.
	Payload  [][]byte
	Source   *Region
	SourceTO uint64

	// Up, untagged: the posted buffer, without its head and cut to what the message has put there,
	// and the ID it was posted with.
	Buffer []byte
	ID     uint64

	// Up, tagged: every segment with payload followed the one before it, with the same STag and the
	// next TO, so that the payload is all in STag, from TO on.
	Contiguous bool

	// Up: the DDP Header and the length of the Message's last segment, for a Terminate that has to
	// name it.
	Header     [UntaggedHeaderLen]byte
	HeaderLen  int
	SegmentLen int
}

// setSegment notes s as the last segment of m.
func (m *Message) setSegment(s *segment) {
	m.HeaderLen = copy(m.Header[:], s.header)
	m.SegmentLen = s.length
}
