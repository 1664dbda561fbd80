//go:build !linux

package kernel

import (
	"errors"
	"syscall"
)

// TellsArrived reports whether Arrived works on this system.
const TellsArrived = false

// Arrived returns errors.ErrUnsupported on this system.
func Arrived(syscall.RawConn) (int, error) { return 0, errors.ErrUnsupported }
