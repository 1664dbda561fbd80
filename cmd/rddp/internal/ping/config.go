package ping

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
)

// A Config configures a client or a server. The zero value works, and nil means the zero value. A
// Config must not change while it is in use.
type Config struct {
	// Size is the length of a client's ping data in bytes: 1 to MaxSize; zero means 64. For a
	// server it is the maximum length of ping data; zero means 64 MiB. The clients of a server get
	// 64 KiB each, and in addition 256 MiB, or twice the maximum length if that is more, in total.
	// An rping server accepts at most its own -S.
	Size int
	// Count is the number of pings that a client makes. Zero means pings until the context is done.
	Count int
	// Interval is the time from the beginning of a client's ping to the beginning of the next one.
	// If a ping takes longer, or Interval is zero, the next one begins at once.
	Interval time.Duration
	// Validate makes a client compare the data that it received with the data that it sent.
	Validate bool
	// Verbose writes the data of each ping to Out, in the format of rping.
	Verbose bool
	// Persistent makes a server accept connections, several at a time, until the context is done.
	// Without it, Serve ends when the first connection that completes MPA startup ends.
	Persistent bool
	// Timeout bounds connecting, MPA startup and each wait for the peer. Zero means 10 s.
	Timeout time.Duration

	// Out receives the ping data if Verbose is set, with one Write for each ping. If nil, the data
	// is discarded.
	Out io.Writer
	// Pinged, if not nil, is called after each ping of a client, with its number (from 0), its
	// length and its time.
	Pinged func(n, size int, rtt time.Duration)
	// Failed, if not nil, is called for each connection that fails while the server continues.
	// Several goroutines may call it at the same time.
	Failed func(peer net.Addr, err error)
	// Trace receives a record for each step. If nil, nothing is traced.
	Trace *slog.Logger

	// Socket configures the connections. IRD and ORD of zero mean 1 here, as in rping. The
	// capability record is never sent, Timeout replaces HandshakeTimeout, and each connection has
	// its own completion queues.
	Socket extsock.Config
}

const (
	// MaxSize is the maximum Size, in bytes.
	MaxSize = 1 << 30

	defaultSize    = 64
	defaultLimit   = 64 << 20
	defaultTimeout = 10 * time.Second

	// maxClose bounds the time of the close, which does not wait for anything important.
	maxClose = 2 * time.Second
	// grace is the time that the current ping has when the context is done.
	grace = time.Second
	// maxConns is the maximum number of a server's connections that have made a ping. It is also
	// the maximum number of connections that have completed MPA startup but made no ping; if there
	// are more of these, the oldest is closed.
	maxConns = 1024
	// receives is the number of posted buffers. The protocol needs one; the second is for a peer
	// that sends early.
	receives = 2
)

func (c *Config) size() int {
	if c.Size == 0 {
		return defaultSize
	}
	return c.Size
}

// limit returns the maximum length of ping data that a server accepts.
func (c *Config) limit() int {
	if c.Size == 0 {
		return defaultLimit
	}
	return c.Size
}

func (c *Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return defaultTimeout
	}
	return c.Timeout
}

func (c *Config) check() error {
	if c.Size < 0 || c.Size > MaxSize {
		return fmt.Errorf("size %d is not in 1 to %d", c.Size, MaxSize)
	}
	if c.Count < 0 {
		return fmt.Errorf("count %d is negative", c.Count)
	}
	if c.Interval < 0 {
		return fmt.Errorf("interval %v is negative", c.Interval)
	}
	if c.Timeout < 0 {
		return fmt.Errorf("timeout %v is negative", c.Timeout)
	}
	return nil
}

// socket returns the configuration of the connections.
func (c *Config) socket() *extsock.Config {
	s := c.Socket
	s.Startup = extsock.StartupOff
	s.NoCapabilities = true
	if s.IRD == 0 {
		s.IRD = 1
	}
	if s.ORD == 0 {
		s.ORD = 1
	}
	s.RecvDepth, s.SendCQ, s.RecvCQ = receives, nil, nil
	s.HandshakeTimeout = c.timeout()
	if s.CloseTimeout == 0 {
		s.CloseTimeout = min(c.timeout(), maxClose)
	}
	if s.Trace == nil {
		s.Trace = c.Trace
	}
	return &s
}

// trace logs a step of ping n.
func (c *Config) trace(ctx context.Context, step string, n int, args ...any) {
	if c.Trace != nil {
		c.Trace.DebugContext(ctx, "ping: "+step, append([]any{"ping", n}, args...)...)
	}
}

// log returns the log for failures of Accept.
func (c *Config) log() *slog.Logger {
	if c.Trace == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Trace
}

// show writes the data of a ping like rping, as a C string.
func (c *Config) show(prefix string, data []byte) {
	if c.Verbose && c.Out != nil {
		line := append([]byte(prefix), text(data)...)
		_, _ = c.Out.Write(append(line, '\n')) // an error does not affect the ping
	}
}

// ParseRTR returns the set of Ready to Receive kinds (RFC 6581 §5) that a list such as "write,read"
// names. The kinds are send, write and read. The empty list means the zero set.
func ParseRTR(list string) (mpa.RTR, error) {
	var set mpa.RTR
	for name := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(name) {
		case "":
		case "send":
			set |= mpa.RTRSend
		case "write":
			set |= mpa.RTRWrite
		case "read":
			set |= mpa.RTRRead
		default:
			return 0, fmt.Errorf("%q is not an RTR kind; the kinds are send, write and read", name)
		}
	}
	return set, nil
}
