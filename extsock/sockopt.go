package extsock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"

	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/mpa"
)

// SOL_DDP is the level of this package's socket options, for Conn.SetsockoptInt.
const SOL_DDP = 0xdd9 //nolint:revive // the name users of setsockopt expect

// These are the socket options at level SOL_DDP. The package documentation has a table of their
// values. Each option is a setting of one connection, and can be set until the switch to DDP mode
// begins. Config has the same settings for all connections that use it.
const (
	// DDPMODE is 1 in DDP mode and 0 in TCP mode. Setting it to 1 calls EnableDDP. There is no way
	// back to 0.
	DDPMODE = iota + 1
	// DDP_MARKERS is 1 if this end asks the peer to put markers into what it sends here (RFC 5044
	// §4.3), and in DDP mode if this end receives markers.
	DDP_MARKERS
	// DDP_CRC is 1 if this end wants a CRC32C in each FPDU. In DDP mode it is 1 if FPDUs have one,
	// which is so if either end wants it.
	DDP_CRC
	// DDP_MPA_REVISION is the newest revision of MPA that this end may use, 1 or 2, and in DDP mode
	// the revision in use.
	DDP_MPA_REVISION
	// DDP_MAX_FPDU is the maximum length in bytes of the FPDUs that this end sends, 136 to 64776. 0
	// means automatic; see Config.MaxFPDU.
	DDP_MAX_FPDU
	// DDP_IRD is the maximum number of the peer's RDMA Reads and atomics in flight, 0 to 16382 (RFC
	// 6581 §9.1), and in DDP mode the number that startup agreed on.
	DDP_IRD
	// DDP_ORD is the maximum number of this end's RDMA Reads and atomics in flight, 0 to 16382, and
	// in DDP mode the number that startup agreed on.
	DDP_ORD
	// DDP_RECV_DEPTH is the number of receive buffers for Read, 1 to 65535. A byte stream uses at
	// least 4. The option must be set before the first Register, PostRecv, SendCQ, RecvCQ or QPNum,
	// which make the receive queue; after them the error is ErrBusy.
	DDP_RECV_DEPTH
	// DDP_RECV_SIZE is the length in bytes of each receive buffer for Read, 1 to 2147483647. A byte
	// stream uses at least 512.
	DDP_RECV_SIZE
	// DDP_CROSSOVER is the minimum length in bytes of a Write that a byte stream places in the
	// reader's memory by RDMA Write; see Config.Crossover. 0 means that the connection chooses, and
	// -1 means never.
	DDP_CROSSOVER
	// DDP_MESSAGES is 1 if each Write in DDP mode is one message, and 0 if Read and Write are a
	// byte stream. In DDP mode it is also 1 if the peer cannot have a byte stream.
	DDP_MESSAGES
)

const (
	maxDepth     = mpa.DepthULP - 1 // RFC 6581 §9.1
	maxRecvDepth = math.MaxUint16
	maxRecvSize  = math.MaxInt32 // fits an int of 32 bits and the capability record

	// FPDUs of the smallest and the largest MULPDU, 128 and 64768 bytes (RFC 5044 §3).
	minFPDU, maxFPDU = 136, 64776
)

// A sockopt is one socket option.
type sockopt struct {
	name    string
	valid   func(value int) bool
	tooLate func(c *Conn) bool // whether it is fixed before the switch; nil: no; c.mu is held
	set     func(cfg *Config, value int)
	get     func(c *Conn) int // the setting, or what startup agreed on
}

// sockopts holds all options but DDPMODE.
var sockopts = map[int]sockopt{
	DDP_MARKERS: {name: "DDP_MARKERS", valid: between(0, 1), get: (*Conn).markers,
		set: func(cfg *Config, v int) { cfg.Markers = v == 1 }},
	DDP_CRC: {name: "DDP_CRC", valid: between(0, 1), get: (*Conn).crc,
		set: func(cfg *Config, v int) { cfg.NoCRC = v == 0 }},
	DDP_MPA_REVISION: {name: "DDP_MPA_REVISION", valid: between(1, 2), get: (*Conn).revision,
		set: func(cfg *Config, v int) { cfg.Revision = v }},
	DDP_MAX_FPDU: {name: "DDP_MAX_FPDU", valid: isMaxFPDU,
		get: func(c *Conn) int { return c.config().MaxFPDU },
		set: func(cfg *Config, v int) { cfg.MaxFPDU = v }},
	DDP_IRD: {name: "DDP_IRD", valid: between(0, maxDepth), get: (*Conn).ird,
		set: func(cfg *Config, v int) { cfg.IRD = depthSetting(v) }},
	DDP_ORD: {name: "DDP_ORD", valid: between(0, maxDepth), get: (*Conn).ord,
		set: func(cfg *Config, v int) { cfg.ORD = depthSetting(v) }},
	DDP_RECV_DEPTH: {name: "DDP_RECV_DEPTH", valid: between(1, maxRecvDepth),
		tooLate: func(c *Conn) bool { return c.verbs.made.Load() },
		get:     func(c *Conn) int { return c.config().recvDepth() },
		set:     func(cfg *Config, v int) { cfg.RecvDepth = v }},
	DDP_RECV_SIZE: {name: "DDP_RECV_SIZE", valid: between(1, maxRecvSize),
		get: func(c *Conn) int { return c.config().recvSize() },
		set: func(cfg *Config, v int) { cfg.RecvSize = v }},
	DDP_CROSSOVER: {name: "DDP_CROSSOVER", valid: between(-1, math.MaxInt),
		get: func(c *Conn) int { return c.config().Crossover },
		set: func(cfg *Config, v int) { cfg.Crossover = v }},
	DDP_MESSAGES: {name: "DDP_MESSAGES", valid: between(0, 1), get: (*Conn).messages,
		set: func(cfg *Config, v int) { cfg.Messages = v == 1 }},
}

// SetsockoptInt sets a socket option, as setsockopt does in C. The options and their values are in
// the table of the package documentation. Setting DDPMODE to 1 calls EnableDDP. All other options
// can be set until the switch to DDP mode begins, and DDP_RECV_DEPTH until the receive queue
// exists. The error is ErrBusy during the switch and ErrMode after it. An option or level that does
// not exist gives errors.ErrUnsupported, and a value that the option cannot have gives
// syscall.EINVAL.
func (c *Conn) SetsockoptInt(level, opt, value int) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	if level == SOL_DDP && opt == DDPMODE {
		return c.setDDPMode(value)
	}
	o, ok := sockopts[opt]
	if !ok || level != SOL_DDP {
		return c.opError("setsockopt", noOption(level, opt))
	}
	if !o.valid(value) {
		return c.invalid(o.name, value)
	}
	return c.opError("setsockopt", c.configure(o, value))
}

// GetsockoptInt returns the value of a socket option, as getsockopt does in C. In TCP mode the
// value is the setting. In DDP mode it is what startup agreed on, if the ends agree on that option.
// An option or level that does
// not exist gives errors.ErrUnsupported.
func (c *Conn) GetsockoptInt(level, opt int) (int, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	if level == SOL_DDP && opt == DDPMODE {
		return toInt(c.inDDPMode()), nil
	}
	o, ok := sockopts[opt]
	if !ok || level != SOL_DDP {
		return 0, c.opError("getsockopt", noOption(level, opt))
	}
	return o.get(c), nil
}

func noOption(level, opt int) error {
	return fmt.Errorf("level %#x option %d: %w", level, opt, errors.ErrUnsupported)
}

func (c *Conn) setDDPMode(value int) error {
	if value == 1 {
		return c.EnableDDP(context.Background(), nil)
	}
	if value == 0 && !c.inDDPMode() {
		return nil
	}
	if value == 0 {
		return c.opError("setsockopt", fmt.Errorf("DDPMODE 0: %w: %w", startup.ErrSwitched, errors.ErrUnsupported))
	}
	return c.invalid("DDPMODE", value)
}

func (c *Conn) invalid(name string, value int) error {
	return c.opError("setsockopt", fmt.Errorf("%s %d: %w", name, value, syscall.EINVAL))
}

// between returns a function that reports whether a value is at least low and at most high.
func between(low, high int) func(int) bool {
	return func(v int) bool { return low <= v && v <= high }
}

func isMaxFPDU(v int) bool {
	return v == 0 || minFPDU <= v && v <= maxFPDU
}

// configure changes a setting of this connection, unless the switch to DDP mode has begun.
func (c *Conn) configure(o sockopt, value int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return net.ErrClosed
	}
	cfg := *c.cfg // a copy, because the program's Config must not change
	o.set(&cfg, value)
	tooLate := false
	err := c.startup.Configure(func() {
		if tooLate = o.tooLate != nil && o.tooLate(c); !tooLate {
			c.cfg = &cfg // c.mu is held, and startup, which reads c.cfg without it, has not begun
		}
	})
	if tooLate {
		return fmt.Errorf("%w: the receive queue exists already", ErrBusy)
	}
	return err
}

// depthSetting returns the value of Config.IRD or Config.ORD that means n.
func depthSetting(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// agreed returns what startup agreed on and the settings. The Agreement is valid if inDDP is true.
func (c *Conn) agreed() (a mpa.Agreement, inDDP bool, cfg *Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer.Load().Agreement, c.inDDPMode(), c.cfg
}

func (c *Conn) markers() int {
	a, inDDP, cfg := c.agreed()
	if !inDDP {
		return toInt(cfg.Markers)
	}
	return toInt(a.RxMarkers)
}

func (c *Conn) crc() int {
	a, inDDP, cfg := c.agreed()
	if !inDDP {
		return toInt(!cfg.NoCRC)
	}
	return toInt(a.CRC)
}

func (c *Conn) revision() int {
	a, inDDP, cfg := c.agreed()
	if !inDDP {
		return orDefault(cfg.Revision, 2)
	}
	return int(a.Revision)
}

func (c *Conn) ird() int {
	a, inDDP, cfg := c.agreed()
	if !inDDP {
		return depth(cfg.IRD)
	}
	return a.IRD
}

func (c *Conn) ord() int {
	a, inDDP, cfg := c.agreed()
	if !inDDP {
		return depth(cfg.ORD)
	}
	return a.ORD
}

func (c *Conn) messages() int {
	_, inDDP, cfg := c.agreed()
	if !inDDP {
		return toInt(cfg.Messages)
	}
	return toInt(!c.isByteStream())
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
