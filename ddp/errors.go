package ddp

import (
	"errors"
	"fmt"
)

// Conditions that callers test for.
var (
	// ErrBufferModel is what a header parser says of a header of the other buffer model.
	ErrBufferModel = errors.New("ddp: header belongs to the other buffer model")
	// ErrRsvdULPChanged says that a segment has another RsvdULP octet than the first segment of its
	// message. DDP has no error number for it; the Receiver's error is a [*SegmentError].
	ErrRsvdULPChanged = errors.New("ddp: RsvdULP changes inside a message")

	ErrRegionLength = errors.New("ddp: a Region has 1 to 2^32-1 octets")
	ErrDeregistered = errors.New("ddp: Region is deregistered")
	ErrMisaligned   = errors.New("ddp: 64-bit word is not aligned to 8 octets")

	// What Region.Window says; or ErrDeregistered.
	ErrWindowRange  = errors.New("ddp: a window has 1 octet at least and lies inside its Region")
	ErrWindowAccess = errors.New("ddp: a window grants no right that its Region does not grant")

	// What Domain.Invalidate says.
	ErrUnknownSTag      = errors.New("ddp: STag is not valid")
	ErrWrongStream      = errors.New("ddp: STag is not associated with the stream")
	ErrNotInvalidatable = errors.New("ddp: STag is not one that a peer may invalidate")

	ErrQueueFull    = errors.New("ddp: queue is full")
	ErrQueueClosed  = errors.New("ddp: queue has been flushed")
	ErrBufferLength = errors.New("ddp: an Untagged Buffer has at most 2^32-1 octets")
)

// Layer is DDP's number in a Terminate (RFC 5040 §4.8).
const Layer = 1

// "The following error numbers MUST be used when reporting errors to the ULP." (RFC 5041 §7.2)
// These are the Error Types and, by type, the Error Codes. Type 3 is the LLP's and not used here.
const (
	TypeLocalCatastrophic = 0
	TypeTagged            = 1
	TypeUntagged          = 2

	CodeLocalCatastrophic = 0x00

	CodeInvalidSTag   = 0x00 // type 1
	CodeBounds        = 0x01
	CodeNotAssociated = 0x02
	CodeTOWrap        = 0x03
	CodeTaggedVersion = 0x04

	CodeInvalidQN       = 0x01 // type 2: there is no code 0x00
	CodeNoBuffer        = 0x02
	CodeMSNRange        = 0x03
	CodeInvalidMO       = 0x04
	CodeTooLong         = 0x05
	CodeUntaggedVersion = 0x06
)

// An Error is an inbound segment that DDP refuses, with the number that RFC 5041 §7.2 has for the
// reason. None of its payload has been placed, and the stream is at its end.
type Error struct {
	Type, Code uint8
	Header     []byte // the segment's DDP Header, a copy; nil where the segment is too short for one
	SegmentLen int    // octets of the whole segment: header and payload
	Err        error  // what was found, if more is known: an *AccessError; else nil
}

func (e *Error) Error() string {
	s := fmt.Sprintf("ddp: %s (segment of %d octets, header %x)", errorName(e.Type, e.Code), e.SegmentLen, e.Header)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// TerminateCode returns the Layer, Error Type and Error Code for a Terminate.
func (e *Error) TerminateCode() (layer, etype, code uint8) { return Layer, e.Type, e.Code }

// Segment returns the DDP Header and the whole length, in octets, of the failing segment.
func (e *Error) Segment() (header []byte, n int) { return e.Header, e.SegmentLen }

// errorName returns the RFC's words for an error number.
func errorName(etype, code uint8) string {
	switch uint16(etype)<<8 | uint16(code) {
	case TypeLocalCatastrophic<<8 | CodeLocalCatastrophic:
		return "Local Catastrophic"
	case TypeTagged<<8 | CodeInvalidSTag:
		return "Tagged Buffer Error: Invalid STag"
	case TypeTagged<<8 | CodeBounds:
		return "Tagged Buffer Error: Base or bounds violation"
	case TypeTagged<<8 | CodeNotAssociated:
		return "Tagged Buffer Error: STag not associated with DDP Stream"
	case TypeTagged<<8 | CodeTOWrap:
		return "Tagged Buffer Error: TO wrap"
	case TypeTagged<<8 | CodeTaggedVersion:
		return "Tagged Buffer Error: Invalid DDP version"
	case TypeUntagged<<8 | CodeInvalidQN:
		return "Untagged Buffer Error: Invalid QN"
	case TypeUntagged<<8 | CodeNoBuffer:
		return "Untagged Buffer Error: Invalid MSN - no buffer available"
	case TypeUntagged<<8 | CodeMSNRange:
		return "Untagged Buffer Error: Invalid MSN - MSN range is not valid"
	case TypeUntagged<<8 | CodeInvalidMO:
		return "Untagged Buffer Error: Invalid MO"
	case TypeUntagged<<8 | CodeTooLong:
		return "Untagged Buffer Error: DDP Message too long for available buffer"
	case TypeUntagged<<8 | CodeUntaggedVersion:
		return "Untagged Buffer Error: Invalid DDP version"
	}
	return fmt.Sprintf("error type 0x%X code 0x%02X", etype, code)
}

// A SegmentError is an inbound segment that is refused for a reason that has no DDP error number:
// Err is [ErrRsvdULPChanged], or what [ReceiverConfig].Admit said. None of its payload has been
// placed, and the stream is at its end.
type SegmentError struct {
	Err        error
	Header     []byte // the segment's DDP Header, a copy
	SegmentLen int    // octets of the whole segment: header and payload
}

func (e *SegmentError) Error() string {
	return fmt.Sprintf("ddp: segment of %d octets, header %x: %v", e.SegmentLen, e.Header, e.Err)
}

func (e *SegmentError) Unwrap() error { return e.Err }

// Segment returns the DDP Header and the whole length, in octets, of the failing segment.
func (e *SegmentError) Segment() (header []byte, n int) { return e.Header, e.SegmentLen }

// A Kind says which check an access to a Region failed, in the order in which they are made.
type Kind uint8

const (
	KindInvalidSTag   Kind = iota // no such Region, or no longer
	KindNotAssociated             // a Region of another stream
	KindAccess                    // the Region does not grant the right
	KindWrap                      // TO and length add up to 2^64 or more
	KindBounds                    // not wholly inside the Region
)

func (k Kind) String() string {
	switch k {
	case KindInvalidSTag:
		return "invalid STag"
	case KindNotAssociated:
		return "STag not associated with stream"
	case KindAccess:
		return "access rights violation"
	case KindWrap:
		return "TO wrap"
	case KindBounds:
		return "base or bounds violation"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// code returns the Error Code of a Tagged Buffer Error. DDP has none for rights: a buffer that does
// not allow the access is, to this peer, no valid one (RFC 5041 §7.1, second check).
func (k Kind) code() uint8 {
	switch k {
	case KindNotAssociated:
		return CodeNotAssociated
	case KindWrap:
		return CodeTOWrap
	case KindBounds:
		return CodeBounds
	}
	return CodeInvalidSTag
}

// An AccessError is an attempt to reach memory that the named Region does not allow. It has no error
// number of its own: DDP and RDMAP number the same kinds differently.
type AccessError struct {
	Kind   Kind
	STag   STag
	TO     uint64
	N      uint64 // octets
	Need   Access
	Stream uint64 // the stream that tried
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("ddp: %v: STag %v, TO 0x%X, %d octets, stream %d, for %v", e.Kind, e.STag, e.TO, e.N, e.Stream, e.Need)
}
