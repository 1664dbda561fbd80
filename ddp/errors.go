package ddp

import (
	"errors"
	"fmt"
)

var (
	// ErrRsvdULPChanged means that a segment has another RsvdULP octet than the first segment of its message.
	// The Receiver's error is then an [*Error] with [CodeULP] that wraps it.
	ErrRsvdULPChanged = errors.New("ddp: RsvdULP changes inside a message")

	// ErrMisaligned means that the address of a 64-bit word is not a multiple of 8.
	ErrMisaligned = errors.New("ddp: 64-bit word is not aligned to 8 bytes")

	errBufferModel      = errors.New("ddp: header belongs to the other buffer model")
	errRegionLength     = errors.New("ddp: a Region has 1 to 2^32-1 bytes")
	errNotInvalidatable = errors.New("ddp: STag is not one that a peer may invalidate")
)

// A Code is an error number of DDP: the Error Type in its high byte and the Error Code in its low byte.
// "The following error numbers MUST be used when reporting errors to the ULP." (RFC 5041 §7.2)
type Code uint16

// The codes that depend on what this end has registered and posted, and CodeULP. All other codes mean that
// the peer breaks DDP itself, whatever this end does; they have no names here, but String knows them.
const (
	CodeInvalidSTag   Code = 0x100 // no such Region, or not any more, or it does not grant the access
	CodeBounds        Code = 0x101 // not wholly inside the Region
	CodeNotAssociated Code = 0x102 // a Region of another stream
	CodeTOWrap        Code = 0x103 // TO and length add up to 2^64 or more
	CodeNoBuffer      Code = 0x202 // no Untagged Buffer is posted for the message
	CodeTooLong       Code = 0x205 // the message is longer than the Untagged Buffer

	// CodeULP is not a number of the RFC's. It means that the segment is refused for a reason that has none:
	// the error wraps [ErrRsvdULPChanged], or what [ReceiverConfig].Admit returned.
	CodeULP Code = 0xFFFF

	codeLocalCatastrophic Code = 0x000
	codeTaggedVersion     Code = 0x104
	codeInvalidQN         Code = 0x201
	codeMSNRange          Code = 0x203
	codeInvalidMO         Code = 0x204
	codeUntaggedVersion   Code = 0x206
)

// String returns the name that RFC 5041 §7.2 gives the code.
func (c Code) String() string {
	switch c {
	case codeLocalCatastrophic:
		return "Local Catastrophic"
	case CodeInvalidSTag:
		return "Tagged Buffer Error: Invalid STag"
	case CodeBounds:
		return "Tagged Buffer Error: Base or bounds violation"
	case CodeNotAssociated:
		return "Tagged Buffer Error: STag not associated with DDP Stream"
	case CodeTOWrap:
		return "Tagged Buffer Error: TO wrap"
	case codeTaggedVersion:
		return "Tagged Buffer Error: Invalid DDP version"
	case codeInvalidQN:
		return "Untagged Buffer Error: Invalid QN"
	case CodeNoBuffer:
		return "Untagged Buffer Error: Invalid MSN - no buffer available"
	case codeMSNRange:
		return "Untagged Buffer Error: Invalid MSN - MSN range is not valid"
	case codeInvalidMO:
		return "Untagged Buffer Error: Invalid MO"
	case CodeTooLong:
		return "Untagged Buffer Error: DDP Message too long for available buffer"
	case codeUntaggedVersion:
		return "Untagged Buffer Error: Invalid DDP version"
	case CodeULP:
		return "refused by the ULP"
	}
	return fmt.Sprintf("error type 0x%X code 0x%02X", uint8(c>>8), uint8(c))
}

// An Error says that DDP refuses an inbound segment, and why. None of the segment's payload has been placed,
// and the stream has ended.
type Error struct {
	Code       Code
	Header     []byte // the segment's DDP Header, a copy; nil if the segment is too short to have one
	SegmentLen int    // bytes of the whole segment: header and payload
	Err        error  // the cause, if more is known: an [*AccessError], or the one of [CodeULP]; else nil
}

// Error names the code, the segment and the cause.
func (e *Error) Error() string {
	s := fmt.Sprintf("ddp: %v (segment of %d octets, header %x)", e.Code, e.SegmentLen, e.Header)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// An AccessError says that a Region does not allow an access, or that there is no such Region.
type AccessError struct {
	// Code is the first check that failed, in this order: CodeInvalidSTag, CodeNotAssociated, Denied,
	// CodeTOWrap, CodeBounds.
	Code Code
	// Denied means that the Region is there but does not grant all of Need. DDP has no number for that: a
	// buffer that does not allow the access is not a valid one for this peer, so Code is CodeInvalidSTag
	// (RFC 5041 §7.1, second check). RDMAP has a number of its own.
	Denied bool

	STag   STag
	TO     uint64
	N      uint64 // bytes
	Need   Access
	Stream uint64 // the stream that tried
}

// Error names the check that failed and the access.
func (e *AccessError) Error() string {
	what := e.Code.String()
	if e.Denied {
		what = "access rights violation"
	}
	return fmt.Sprintf("ddp: %s: STag %v, TO 0x%X, %d octets, stream %d, for %v", what, e.STag, e.TO, e.N, e.Stream, e.Need)
}
