//go:build !linux

package usertcp

import (
	"errors"
	"fmt"
)

// OpenRaw works on Linux only.
func OpenRaw(name string) (Link, error) {
	return nil, fmt.Errorf("usertcp: open %s: packet sockets: %w", name, errors.ErrUnsupported)
}
