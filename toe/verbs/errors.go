package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// A Reason says why a device can't be used.
type Reason = rnic.Unavailability

// The reasons.
const (
	NoDevice     = rnic.NoDevice
	NoPermission = rnic.NoPermission
	NoResources  = rnic.NoResources
	NotSupported = rnic.NotSupported
)

// An UnavailableError means that the device can't do what was asked for. A program can do the same
// in its own process, by package extsock.
type UnavailableError = rnic.UnavailableError

func unavailable(why Reason, err error) error { return &UnavailableError{Reason: why, Err: err} }

// A DeviceError means that the device has failed, or has given an answer that the interface does
// not allow.
type DeviceError struct {
	Op  string // the command or the event
	Err error
}

func (e *DeviceError) Error() string { return fmt.Sprintf("verbs: device: %s: %v", e.Op, e.Err) }
func (e *DeviceError) Unwrap() error { return e.Err }

// A ConnectError means that the peer, or the network on the way to it, has refused a connection.
type ConnectError struct {
	Event  string // of rdma_cm, such as "REJECTED" or "UNREACHABLE"
	Status int32  // a negative errno, 0, or a reason of InfiniBand's
	// PrivateData is from the peer's program, if the program has rejected the request. A channel
	// adapter pads it with zeros.
	PrivateData []byte
}

func (e *ConnectError) Error() string {
	if e.Status < 0 {
		return fmt.Sprintf("verbs: %s: %v", e.Event, syscall.Errno(-int64(e.Status)))
	}
	return "verbs: " + e.Event
}

// Is reports whether target is the errno that package net would have returned: ECONNREFUSED if the
// peer has refused, ECONNRESET if it has left, or that of Status.
func (e *ConnectError) Is(target error) bool {
	if e.Status < 0 {
		return target == syscall.Errno(-int64(e.Status)) //nolint:errorlint // as package errors has it
	}
	switch e.Event {
	case ucma.Rejected.String():
		return target == syscall.ECONNREFUSED //nolint:errorlint // the same
	case ucma.Disconnected.String():
		return target == syscall.ECONNRESET //nolint:errorlint // the same
	}
	return false
}

// isProgram reports whether the peer's program has rejected the request, as far as the event shows:
// an RNIC reports the same event, without private data, if nobody listens or the peer leaves.
func (e *ConnectError) isProgram() bool {
	const consumerDefined = 28 // the reason of a program, as InfiniBand numbers it
	return e.Event == ucma.Rejected.String() && (e.Status == consumerDefined || e.Status <= 0 && len(e.PrivateData) > 0)
}

// A WorkError is the result of a work request that has failed. The first failure ends the
// connection. It matches syscall.ECONNRESET if the reason is that the peer, or the path to it, is
// gone.
type WorkError struct {
	Status uint32 // as verbs number it
}

func (e *WorkError) Error() string { return "verbs: " + uverbs.WCStatus(e.Status).String() }

// Kind returns the kind of the Status. That is rdmap.StatusFlushed if the work request was not
// carried out because the connection had ended.
func (e *WorkError) Kind() rdmap.Status {
	switch uverbs.WCStatus(e.Status) {
	case uverbs.FlushErr:
		return rdmap.StatusFlushed
	case uverbs.LocalLengthErr:
		return rdmap.StatusLocalLength
	case uverbs.LocalProtErr, uverbs.LocalAccessErr:
		return rdmap.StatusLocalProtection
	case uverbs.RemoteAccessErr:
		return rdmap.StatusRemoteAccess
	case uverbs.RemoteInvalidErr, uverbs.RemoteOpErr, uverbs.RemoteAbortedErr:
		return rdmap.StatusRemoteOperation
	}
	return rdmap.StatusGeneral
}

// Is reports whether target is syscall.ECONNRESET and the peer is gone. Devices use several
// statuses for that: siw uses LocalQPErr if TCP has failed, and "rddp run" uses RemoteOpErr if the
// peer's program has ended. The other statuses are about the work request, or about the device
// itself.
func (e *WorkError) Is(target error) bool {
	switch uverbs.WCStatus(e.Status) {
	case uverbs.LocalQPErr, uverbs.RemoteOpErr, uverbs.RetryExceeded, uverbs.RNRRetryExceeded, uverbs.RemoteAbortedErr, uverbs.ResponseTimeout, uverbs.GeneralErr:
		return target == syscall.ECONNRESET //nolint:errorlint // as package errors has it
	}
	return false
}

var (
	// ErrDisconnected means that the connection has ended and no completion is left.
	ErrDisconnected = rnic.ErrDisconnected
	// ErrQueueFull means that the queue has no room for another work request. Each completion that
	// Wait returns makes room for one.
	ErrQueueFull = rdmap.ErrQueueFull
	// ErrSegment means that a Segment is not within its Region, that its Region is closed, or that
	// there are too many: more than Config.Segments, or for an OpRead more than the limit of the
	// device, which is 1 with siw. For an atomic it also means that there is not exactly one
	// Segment of 8 bytes, or that the TO is not a multiple of 8.
	ErrSegment = errors.New("verbs: segment outside of its region, or too many")
)

// failed returns the error of a command that the system or the device has refused.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	reason := NotSupported
	switch {
	case errors.Is(err, fs.ErrClosed):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENXIO):
		reason = NoDevice
	case errors.Is(err, fs.ErrPermission):
		reason = NoPermission
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EAGAIN):
		reason = NoResources
	case errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EPROTONOSUPPORT):
	default:
		return &DeviceError{op, err}
	}
	return unavailable(reason, fmt.Errorf("%s: %w", op, err))
}

// disconnected returns err, or a *ConnectError if the peer has left before there was a connection.
func disconnected(err error) error {
	if errors.Is(err, ErrDisconnected) {
		return &ConnectError{Event: ucma.Disconnected.String()}
	}
	return err
}

// left is disconnected for an end that accepts, or confirms the peer's answer. When a peer leaves
// before that, no event reports the end of a connection, and rdma_cm refuses commands that need
// one. If a peer breaks the rules at once, the device may report its queue before, or while,
// rdma_cm reports the connection.
func left(err error) error {
	var d *DeviceError
	if !errors.As(err, &d) {
		return disconnected(err)
	}
	gone := d.Op == queueEvent
	if d.Op == ucma.Accept.String() || d.Op == ucma.InitQPAttr.String() {
		for _, e := range []syscall.Errno{syscall.EINVAL, syscall.ECONNRESET, syscall.ENOTCONN} {
			gone = gone || errors.Is(d.Err, e)
		}
	}
	if gone {
		return &ConnectError{Event: ucma.Disconnected.String(), Status: -int32(syscall.ECONNRESET)}
	}
	return err
}

// refused returns the error for an event other than the expected one.
func refused(e ucma.Event) error {
	if e.Type == ucma.AddrError && e.Status == -int32(syscall.ENODEV) {
		return unavailable(NotSupported, errors.New("the route to the peer uses no device"))
	}
	switch e.Type {
	case ucma.AddrError, ucma.RouteError, ucma.ConnectError, ucma.Unreachable, ucma.Rejected, ucma.Disconnected:
		return &ConnectError{e.Type.String(), e.Status, e.Param.PrivateData}
	}
	return &DeviceError{"rdma_cm", fmt.Errorf("%v is not due", e.Type)}
}
