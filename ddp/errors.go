package ddp

import (
	"errors"
	"fmt"
)

var (
	// ErrMisaligned means that the address of a 64-bit word is not a multiple of 8.
	ErrMisaligned = errors.New("ddp: 64-bit word is not aligned to 8 bytes")

	errModel            = errors.New("ddp: T bit announces a header of the other buffer model")
	errRsvdULPChanged   = errors.New("ddp: RsvdULP changes inside a message")
	errRegionLength     = errors.New("ddp: a Region has 1 to 2^32-1 bytes")
	errNotInvalidatable = errors.New("ddp: STag is not one that a peer may invalidate")
)

// A Code is an error number of DDP. The high byte is the Error Type and the low byte is the Error
// Code. "The following error numbers MUST be used when reporting errors to the ULP." (RFC 5041
// §7.2)
type Code uint16

// The codes that depend on what this end has registered and posted.
const (
	CodeInvalidSTag   Code = 0x100 // there is no such Region, or it does not grant the access
	CodeBounds        Code = 0x101 // the access is not wholly inside the Region
	CodeNotAssociated Code = 0x102 // the Region belongs to another stream
	CodeTOWrap        Code = 0x103 // TO and length add up to 2^64 or more
	CodeNoBuffer      Code = 0x202 // no Untagged Buffer is posted for the message
	CodeTooLong       Code = 0x205 // the message is longer than the Untagged Buffer
)

// The codes which mean that the peer breaks DDP itself, whatever this end does.
const (
	CodeLocalCatastrophic Code = 0x000
	CodeTaggedVersion     Code = 0x104
	CodeInvalidQN         Code = 0x201
	CodeMSNRange          Code = 0x203
	CodeInvalidMO         Code = 0x204
	CodeUntaggedVersion   Code = 0x206
)

// CodeULP is not a number of the RFC. It means that DDP refused the segment for a reason that has
// no number. The error wraps the error that [ReceiverConfig].Admit returned. If Admit returned
// none, the segment has another RsvdULP byte than the first segment of its message.
const CodeULP Code = 0xFFFF

// String returns the name that RFC 5041 §7.2 gives the code.
func (c Code) String() string {
	switch c {
	case CodeLocalCatastrophic:
		return "Local Catastrophic"
	case CodeInvalidSTag:
		return "Tagged Buffer Error: Invalid STag"
	case CodeBounds:
		return "Tagged Buffer Error: Base or bounds violation"
	case CodeNotAssociated:
		return "Tagged Buffer Error: STag not associated with DDP Stream"
	case CodeTOWrap:
		return "Tagged Buffer Error: TO wrap"
	case CodeTaggedVersion:
		return "Tagged Buffer Error: Invalid DDP version"
	case CodeInvalidQN:
		return "Untagged Buffer Error: Invalid QN"
	case CodeNoBuffer:
		return "Untagged Buffer Error: Invalid MSN - no buffer available"
	case CodeMSNRange:
		return "Untagged Buffer Error: Invalid MSN - MSN range is not valid"
	case CodeInvalidMO:
		return "Untagged Buffer Error: Invalid MO"
	case CodeTooLong:
		return "Untagged Buffer Error: DDP Message too long for available buffer"
	case CodeUntaggedVersion:
		return "Untagged Buffer Error: Invalid DDP version"
	case CodeULP:
		return "refused by the ULP"
	}
	return fmt.Sprintf("error type 0x%X code 0x%02X", uint8(c>>8), uint8(c))
}

// An Error describes why DDP refused an inbound segment. None of the segment's payload has been
// placed, and the stream has ended.
type Error struct {
	Code       Code
	Header     []byte // a copy of the segment's DDP Header; nil if the segment is too short to have one
	SegmentLen int    // bytes of the whole segment: header and payload
	Err        error  // the cause: an [*AccessError], the error that Code 0xFFFF stands for, or nil
}

// Error returns a text that names the code, the segment and the cause.
func (e *Error) Error() string {
	s := fmt.Sprintf("ddp: %v (segment of %d bytes, header %x)", e.Code, e.SegmentLen, e.Header)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// An AccessError means that a Region does not allow an access, or that there is no such Region.
type AccessError struct {
	// Code is the first check that failed, in this order: whether there is the Region (0x100), its
	// stream (0x102), its rights (Denied), wrap-around of the TO (0x103), bounds (0x101).
	Code Code
	// Denied means that the Region exists but does not grant all of Need. DDP has no number for
	// that. A buffer that does not allow the access is not a valid buffer for this peer, so Code is
	// 0x100 (RFC 5041 §7.1, second check). RDMAP has its own number for it.
	Denied bool
	// Memory is the error of the memory that was given to RegisterMemory, if that memory refused
	// the access. Denied is then true.
	Memory error
	// Discarded means that nothing is wrong but Stream.Discard has been called. Code is then 0x100.
	Discarded bool

	STag   STag
	TO     uint64
	N      uint64 // bytes
	Need   Access
	Stream uint64 // the stream that tried the access
}

// Error returns a text that names the check that failed and the access.
func (e *AccessError) Error() string {
	what := e.Code.String()
	switch {
	case e.Denied:
		what = "access rights violation"
	case e.Discarded:
		what = "the owner discards the stream"
	}
	s := fmt.Sprintf("ddp: %s: STag %v, TO 0x%X, %d bytes, stream %d, for %v", what, e.STag, e.TO, e.N, e.Stream, e.Need)
	if e.Memory != nil {
		s += ": " + e.Memory.Error()
	}
	return s
}

// unlessDiscarded returns the error of hold, and nil if nothing is wrong with the access.
func unlessDiscarded(err error) error {
	if e, ok := err.(*AccessError); ok && e.Discarded { //nolint:errorlint // made in this package, not wrapped
		return nil
	}
	return err
}

// Unwrap returns the error of the memory, or nil.
func (e *AccessError) Unwrap() error { return e.Memory }
