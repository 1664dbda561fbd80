package extsock

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/rddp/rddp/internal/conn/startup"
)

// SOL_DDP is the level of this package's socket option, for Conn.SetsockoptInt.
const SOL_DDP = 0xdd9 //nolint:revive // the name users of setsockopt expect

// DDPMODE is the socket option that is 1 in DDP mode and 0 in TCP mode. Setting it to 1 calls
// EnableDDP. There is no way back to 0.
const DDPMODE = 1

// SetsockoptInt sets a socket option, as setsockopt does in C. The only one is DDPMODE, at level
// SOL_DDP: setting it to 1 calls EnableDDP without a context. Config has the settings of a
// connection. Another option or level gives errors.ErrUnsupported, and a value that the option
// cannot have gives syscall.EINVAL.
func (c *Conn) SetsockoptInt(level, opt, value int) error {
	switch {
	case !c.ok():
		return syscall.EINVAL
	case level != SOL_DDP || opt != DDPMODE:
		return c.opError("setsockopt", noOption(level, opt))
	case value == 1:
		return c.EnableDDP(context.Background(), nil)
	case value != 0:
		return c.opError("setsockopt", fmt.Errorf("DDPMODE %d: %w", value, syscall.EINVAL))
	case c.inDDPMode():
		return c.opError("setsockopt", fmt.Errorf("DDPMODE 0: %w: %w", startup.ErrSwitched, errors.ErrUnsupported))
	}
	return nil
}

// GetsockoptInt returns the value of a socket option, as getsockopt does in C: DDPMODE, at level
// SOL_DDP. ConnectionState has the rest of what startup has agreed on. Another option or level
// gives errors.ErrUnsupported.
func (c *Conn) GetsockoptInt(level, opt int) (int, error) {
	switch {
	case !c.ok():
		return 0, syscall.EINVAL
	case level != SOL_DDP || opt != DDPMODE:
		return 0, c.opError("getsockopt", noOption(level, opt))
	case c.inDDPMode():
		return 1, nil
	}
	return 0, nil
}

func noOption(level, opt int) error {
	return fmt.Errorf("level %#x option %d: %w", level, opt, errors.ErrUnsupported)
}
