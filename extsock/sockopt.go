package extsock

import (
	"context"
	"errors"
	"fmt"
)

// SOL_DDP is the level of this package's socket options.
const SOL_DDP = 0xdd9 //nolint:revive // the name users of setsockopt expect

// Socket options at level SOL_DDP.
const (
	// DDPMODE is the option whose value is 1 in DDP mode and 0 in TCP mode. Setting it to 1 switches, as
	// EnableDDP does; there is no way back.
	DDPMODE = 1
)

// SetsockoptInt sets a socket option, as a C program would; each is a cover over a typed method.
// An option or level that does not exist gives errors.ErrUnsupported.
func (c *Conn) SetsockoptInt(level, opt, value int) error {
	switch {
	case level == SOL_DDP && opt == DDPMODE && value == 1:
		return c.EnableDDP(context.Background(), nil)
	case level == SOL_DDP && opt == DDPMODE:
		return c.opError("setsockopt", fmt.Errorf("DDPMODE %d: only 1 can be set: %w", value, errors.ErrUnsupported))
	}
	return c.opError("setsockopt", fmt.Errorf("level %#x option %d: %w", level, opt, errors.ErrUnsupported))
}

// GetsockoptInt returns the value of a socket option.
func (c *Conn) GetsockoptInt(level, opt int) (int, error) {
	if level == SOL_DDP && opt == DDPMODE {
		return int(c.Mode()), nil
	}
	return 0, c.opError("getsockopt", fmt.Errorf("level %#x option %d: %w", level, opt, errors.ErrUnsupported))
}
