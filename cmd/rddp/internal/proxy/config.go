package proxy

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/rddp/rddp/extsock"
)

// A Config configures a Proxy. The zero value works, and nil means the zero value. A Config must
// not change while the Proxy uses it.
type Config struct {
	// Timeout bounds each attempt to connect, and MPA startup. Zero means DefaultTimeout.
	Timeout time.Duration
	// Idle is the time after which a connection is closed if no byte moves. Zero means never.
	Idle time.Duration
	// Grace is the time that connections have to end when the context of Serve is done. Zero means
	// DefaultGrace, negative means none.
	Grace time.Duration
	// MaxConns is the maximum number of connections at a time. Each needs 128 KiB, and up to 3 MiB
	// if a reader is slow. An exit counts a connection once the entrance's MPA Request has arrived.
	// If there are too many, the Proxy closes a connection whose accepted side has sent nothing:
	// the oldest one of the address with the most such connections. If all have sent something, the
	// Proxy closes a connection of an address that has more than its share, or refuses the newest:
	// an entrance resets it, and an exit rejects it. The package comment has the rules. Zero means
	// DefaultMaxConns.
	MaxConns int

	// Fallback lets an entrance connect in plain TCP, to the same address, if the peer there does
	// not speak DDP. If TLS is on, that connection has TLS too. The Log says why.
	Fallback bool
	// HeaderFrom are the sources whose connections must begin with a header of the PROXY protocol,
	// version 1 or 2, within Timeout. It names the client. Connections from other sources have no
	// header: bytes that look like one are the client's data.
	HeaderFrom []netip.Prefix
	// SendHeader is the version, 1 or 2, of the PROXY header that the Proxy sends first on each
	// connection that it dials. It names the client and the address that it connected to. Zero
	// means none.
	SendHeader int

	// Ended, if not nil, is called for each connection that has ended. Several goroutines may call
	// it at the same time.
	Ended func(Summary)
	// Log receives events that do not concern an accepted connection. If nil, nothing is logged.
	Log *slog.Logger
	// TLS returns the TLS configuration for the next connection of an entrance to its exit. A nil
	// function, or a nil result, means no TLS. An exit uses Socket.TLS instead.
	TLS func() *tls.Config
	// Socket configures the DDP connections. The Proxy sets the Startup, Messages, completion
	// queues and HandshakeTimeout itself.
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
		return fmt.Errorf("timeout %v is negative", c.Timeout)
	case c.Idle < 0:
		return fmt.Errorf("idle timeout %v is negative", c.Idle)
	case c.MaxConns < 0:
		return fmt.Errorf("the maximum of %d connections is negative", c.MaxConns)
	case c.SendHeader < 0 || c.SendHeader > 2:
		return fmt.Errorf("there is no version %d of the PROXY protocol", c.SendHeader)
	}
	return nil
}

// socket returns the configuration of the DDP connections.
func (c *Config) socket() extsock.Config {
	s := c.Socket
	s.Startup = extsock.StartupRequire
	s.Messages, s.SendCQ, s.RecvCQ, s.SRQ = false, nil, nil, nil
	s.HandshakeTimeout = c.timeout()
	return s
}
