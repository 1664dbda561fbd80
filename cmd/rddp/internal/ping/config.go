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

// A Config says what a client or a server does. The zero value works, and nil stands for it. It must
// not be changed once it is in use.
type Config struct {
	// Size is the length of a client's ping data in octets: 1 to MaxSize, zero means 64. A server
	// takes pings up to this size; zero means 64 MiB. An rping server takes no more than its own -S
	// says.
	Size int
	// Count is how many pings a client makes. Zero means until the context is done.
	Count int
	// Validate has a client compare what came back with what it sent, octet by octet.
	Validate bool
	// Verbose writes the data of each ping to Out, in rping's words.
	Verbose bool
	// Persistent has a server take connections, several at a time, until the context is done. Without
	// it Serve ends when the first connection that got through MPA startup does.
	Persistent bool
	// Timeout bounds the connecting, MPA startup and each wait for the peer. Zero means 10 s.
	Timeout time.Duration

	// Out gets the ping data if Verbose is set, with one Write for each ping. Nil discards them.
	Out io.Writer
	// Failed is told of each connection that failed while the server goes on. It may be called from
	// several goroutines at a time. Nil ignores them.
	Failed func(peer net.Addr, err error)
	// Trace gets an event for each step. Nil is off.
	Trace *slog.Logger

	// Socket is how the connections are made. IRD and ORD of zero mean 1 here, as in rping. The
	// capability record is always left out, Timeout is the HandshakeTimeout, and the completion
	// queues are the connection's own.
	Socket extsock.Config
}

const (
	// MaxSize is the largest Size, in octets.
	MaxSize = 1 << 30

	defaultSize    = 64
	defaultLimit   = 64 << 20
	defaultTimeout = 10 * time.Second

	// maxClose bounds what the close waits for: nothing that matters is under way then.
	maxClose = 2 * time.Second
	// grace is what a ping under way has left when the context is done.
	grace = time.Second
	// maxConns is the maximum number of a server's connections that have made a ping, and again of those that have
	// got through MPA startup and not made one yet. Of the latter the oldest goes if there are more.
	maxConns = 1024
	// receives is how many buffers are posted. The protocol needs one; a second takes what a peer
	// that is ahead of it sends.
	receives = 2
)

func (c *Config) size() int {
	if c.Size == 0 {
		return defaultSize
	}
	return c.Size
}

// limit is the longest ping data that a server takes.
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
	if c.Timeout < 0 {
		return fmt.Errorf("time-out %v is negative", c.Timeout)
	}
	return nil
}

// socket gives the configuration of the connections.
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

// trace notes a step of ping n.
func (c *Config) trace(ctx context.Context, step string, n int, args ...any) {
	if c.Trace != nil {
		c.Trace.DebugContext(ctx, "ping: "+step, append([]any{"ping", n}, args...)...)
	}
}

// log is where a server's failures to accept go.
func (c *Config) log() *slog.Logger {
	if c.Trace == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Trace
}

// show writes the data of a ping the way rping prints a C string.
func (c *Config) show(prefix string, data []byte) {
	if c.Verbose && c.Out != nil {
		line := append([]byte(prefix), text(data)...)
		_, _ = c.Out.Write(append(line, '\n')) // a ping whose text can't be shown is still a ping
	}
}

// ParseRTR gives the set of Ready to Receive kinds (RFC 6581 §5) that a list such as "write,read"
// names. The kinds are send, write and read; the empty list is the zero set.
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
			return 0, fmt.Errorf("%q is no RTR kind: they are send, write and read", name)
		}
	}
	return set, nil
}
