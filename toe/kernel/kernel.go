package kernel

import (
	"context"
	"net"

	"github.com/rddp/rddp/toe"
)

// Backend dials and listens with the operating system's TCP. The zero value
// works; the fields are as in package net and must not change in use. Networks
// are "tcp", "tcp4" and "tcp6".
type Backend struct {
	Dialer       net.Dialer
	ListenConfig net.ListenConfig
}

var (
	_ toe.Backend  = (*Backend)(nil)
	_ toe.Stream   = (*Stream)(nil)
	_ toe.Listener = (*listener)(nil)
)

// Dial connects to address. The Stream is of type *Stream.
func (b *Backend) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	if !isTCP(network) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	c, err := b.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return New(c.(*net.TCPConn)), nil
}

// Listen listens at address. The Streams that Accept gives are of type *Stream.
func (b *Backend) Listen(ctx context.Context, network, address string) (toe.Listener, error) {
	if !isTCP(network) {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	l, err := b.ListenConfig.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &listener{l.(*net.TCPListener)}, nil
}

func isTCP(network string) bool {
	return network == "tcp" || network == "tcp4" || network == "tcp6"
}

// listener gives Streams where a net.TCPListener gives net.Conns.
type listener struct{ *net.TCPListener }

func (l *listener) Accept() (toe.Stream, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return New(c), nil
}

// New makes a Stream of c, which is the Stream's from now on, and switches
// Nagle's algorithm off. The Stream is of type *Stream.
func New(c *net.TCPConn) toe.Stream {
	c.SetNoDelay(true) // an error here is one of a dead connection and comes again
	return newStream(c)
}
