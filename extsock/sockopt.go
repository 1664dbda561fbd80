package extsock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"

	"github.com/rddp/rddp/mpa"
)

// SOL_DDP is the level of this package's socket options.
const SOL_DDP = 0xdd9 //nolint:revive // the name users of setsockopt expect

// Socket options at level SOL_DDP; the package documentation has a table of them. Those of 0 and 1 are switches.
const (
	// DDPMODE is 1 in DDP mode and 0 in TCP mode. Setting it to 1 switches, as EnableDDP does; there is no
	// way back.
	DDPMODE     = iota + 1
	MARKERS     // see Conn.SetMarkers
	CRC         // see Conn.SetCRC
	MPAREVISION // see Conn.SetRevision
	MAXFPDU     // see Conn.SetMaxFPDU
	IRD         // see Conn.SetIRD
	ORD         // see Conn.SetORD
	RECVDEPTH   // see Conn.SetRecvDepth
	RECVSIZE    // see Conn.SetRecvSize
	CROSSOVER   // see Conn.SetCrossover
	MESSAGEMODE // see Conn.SetMessages

	// Counts of Conn.Stats, which can only be read; the highest bits are lost where an int is short.
	STATSENTFPDUS
	STATSENTOCTETS
	STATRECEIVEDFPDUS
	STATRECEIVEDOCTETS
	STATCOPIEDOCTETS
	STATDIRECTOCTETS
	STATCREDITSTALLS
	STATCOMBINEDWRITES
	STATOFFERS
)

const (
	maxDepth     = mpa.DepthULP - 1 // RFC 6581 §9.1
	maxRecvDepth = math.MaxUint16
	maxRecvSize  = math.MaxInt32 // fits an int of 32 bits and the capability record

	// FPDUs of the smallest and the largest MULPDU, 128 and 64768 bytes (RFC 5044 §3).
	minFPDU, maxFPDU = 136, 64776
)

// A sockopt is one socket option as its typed methods.
type sockopt struct {
	name string
	set  func(c *Conn, value int) error
	get  func(c *Conn) int
}

var sockopts = map[int]sockopt{
	DDPMODE:     {"DDPMODE", (*Conn).setDDPMode, func(c *Conn) int { return int(c.Mode()) }},
	MARKERS:     {"MARKERS", onOff((*Conn).SetMarkers), func(c *Conn) int { return toInt(c.Markers()) }},
	CRC:         {"CRC", onOff((*Conn).SetCRC), func(c *Conn) int { return toInt(c.CRC()) }},
	MPAREVISION: {"MPAREVISION", (*Conn).SetRevision, (*Conn).Revision},
	MAXFPDU:     {"MAXFPDU", (*Conn).SetMaxFPDU, (*Conn).MaxFPDU},
	IRD:         {"IRD", (*Conn).SetIRD, (*Conn).IRD},
	ORD:         {"ORD", (*Conn).SetORD, (*Conn).ORD},
	RECVDEPTH:   {"RECVDEPTH", (*Conn).SetRecvDepth, (*Conn).RecvDepth},
	RECVSIZE:    {"RECVSIZE", (*Conn).SetRecvSize, (*Conn).RecvSize},
	CROSSOVER:   {"CROSSOVER", (*Conn).SetCrossover, (*Conn).Crossover},
	MESSAGEMODE: {"MESSAGEMODE", onOff((*Conn).SetMessages), func(c *Conn) int { return toInt(c.Messages()) }},

	STATSENTFPDUS:      statistic(func(s *Stats) uint64 { return s.Sent.FPDUs }),
	STATSENTOCTETS:     statistic(func(s *Stats) uint64 { return s.Sent.Octets }),
	STATRECEIVEDFPDUS:  statistic(func(s *Stats) uint64 { return s.Received.FPDUs }),
	STATRECEIVEDOCTETS: statistic(func(s *Stats) uint64 { return s.Received.Octets }),
	STATCOPIEDOCTETS:   statistic(func(s *Stats) uint64 { return s.CopiedOctets }),
	STATDIRECTOCTETS:   statistic(func(s *Stats) uint64 { return s.DirectOctets }),
	STATCREDITSTALLS:   statistic(func(s *Stats) uint64 { return s.CreditStalls }),
	STATCOMBINEDWRITES: statistic(func(s *Stats) uint64 { return s.CombinedWrites }),
	STATOFFERS:         statistic(func(s *Stats) uint64 { return s.Offers }),
}

// statistic is an option that gives a count.
func statistic(count func(*Stats) uint64) sockopt {
	return sockopt{
		"a statistic", func(c *Conn, v int) error { return c.invalid("a statistic", v) },
		func(c *Conn) int { s := c.Stats(); return int(count(&s) & math.MaxInt) }, // never negative
	}
}

// SetsockoptInt sets a socket option, as a C program would; each is a cover over a typed method. An
// option or level that does not exist gives errors.ErrUnsupported, a value that the option can't have
// syscall.EINVAL.
func (c *Conn) SetsockoptInt(level, opt, value int) error {
	o, ok := sockopts[opt]
	if !ok || level != SOL_DDP {
		return c.opError("setsockopt", fmt.Errorf("level %#x option %d: %w", level, opt, errors.ErrUnsupported))
	}
	return o.set(c, value)
}

// GetsockoptInt returns the value of a socket option.
func (c *Conn) GetsockoptInt(level, opt int) (int, error) {
	o, ok := sockopts[opt]
	if !ok || level != SOL_DDP {
		return 0, c.opError("getsockopt", fmt.Errorf("level %#x option %d: %w", level, opt, errors.ErrUnsupported))
	}
	return o.get(c), nil
}

func (c *Conn) setDDPMode(value int) error {
	if value == 1 {
		return c.EnableDDP(context.Background(), nil)
	}
	if value == 0 && c.Mode() == ModeTCP {
		return nil
	}
	if value == 0 {
		return c.opError("setsockopt", fmt.Errorf("DDPMODE 0: %w: %w", ErrSwitched, errors.ErrUnsupported))
	}
	return c.invalid("DDPMODE", value)
}

// onOff makes the option of a typed method that takes a bool.
func onOff(set func(*Conn, bool) error) func(*Conn, int) error {
	return func(c *Conn, value int) error {
		if value != 0 && value != 1 {
			return c.invalid("a switch", value)
		}
		return set(c, value == 1)
	}
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *Conn) invalid(name string, value int) error {
	return c.opError("setsockopt", fmt.Errorf("%s %d: %w", name, value, syscall.EINVAL))
}

// configure changes a setting of this connection alone, which is possible until the switch begins.
// tooLate, unless it is nil, says whether something else than the switch has made it impossible.
func (c *Conn) configure(tooLate func() bool, set func(cfg *Config)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	switch {
	case c.isClosed():
		err = net.ErrClosed
	case c.inDDPMode():
		err = ErrSwitched
	case c.startup.IsSwitching():
		err = ErrBusy
	case tooLate != nil && tooLate():
		err = fmt.Errorf("%w: the receive queue has been made", ErrBusy)
	}
	if err != nil {
		return c.opError("setsockopt", err)
	}
	cfg := *c.cfg // the application's own is never changed
	set(&cfg)
	c.cfg = &cfg
	return nil
}

// within is configure for a number between low and high.
func (c *Conn) within(name string, value, low, high int, tooLate func() bool, set func(cfg *Config)) error {
	if value < low || value > high {
		return c.invalid(name, value)
	}
	return c.configure(tooLate, set)
}

// agreed returns what startup agreed on, if the connection is in DDP mode, and the settings.
func (c *Conn) agreed() (a mpa.Agreement, inDDP bool, cfg *Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer.Load().Agreement, c.inDDPMode(), c.cfg
}

// SetMarkers says whether this end asks the peer to put markers into what it receives (RFC 5044 §4.3).
// It can be called until the switch to DDP mode begins, as all of these.
func (c *Conn) SetMarkers(markers bool) error {
	return c.configure(nil, func(cfg *Config) { cfg.Markers = markers })
}

// Markers returns the setting; in DDP mode whether this end receives markers.
func (c *Conn) Markers() bool {
	if a, ok, cfg := c.agreed(); !ok {
		return cfg.Markers
	} else {
		return a.RxMarkers
	}
}

// SetCRC says whether this end wants CRC32C on FPDUs. If it does not, it is on where the peer does.
func (c *Conn) SetCRC(crc bool) error {
	return c.configure(nil, func(cfg *Config) { cfg.NoCRC = !crc })
}

// CRC returns the setting; in DDP mode whether FPDUs have a CRC.
func (c *Conn) CRC() bool {
	if a, ok, cfg := c.agreed(); !ok {
		return !cfg.NoCRC
	} else {
		return a.CRC
	}
}

// SetRevision sets the newest MPA revision to be used, 1 or 2.
func (c *Conn) SetRevision(revision int) error {
	return c.within("MPAREVISION", revision, 1, 2, nil, func(cfg *Config) { cfg.Revision = revision })
}

// Revision returns the setting; in DDP mode the MPA revision in use.
func (c *Conn) Revision() int {
	if a, ok, cfg := c.agreed(); !ok {
		return orDefault(cfg.Revision, 2)
	} else {
		return int(a.Revision)
	}
}

// SetMaxFPDU sets the most octets of an FPDU that this end sends, see Config.MaxFPDU: 136 to 64776, or 0.
func (c *Conn) SetMaxFPDU(octets int) error {
	if octets == 0 {
		return c.configure(nil, func(cfg *Config) { cfg.MaxFPDU = 0 })
	}
	return c.within("MAXFPDU", octets, minFPDU, maxFPDU, nil,
		func(cfg *Config) { cfg.MaxFPDU = octets })
}

// MaxFPDU returns the setting.
func (c *Conn) MaxFPDU() int { return c.config().MaxFPDU }

// SetIRD sets how many RDMA Reads and atomics of the peer may be in flight, 0 to 16382 (RFC 6581 §9.1).
func (c *Conn) SetIRD(n int) error {
	return c.within("IRD", n, 0, maxDepth, nil, func(cfg *Config) { cfg.IRD = depthSetting(n) })
}

// IRD returns the setting; in DDP mode what startup agreed on.
func (c *Conn) IRD() int {
	if a, ok, cfg := c.agreed(); !ok {
		return depth(cfg.IRD)
	} else {
		return a.IRD
	}
}

// SetORD sets how many RDMA Reads and atomics of this end may be in flight, 0 to 16382.
func (c *Conn) SetORD(n int) error {
	return c.within("ORD", n, 0, maxDepth, nil, func(cfg *Config) { cfg.ORD = depthSetting(n) })
}

// ORD returns the setting; in DDP mode what startup agreed on.
func (c *Conn) ORD() int {
	if a, ok, cfg := c.agreed(); !ok {
		return depth(cfg.ORD)
	} else {
		return a.ORD
	}
}

// depthSetting is the value of Config.IRD or ORD that means n.
func depthSetting(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// SetRecvDepth sets how many buffers the connection posts for Read, 1 to 65535. It must come before
// the first Register, PostRecv, SendCQ or RecvCQ, which make the receive queue: then the error is ErrBusy.
func (c *Conn) SetRecvDepth(n int) error {
	return c.within("RECVDEPTH", n, 1, maxRecvDepth, c.verbs.made.Load, func(cfg *Config) { cfg.RecvDepth = n })
}

// RecvDepth returns the setting.
func (c *Conn) RecvDepth() int { return c.config().recvDepth() }

// SetRecvSize sets how many octets each of the buffers for Read has, 1 to 2147483647.
func (c *Conn) SetRecvSize(octets int) error {
	return c.within("RECVSIZE", octets, 1, maxRecvSize, nil, func(cfg *Config) { cfg.RecvSize = octets })
}

// RecvSize returns the setting.
func (c *Conn) RecvSize() int { return c.config().recvSize() }

// SetCrossover sets from how many octets on a Write in DDP mode is fetched by the peer, see
// Config.Crossover; 0 measures, -1 never does it.
func (c *Conn) SetCrossover(octets int) error {
	return c.within("CROSSOVER", octets, -1, math.MaxInt, nil, func(cfg *Config) { cfg.Crossover = octets })
}

// SetMessages says whether Write and Read in DDP mode are messages, see Config.Messages, or a byte stream.
func (c *Conn) SetMessages(messages bool) error {
	return c.configure(nil, func(cfg *Config) { cfg.Messages = messages })
}

// Messages returns the setting; in DDP mode whether each Write is one message, which it is with a foreign peer, too.
func (c *Conn) Messages() bool {
	if _, ok, cfg := c.agreed(); !ok {
		return cfg.Messages
	}
	return c.verbs.pump.bytes == nil
}
