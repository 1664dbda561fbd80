//go:build !linux

package usertcp

import (
	"errors"
	"fmt"
)

// OpenTUN works on Linux only.
func OpenTUN(name string) (Link, error) {
	return nil, fmt.Errorf("usertcp: open %s: TUN devices: %w", name, errors.ErrUnsupported)
}

// OpenRaw works on Linux only.
func OpenRaw(name string) (Link, error) {
	return nil, fmt.Errorf("usertcp: open %s: packet sockets: %w", name, errors.ErrUnsupported)
}
