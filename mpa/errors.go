package mpa

import (
	"errors"
	"fmt"
)

// layerLLP is the Layer field of a Terminate that reports an MPA error: "the LLP" (RFC 5040 §4.8,
// RFC 6580 §3.3).
const layerLLP = 2

// The errors of an invalid Config.
var (
	errRevision    = errors.New("mpa: revision is neither 1 nor 2")
	errDepth       = errors.New("mpa: IRD or ORD is not a number of 14 bits")
	errPrivateData = errors.New("mpa: Private Data is too long")
	errPeerToPeer  = errors.New("mpa: the peer-to-peer model needs the enhanced frame of revision 2")
)

// ErrSameRole means that both ends started as Initiator, or both as Responder. An [*Error] with
// CodeFrame wraps it.
var ErrSameRole = errors.New("mpa: the peer has started in the same role")

// Code is the number of an MPA error (RFC 5044 §8, RFC 6581 §8).
type Code uint8

// The codes. A Terminate can report codes 2, 3, 5, 6 and 7 to the peer. With code 4 this end closes
// the connection at once, and with code 1 the connection is already gone.
const (
	CodeClosed            Code = 1 // the TCP connection ended
	CodeCRC               Code = 2 // the CRC of an FPDU is wrong
	CodeMarker            Code = 3 // a Marker and the ULPDU_Lengths disagree on where an FPDU begins
	CodeFrame             Code = 4 // a startup frame is improperly formatted
	CodeLocalCatastrophic Code = 5 // an error of the local end that MPA cannot recover from
	CodeInsufficientIRD   Code = 6 // the peer's ORD is above our IRD
	CodeNoRTR             Code = 7 // the two ends have no Ready to Receive indication in common
)

// String returns the code's name in the registry (RFC 6580 §3.3, RFC 6581 §8).
func (c Code) String() string {
	switch c {
	case CodeClosed:
		return "TCP connection closed, terminated, or lost"
	case CodeCRC:
		return "MPA CRC Error"
	case CodeMarker:
		return "MPA Marker and ULPDU Length field mismatch"
	case CodeFrame:
		return "Invalid MPA Request Frame or MPA Response Frame"
	case CodeLocalCatastrophic:
		return "Local catastrophic"
	case CodeInsufficientIRD:
		return "Insufficient IRD resources"
	case CodeNoRTR:
		return "No matching RTR option"
	}
	return fmt.Sprintf("Code(%d)", uint8(c))
}

// An Error describes why an MPA connection, or one direction of it, has ended.
type Error struct {
	Code   Code
	Off    uint64 // with CodeCRC, CodeMarker or CodeClosed: stream offset where the FPDU begins
	Reason string // details for people; may be empty
	Err    error  // the cause, for errors.Is and errors.As; may be nil
	// Graceful is true, with CodeClosed, if the FIN arrived between two FPDUs (RFC 5044 §7.2).
	Graceful bool
}

// Error returns the name of the code, the offset for CodeCRC and CodeMarker, the reason and the
// cause.
func (e *Error) Error() string {
	s := "mpa: " + e.Code.String()
	if e.Code == CodeCRC || e.Code == CodeMarker {
		s += fmt.Sprintf(", FPDU at stream offset %d", e.Off)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// TerminateCode returns the three fields of a Terminate that report the error (RFC 5040 §4.8).
func (e *Error) TerminateCode() (layer, etype, code uint8) { return layerLLP, 0, uint8(e.Code) }

// A RejectError means that the peer sent a Reply whose R bit is set: the peer's application does
// not want the connection.
// "the implementation MUST exit MPA, leaving the TCP connection open" (RFC 5044 §7.1.2)
type RejectError struct {
	PrivateData []byte // from the peer's application; the caller may keep it
	Enhanced    bool   // the Reply stated IRD and ORD
	IRD, ORD    int    // the peer's depths; an ORD above our IRD may be the reason (RFC 6581 §9.1)
}

// Error states the rejection, the peer's depths if there are any, and its Private Data.
func (e *RejectError) Error() string {
	s := "mpa: connection rejected by the peer"
	if e.Enhanced {
		s += fmt.Sprintf(" (its IRD is %d, its ORD %d)", e.IRD, e.ORD)
	}
	if len(e.PrivateData) > 0 {
		s += fmt.Sprintf(": %q", e.PrivateData)
	}
	return s
}
