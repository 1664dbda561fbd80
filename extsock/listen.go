package extsock

import (
	"context"
	"net"

	"github.com/rddp/rddp/toe"
)

// A Listener is a net.Listener whose connections are extended sockets.
type Listener struct {
	l   toe.Listener
	cfg *Config
}

var _ net.Listener = (*Listener)(nil)

// Listen listens at address, as net.Listen does for "tcp" and "unix". A nil cfg means the zero Config.
func Listen(network, address string, cfg *Config) (*Listener, error) {
	return ListenContext(context.Background(), network, address, cfg)
}

// ListenContext is Listen with a context for the address look-up.
func ListenContext(ctx context.Context, network, address string, cfg *Config) (*Listener, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	l, err := cfg.backend().Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &Listener{l: l, cfg: cfg}, nil
}

// Accept waits for the next connection, a *Conn in TCP mode whose part in MPA startup is the
// Responder's.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptDDP()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptDDP is Accept with the type it really returns.
func (l *Listener) AcceptDDP() (*Conn, error) {
	s, err := l.l.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(s, false, l.cfg), nil
}

// Close stops listening. Connections that were accepted stay.
func (l *Listener) Close() error { return l.l.Close() }

// Addr returns the address that the Listener has.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }
