package rdmap

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/ddp"
)

// Errors of PostSend and PostRecv, and reasons in Completions.
var (
	// ErrQueueFull means that as many requests are posted as the queue holds.
	ErrQueueFull = errors.New("rdmap: queue full")
	// ErrCompletionQueueFull means that the completion queue could not hold the request's Completion.
	ErrCompletionQueueFull = errors.New("rdmap: completion queue full")
	// ErrNotConnected means that the stream is not in RDMA mode yet.
	ErrNotConnected = errors.New("rdmap: not connected")
	// ErrClosed means that the stream is closed or has ended; the reason is wrapped with it.
	ErrClosed = errors.New("rdmap: closed")
	// ErrPeerClosed means that the peer has closed its half, so nothing more comes from it.
	ErrPeerClosed = errors.New("rdmap: closed by the peer")
	// ErrMessageTooLong means that a request has more than 2^32-1 octets.
	ErrMessageTooLong = errors.New("rdmap: message longer than 2^32-1 octets")
	// ErrSharedQueue means that the QP takes its receive buffers from a SharedReceiveQueue: they are
	// posted there.
	ErrSharedQueue = errors.New("rdmap: receive buffers come from a shared receive queue")
	// ErrBadRequest means that a request makes no sense, whatever the state of the stream.
	ErrBadRequest = errors.New("rdmap: bad request")
	// ErrNoExtensions means that the stream does not use RFC 7306's operations.
	ErrNoExtensions = errors.New("rdmap: atomics and Immediate Data (RFC 7306) are off")
	// ErrNoORD means that the stream was set up to have no outbound Reads (RFC 5040 §6.1).
	ErrNoORD = errors.New("rdmap: no outbound Reads or atomics: ORD is 0")
	// ErrCancelled is the reason of a request that Cancel took back.
	ErrCancelled = errors.New("rdmap: cancelled")
)

// The layers and error types of RFC 5040 figure 9.
const (
	layerRDMAP = 0x0
	layerDDP   = ddp.Layer
	layerLLP   = 0x2

	etypeLocalCatastrophic = 0x0 // of RDMAP and of DDP
	etypeRemoteProtection  = 0x1 // of RDMAP
	etypeRemoteOperation   = 0x2 // of RDMAP
	etypeMPA               = 0x0 // of the LLP, which is MPA
)

// The error codes of RFC 5040 figure 9 that the two remote error types have.
const (
	codeInvalidSTag   = 0x00
	codeBounds        = 0x01
	codeAccess        = 0x02
	codeNotAssociated = 0x03
	codeWrap          = 0x04
	codeVersion       = 0x05
	codeOpcode        = 0x06
	codeCatastrophic  = 0x07
	codeInvalidate    = 0x09
	codeUnspecified   = 0xFF
)

// The codes of MPA (RFC 5044 §8) after which no Terminate can be sent.
const (
	mpaClosed = 0x01 // the TCP connection is gone
	mpaFrame  = 0x04 // startup failed
)

// An Error is a fault that this layer has found, in the terms of a Terminate (RFC 5040 figure 9).
type Error struct {
	Layer, EType, Code uint8
	Header             []byte // DDP header of the segment at fault, 14 or 18 octets; nil if there is none
	SegmentLen         int    // octets of that whole segment
	ReadRequest        []byte // the Read Request header at fault; nil if the fault is not one's
	Reason             string // what exactly was wrong; may be empty
	Err                error  // the cause, where another package told; may be nil
}

// Error returns the error in the RFC's words.
func (e *Error) Error() string {
	s := "rdmap: " + errorText(e.Layer, e.EType, e.Code)
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

// TerminateCode returns what a Terminate says of the error.
func (e *Error) TerminateCode() (layer, etype, code uint8) { return e.Layer, e.EType, e.Code }

// Segment returns the DDP header of the segment at fault, nil if there is none, and the segment's
// length.
func (e *Error) Segment() (header []byte, n int) { return e.Header, e.SegmentLen }

// operationError is an error that an incoming message causes other than by the memory it names.
func operationError(code uint8, format string, args ...any) *Error {
	return &Error{
		Layer: layerRDMAP, EType: etypeRemoteOperation, Code: code,
		Reason: fmt.Sprintf(format, args...),
	}
}

// A TerminateError is what ended a stream: the Terminate that was sent, or received.
type TerminateError struct {
	Terminate Terminate
	Remote    bool  // the peer sent it
	Err       error // what was found here; nil if Remote
}

// Error tells whose Terminate it is, and what it says.
func (e *TerminateError) Error() string {
	if e.Remote {
		return "rdmap: the peer terminated the stream: " + e.Terminate.String()
	}
	return "rdmap: stream terminated: " + e.Err.Error()
}

// Unwrap returns what was found here; nil if the Terminate is the peer's.
func (e *TerminateError) Unwrap() error { return e.Err }
