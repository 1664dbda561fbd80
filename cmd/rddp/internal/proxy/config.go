package proxy

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/rddp/rddp/extsock"
)

// A Config says how a Proxy behaves. The zero value works, and nil stands for it. It must not be changed
// while the Proxy uses it.
type Config struct {
	// Timeout bounds each connecting, and MPA startup. Zero means DefaultTimeout.
	Timeout time.Duration
	// Idle ends a connection on which no octet has moved for so long. Zero means never.
	Idle time.Duration
	// Grace is what the connections under way have left when Serve is told to end. Zero means DefaultGrace,
	// negative means none.
	Grace time.Duration
	// MaxConns is the maximum number of connections at a time; each needs 128 KiB, and up to 3 MiB if a reader is
	// slow. An exit counts a connection once the entrance's MPA Request is here. If there are more, the oldest
	// connection ends of which the accepted side has sent nothing yet. If all of them have sent something, the
	// newest is refused: an entrance resets it, an exit rejects it. Zero means DefaultMaxConns.
	MaxConns int

	// Ended is told of each connection when it has ended. It may be called from several goroutines at a
	// time. Nil ignores them.
	Ended func(Summary)
	// Log gets an event for what concerns no connection, or none that was taken. Nil is off.
	Log *slog.Logger
	// Socket says how the DDP connections behave. The Startup, Messages, completion queues and
	// HandshakeTimeout are the Proxy's.
	Socket extsock.Config
}

const (
	DefaultTimeout  = 10 * time.Second
	DefaultGrace    = 5 * time.Second
	DefaultMaxConns = 1024
)

func (c *Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

func (c *Config) grace() time.Duration {
	if c.Grace == 0 {
		return DefaultGrace
	}
	return max(c.Grace, 0)
}

func (c *Config) maxConns() int {
	if c.MaxConns == 0 {
		return DefaultMaxConns
	}
	return c.MaxConns
}

func (c *Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

func (c *Config) check() error {
	switch {
	case c.Timeout < 0:
		return fmt.Errorf("time-out %v is negative", c.Timeout)
	case c.Idle < 0:
		return fmt.Errorf("idle time-out %v is negative", c.Idle)
	case c.MaxConns < 0:
		return fmt.Errorf("%d connections are negative", c.MaxConns)
	}
	return nil
}

// socket gives the configuration of the DDP connections.
func (c *Config) socket() extsock.Config {
	s := c.Socket
	s.Startup = extsock.StartupRequire
	s.Messages, s.SendCQ, s.RecvCQ, s.SRQ = false, nil, nil, nil
	s.HandshakeTimeout = c.timeout()
	return s
}
