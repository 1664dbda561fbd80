package extsock

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// A Listener is a net.Listener whose connections are extended sockets.
type Listener struct {
	l    toe.Listener
	cfg  *Config
	door *door
}

var _ net.Listener = (*Listener)(nil)

// A ListenConfig makes Listeners, as net.ListenConfig does. The zero value works.
type ListenConfig struct {
	// ListenConfig has the settings of the operating system's TCP; they are used where
	// Config.Backend is nil.
	net.ListenConfig
	// Config says how the connections behave. Nil means the zero Config.
	Config *Config
}

// Listen listens at address. The Listener is a *Listener. Networks are those of Config.Backend. ctx bounds
// the address look-up.
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := lc.listen(ctx, network, address)
	if err != nil {
		return nil, err // and not a nil *Listener in an interface
	}
	return l, nil
}

func (lc *ListenConfig) listen(ctx context.Context, network, address string) (*Listener, error) {
	cfg := lc.Config
	if cfg == nil {
		cfg = &Config{}
	}
	backend := cfg.Backend
	if backend == nil {
		backend = &kernel.Backend{ListenConfig: lc.ListenConfig}
	}
	l, err := backend.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &Listener{l: l, cfg: cfg, door: newDoor(cfg)}, nil
}

// Listen listens at address, as net.Listen does for "tcp". A nil cfg means the zero Config.
func Listen(network, address string, cfg *Config) (*Listener, error) {
	return ListenContext(context.Background(), network, address, cfg)
}

// ListenContext is Listen with a context for the address look-up.
func ListenContext(ctx context.Context, network, address string, cfg *Config) (*Listener, error) {
	return (&ListenConfig{Config: cfg}).listen(ctx, network, address)
}

// NewListener makes a Listener of any other one, whose connections become extended sockets as by
// NewConn; Config.Backend is not used. The Listener owns l from now on. A nil cfg means the zero Config.
func NewListener(l net.Listener, cfg *Config) *Listener {
	if cfg == nil {
		cfg = &Config{}
	}
	return &Listener{l: foreign{l}, cfg: cfg, door: newDoor(cfg)}
}

// foreign gives Streams where a net.Listener gives net.Conns.
type foreign struct{ net.Listener }

func (f foreign) Accept() (toe.Stream, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return streamOf(c), nil
}

// Accept waits for the next connection, a *Conn in TCP mode whose part in MPA startup is the
// Responder's. It waits for nothing that the peer has to send: TLS and Config.Startup come with the
// connection's first use.
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
	var c *Conn
	if l.cfg.TLS != nil {
		c = NewConn(tls.Server(s, l.cfg.TLS), false, l.cfg)
	} else {
		c = newConn(s, false, l.cfg)
	}
	c.door = l.door
	return c, nil
}

// Close stops listening. Connections that were accepted stay.
func (l *Listener) Close() error { return l.l.Close() }

// Addr returns the address that the Listener has.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }
