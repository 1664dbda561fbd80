package rnic

import (
	"errors"
	"fmt"
)

// An Unavailability says why a device can't be used.
type Unavailability uint8

const (
	// NoDevice: the system has no RDMA device.
	NoDevice Unavailability = iota
	// NoPermission: this user may not use it, or may not register memory.
	NoPermission
	// NoResources: a limit of the device or of the process has been reached.
	NoResources
	// NotSupported: the system, the driver or the device lacks what is needed.
	NotSupported
)

func (r Unavailability) String() string {
	if names := [...]string{"no device", "no permission", "no resources", "not supported"}; int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Unavailability(%d)", uint8(r))
}

// An UnavailableError means that a device can't do what was asked for. A program can do the same in
// its own process.
type UnavailableError struct {
	Reason Unavailability
	Err    error // the cause
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("device: %v: %v", e.Reason, e.Err) }
func (e *UnavailableError) Unwrap() error { return e.Err }

// A RejectError means that the peer's program does not want the connection.
type RejectError struct {
	PrivateData []byte // from the peer's program; a channel adapter pads it with zeros
	Err         error  // the device's own error
}

func (e *RejectError) Error() string { return e.Err.Error() }
func (e *RejectError) Unwrap() error { return e.Err }

// ErrDisconnected means that the connection of a QP has ended and no Completion is left.
var ErrDisconnected = errors.New("disconnected")
