package softrnic

import (
	"errors"
	"io"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// Errors of one work request.
var (
	errLocalProtection = errors.New("softrnic: a scatter/gather entry names memory that is not registered for this access")
	errBind            = errors.New("softrnic: the memory window cannot be bound or invalidated")
	errLocalLength     = errors.New("softrnic: longer than the scatter/gather list")
)

// Errors of a connection.
var (
	errEnded    = errors.New("softrnic: the connection of the queue pair has ended")
	errBug      = errors.New("softrnic: a bug of the device")
	errNotReady = errors.New("softrnic: the queue pair does not wait for this connection")
	// errEarly is for the log: a doorbell returns no error to the program.
	errEarly = errors.New("the program has posted work requests before RTS, where an adapter refuses them; they wait for RTS")
)

// localStatus returns the status of a work request that this end could not carry out.
func localStatus(err error) uverbs.WCStatus {
	switch {
	case errors.Is(err, errLocalProtection):
		return uverbs.LocalProtErr
	case errors.Is(err, errLocalLength):
		return uverbs.LocalLengthErr
	case errors.Is(err, errBind):
		return uverbs.MWBindErr
	}
	return uverbs.LocalQPErr
}

// endStatus returns the status of the work request to blame when its connection has ended with err.
func endStatus(err error) uverbs.WCStatus {
	var t *rdmap.TerminateError
	if !errors.As(err, &t) {
		return uverbs.RetryExceeded
	}
	if !t.Remote {
		var access *ddp.AccessError
		if errors.As(err, &access) {
			return uverbs.FlushErr // the peer's request was wrong, not one of ours
		}
		return uverbs.FatalErr
	}
	// RDMAP's Remote Protection Error (RFC 5040 §4.8) and DDP's Tagged Buffer Error (RFC 5041 §7.2)
	// say that the peer's memory does not allow the access.
	const rdmapProtection, rdmapOperation, ddpTagged = 0x01, 0x02, 0x11
	switch t.Terminate.Code >> 8 {
	case rdmapProtection, ddpTagged:
		return uverbs.RemoteAccessErr
	case rdmapOperation:
		return uverbs.RemoteInvalidErr
	}
	return uverbs.RemoteOpErr
}

// endOf returns how a connection has ended whose last error is err.
func endOf(err error) connectionEnd {
	var t *rdmap.TerminateError
	switch {
	case errors.As(err, &t) && t.Remote:
		return endTheirs
	case errors.As(err, &t):
		return endOurs
	case errors.Is(err, io.EOF):
		return endOrderly
	}
	return endBroken
}

// isGone reports whether err says that there is no Region with the STag.
func isGone(err error) bool {
	var access *ddp.AccessError
	return errors.As(err, &access) && access.Code == ddp.CodeInvalidSTag && !access.Denied
}

// isTooLong reports whether a connection has ended because of a Send that is longer than its
// receive.
func isTooLong(err error) bool {
	var e *ddp.Error
	return errors.As(err, &e) && e.Code == ddp.CodeTooLong
}
