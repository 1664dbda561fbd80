package extsock

import (
	"context"
	"errors"
	"net"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// Dial connects to address, as net.Dial does for "tcp" and "unix". The connection is in TCP mode unless
// Config.Startup says otherwise, and its part in MPA startup is the Initiator's. A nil cfg means the
// zero Config.
func Dial(network, address string, cfg *Config) (*Conn, error) {
	return DialContext(context.Background(), network, address, cfg)
}

// DialContext is Dial with a context, which bounds the connecting and, with StartupRequire, the
// switch to DDP mode, but not the life of the connection.
func DialContext(ctx context.Context, network, address string, cfg *Config) (*Conn, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	s, err := cfg.backend().Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := newConn(s, true, cfg)
	if cfg.Startup == StartupOff {
		return c, nil
	}
	err = c.EnableDDP(ctx, nil)
	if err == nil {
		return c, nil
	}
	c.Close()
	// A Responder of RFC 5044's time closes at a revision it does not know; RFC 6581 §10 allows to try
	// again without the enhancements, on a new connection.
	if errors.Is(err, ErrNoReply) && cfg.Revision == 0 && !cfg.PeerToPeer {
		older := *cfg
		older.Revision = 1
		return DialContext(ctx, network, address, &older)
	}
	return nil, err
}

// streamOf makes a Stream of a net.Conn.
func streamOf(c net.Conn) toe.Stream {
	switch c := c.(type) {
	case toe.Stream:
		return c
	case *net.TCPConn:
		return kernel.New(c)
	case *net.UnixConn:
		return kernel.NewUnix(c)
	}
	return toe.Wrap(c)
}
