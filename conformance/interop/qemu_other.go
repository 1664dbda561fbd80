//go:build interop && !linux

package interop

import (
	"errors"
	"os"
	"os/exec"
)

// endWithParent does nothing: guest.sh fails on these systems anyway.
func endWithParent(*exec.Cmd) {}

// datagrams returns errors.ErrUnsupported on this system.
func datagrams() ([2]*os.File, error) { return [2]*os.File{}, errors.ErrUnsupported }
