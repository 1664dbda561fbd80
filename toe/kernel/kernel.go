package kernel

import (
	"context"
	"net"

	"github.com/rddp/rddp/toe"
)

// Backend dials and listens with the operating system's TCP. The zero value
// works; the fields are as in package net and must not change in use. Networks
// are "tcp", "tcp4", "tcp6" and "unix".
type Backend struct {
	Dialer       net.Dialer
	ListenConfig net.ListenConfig
}

var (
	_ toe.Backend  = (*Backend)(nil)
	_ toe.Stream   = (*Stream)(nil)
	_ toe.Stream   = (*UnixStream)(nil)
	_ toe.Listener = (*listener)(nil)
	_ toe.Listener = (*unixListener)(nil)
)

// Dial connects to address. The Stream is of type *Stream, or *UnixStream.
func (b *Backend) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	if !isKnown(network) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	c, err := b.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if c, ok := c.(*net.UnixConn); ok {
		return NewUnix(c), nil
	}
	return New(c.(*net.TCPConn)), nil
}

// Listen listens at address. The Streams that Accept gives are of type *Stream,
// or *UnixStream.
func (b *Backend) Listen(ctx context.Context, network, address string) (toe.Listener, error) {
	if !isKnown(network) {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	l, err := b.ListenConfig.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if l, ok := l.(*net.UnixListener); ok {
		return &unixListener{l}, nil
	}
	return &listener{l.(*net.TCPListener)}, nil
}

func isKnown(network string) bool {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
		return true
	}
	return false
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

// unixListener gives Streams where a net.UnixListener gives net.Conns.
type unixListener struct{ *net.UnixListener }

func (l *unixListener) Accept() (toe.Stream, error) {
	c, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return NewUnix(c), nil
}

// New makes a Stream of c, which is the Stream's from now on, and switches
// Nagle's algorithm off. The Stream is of type *Stream.
func New(c *net.TCPConn) toe.Stream {
	c.SetNoDelay(true) // an error here is one of a dead connection and comes again
	return newStream(c)
}

// NewUnix makes a Stream of c, which is the Stream's from now on and must be of
// network "unix". The Stream is of type *UnixStream.
func NewUnix(c *net.UnixConn) toe.Stream { return newUnixStream(c) }
