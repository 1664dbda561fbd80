//go:build !linux

package kernel

import (
	"errors"
	"syscall"
)

// TellsArrived says that Arrived works on this system.
const TellsArrived = false

// Arrived is not for this system.
func Arrived(syscall.RawConn) (int, error) { return 0, errors.ErrUnsupported }
