package rdmap

import (
	"errors"
	"fmt"
)

// Errors that PostSend and PostRecv return, and reasons in Completions.
var (
	// ErrQueueFull means that the queue already holds its maximum number of requests.
	ErrQueueFull = errors.New("rdmap: queue full")
	// ErrCompletionQueueFull means that the completion queue has no free entry for the Completion
	// of the request.
	ErrCompletionQueueFull = errors.New("rdmap: completion queue full")
	// ErrClosed means that the stream is closed or has ended. If the stream ended with an error,
	// the error that is returned wraps that error, too.
	ErrClosed = errors.New("rdmap: closed")
	// ErrPeerClosed means that the peer has closed its half of the stream, so nothing more comes
	// from it.
	ErrPeerClosed = errors.New("rdmap: closed by the peer")
	// ErrMessageTooLong means that a request has more than 2^32-1 bytes.
	ErrMessageTooLong = errors.New("rdmap: message longer than 2^32-1 bytes")
	// ErrBadRequest means that a request is wrong, whatever the state of the stream.
	ErrBadRequest = errors.New("rdmap: bad request")
	// ErrNoExtensions means that the stream does not use RFC 7306's operations.
	ErrNoExtensions = errors.New("rdmap: atomics and Immediate Data (RFC 7306) are off")
	// ErrNoORD means that startup agreed on no outbound Reads (RFC 5040 §6.1).
	ErrNoORD = errors.New("rdmap: no outbound Reads or atomics: ORD is 0")
	// ErrCanceled is the reason for a request that Cancel canceled.
	ErrCanceled = errors.New("rdmap: canceled")

	// errNotConnected means that the QP has not been started. A program does not get it, because
	// its connection has no QP to post to then.
	errSharedQueue  = fmt.Errorf("%w: receive buffers come from a shared receive queue", ErrBadRequest)
	errNotConnected = errors.New("rdmap: not connected")
)

// A streamError is an error that RDMAP has found, in the terms of a Terminate. A program gets it
// inside a TerminateError.
type streamError struct {
	Code        TerminateCode
	Header      []byte // DDP header of the segment at fault, 14 or 18 bytes; nil if no segment is
	SegmentLen  int    // length of the whole segment in bytes
	ReadRequest []byte // header of the Read Request at fault; nil if no Read Request is
	Reason      string // details; may be empty
	Err         error  // the cause, if another package found it; may be nil
}

// Error returns the error in the words of the RFC.
func (e *streamError) Error() string {
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
func (e *streamError) Unwrap() error { return e.Err }

// operationError returns an error about an incoming message, other than an error about the memory
// that the message names.
func operationError(code TerminateCode, format string, args ...any) *streamError {
	return &streamError{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// headerError returns the error for a header that a Parse function refused with err.
func headerError(err error) *streamError {
	code := codeUnspecified
	if errors.Is(err, ErrAtomicOp) {
		code = codeOpcode
	}
	return &streamError{Code: code, Reason: err.Error()}
}

// A TerminateError is the Terminate, sent or received, that ended a stream.
type TerminateError struct {
	Terminate Terminate
	Remote    bool  // the peer sent the Terminate
	Err       error // the error that this end found; nil if Remote
}

// Error says which end sent the Terminate, and why.
func (e *TerminateError) Error() string {
	if e.Remote {
		return "rdmap: the peer terminated the stream: " + e.Terminate.Code.String()
	}
	return "rdmap: stream terminated: " + e.Err.Error()
}

// Unwrap returns the error that this end found, or nil if the peer sent the Terminate.
func (e *TerminateError) Unwrap() error { return e.Err }
