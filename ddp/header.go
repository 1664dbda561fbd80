package ddp

import (
	"bytes"
	"encoding/binary"
)

// Lengths of the two DDP Headers, in bytes.
const (
	TaggedHeaderLen   = 14 // RFC 5041 §4.2, Figure 4
	UntaggedHeaderLen = 18 // RFC 5041 §4.3, Figure 5
)

// ddpVersion is the DDP Version (DV) of RFC 5041, the only version that this package knows.
const ddpVersion = 1

// The DDP Control Field is the first byte of both headers (RFC 5041 §4.1). The four bits between L
// and DV are reserved. This package sends them as zero and ignores them in what it receives.
//
//	+---+---+-------------------+-------+
//	| T | L |       Rsvd        |  DV   |
//	+---+---+-------------------+-------+
const (
	flagTagged  = 0x80 // T: the payload goes to a Tagged Buffer
	flagLast    = 0x40 // L: the segment is the last one of its message
	maskVersion = 0x03 // DV
)

// A QN (Queue Number) names a queue of Untagged Buffers. Each queue has its own Message Sequence
// Numbers in each direction.
type QN uint32

// The queues. DDP gives them no meaning. The names say what RDMAP uses them for (RFC 5040 §4.2, RFC
// 7306 §4.1).
const (
	QNSend           QN = 0 // Sends of all kinds and Immediate Data
	QNReadRequest    QN = 1 // RDMA Read Requests and Atomic Requests
	QNTerminate      QN = 2 // the Terminate
	QNAtomicResponse QN = 3 // Atomic Responses

	NumQueues = 4
)

// A TaggedHeader is the DDP Header of a segment whose payload goes to a Tagged Buffer (RFC 5041
// §4.2).
//
//	 0        1        2                 6                                  14
//	+--------+--------+-----------------+----------------------------------+---------+
//	| T=1    | Rsvd-  |      STag       |     TO, where in the buffer      | payload |
//	| L, DV  | ULP    |     32 bits     |     the payload goes, 64 bits    |         |
//	+--------+--------+-----------------+----------------------------------+---------+
type TaggedHeader struct {
	Last    bool
	RsvdULP uint8 // belongs to the ULP: RDMAP's control field
	STag    STag
	TO      uint64
}

// AppendTo appends the 14 bytes of h to b.
func (h TaggedHeader) AppendTo(b []byte) []byte {
	b = append(b, flagTagged|control(h.Last), h.RsvdULP)
	b = binary.BigEndian.AppendUint32(b, uint32(h.STag))
	return binary.BigEndian.AppendUint64(b, h.TO)
}

// ParseTagged parses the Tagged Header at the front of b. rest is the payload, a part of b. The
// error is an [*Error], or another error if the T bit is not set.
func ParseTagged(b []byte) (h TaggedHeader, rest []byte, err error) {
	if len(b) < TaggedHeaderLen {
		return h, nil, refused(b, CodeLocalCatastrophic)
	}
	if !IsTagged(b) {
		return h, nil, errModel
	}
	if b[0]&maskVersion != ddpVersion {
		return h, nil, refused(b, CodeTaggedVersion)
	}
	h.Last = b[0]&flagLast != 0
	h.RsvdULP = b[1]
	h.STag = STag(binary.BigEndian.Uint32(b[2:]))
	h.TO = binary.BigEndian.Uint64(b[6:])
	return h, b[TaggedHeaderLen:], nil
}

// An UntaggedHeader is the DDP Header of a segment whose payload goes to an Untagged Buffer (RFC
// 5041 §4.3).
//
//	 0        1        2           6           10          14          18
//	+--------+--------+-----------+-----------+-----------+-----------+---------+
//	| T=0    | Rsvd-  | RsvdULP32 |    QN     |    MSN    |    MO     | payload |
//	| L, DV  | ULP    |  32 bits  |  32 bits  |  32 bits  |  32 bits  |         |
//	+--------+--------+-----------+-----------+-----------+-----------+---------+
//
// RsvdULP and RsvdULP32 together are the RFC's 40-bit RsvdULP field.
type UntaggedHeader struct {
	Last      bool
	RsvdULP   uint8  // belongs to the ULP: RDMAP's control field
	RsvdULP32 uint32 // belongs to the ULP: RDMAP's STag to invalidate
	QN        QN
	MSN       uint32 // number of the message in its queue; the first is 1, and 0 comes after 2^32-1
	MO        uint32 // where in the message the payload goes, in bytes from its start
}

// AppendTo appends the 18 bytes of h to b.
func (h UntaggedHeader) AppendTo(b []byte) []byte {
	b = append(b, control(h.Last), h.RsvdULP)
	b = binary.BigEndian.AppendUint32(b, h.RsvdULP32)
	b = binary.BigEndian.AppendUint32(b, uint32(h.QN))
	b = binary.BigEndian.AppendUint32(b, h.MSN)
	return binary.BigEndian.AppendUint32(b, h.MO)
}

// ParseUntagged parses the Untagged Header at the front of b. rest is the payload, a part of b. The
// error is an [*Error], or another error if the T bit is set.
func ParseUntagged(b []byte) (h UntaggedHeader, rest []byte, err error) {
	if len(b) < UntaggedHeaderLen {
		return h, nil, refused(b, CodeLocalCatastrophic)
	}
	if IsTagged(b) {
		return h, nil, errModel
	}
	if b[0]&maskVersion != ddpVersion {
		return h, nil, refused(b, CodeUntaggedVersion)
	}
	h.Last = b[0]&flagLast != 0
	h.RsvdULP = b[1]
	h.RsvdULP32 = binary.BigEndian.Uint32(b[2:])
	h.QN = QN(binary.BigEndian.Uint32(b[6:]))
	h.MSN = binary.BigEndian.Uint32(b[10:])
	h.MO = binary.BigEndian.Uint32(b[14:])
	return h, b[UntaggedHeaderLen:], nil
}

// IsTagged reports whether the T bit of ulpdu says that ulpdu begins with a Tagged Header. It
// returns false for an empty ulpdu.
func IsTagged(ulpdu []byte) bool { return len(ulpdu) > 0 && ulpdu[0]&flagTagged != 0 }

// headerLen returns the length of the DDP Header that the T bit of ulpdu announces.
func headerLen(ulpdu []byte) int {
	if IsTagged(ulpdu) {
		return TaggedHeaderLen
	}
	return UntaggedHeaderLen
}

// refused returns the error of a segment whose header is too short, or of another version.
func refused(b []byte, code Code) error {
	e := &Error{Code: code, SegmentLen: len(b)}
	if n := headerLen(b); len(b) >= n {
		e.Header = bytes.Clone(b[:n])
	}
	return e
}

// control returns the DDP Control Field without its T bit.
func control(last bool) byte {
	if last {
		return flagLast | ddpVersion
	}
	return ddpVersion
}
