package rdmap

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/internal/rdmaphdr"
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

// An Error is a fault that this layer has found, in the terms of a Terminate.
type Error struct {
	Code        TerminateCode
	Header      []byte // DDP header of the segment at fault, 14 or 18 octets; nil if there is none
	SegmentLen  int    // octets of that whole segment
	ReadRequest []byte // the Read Request header at fault; nil if the fault is not one's
	Reason      string // what exactly was wrong; may be empty
	Err         error  // the cause, where another package told; may be nil
}

// Error returns the error in the RFC's words.
func (e *Error) Error() string {
	s := "rdmap: " + e.Code.String()
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

// operationError is an error that an incoming message causes other than by the memory it names.
func operationError(code TerminateCode, format string, args ...any) *Error {
	return &Error{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// headerError returns the error for a header that package rdmaphdr refuses with err.
func headerError(err error) *Error {
	code := codeUnspecified
	if errors.Is(err, rdmaphdr.ErrAtomicOp) {
		code = codeOpcode
	}
	return &Error{Code: code, Reason: err.Error()}
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
		return "rdmap: the peer terminated the stream: " + e.Terminate.Code.String()
	}
	return "rdmap: stream terminated: " + e.Err.Error()
}

// Unwrap returns what was found here; nil if the Terminate is the peer's.
func (e *TerminateError) Unwrap() error { return e.Err }
