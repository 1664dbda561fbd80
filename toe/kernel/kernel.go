package kernel

import (
	"context"
	"net"

	"github.com/rddp/rddp/toe"
)

// Backend dials and listens with the operating system's TCP and unix sockets. The zero value works.
// The fields are those of package net and must not change while the Backend is in use. The networks
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

// Dial connects to address. The Stream is of type *Stream, or of type *UnixStream for network
// "unix".
func (b *Backend) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	if !isKnown(network) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	c, err := b.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if c, ok := c.(*net.UnixConn); ok {
		return newUnixStream(c), nil
	}
	return newStream(c.(*net.TCPConn)), nil // package net has switched Nagle's algorithm off
}

// Listen listens at address. The Streams that Accept returns are of type *Stream, or of type
// *UnixStream for network "unix".
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

// A listener is a net.TCPListener whose Accept returns Streams.
type listener struct{ *net.TCPListener }

func (l *listener) Accept() (toe.Stream, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return newStream(c), nil // package net has switched Nagle's algorithm off
}

// A unixListener is a net.UnixListener whose Accept returns Streams.
type unixListener struct{ *net.UnixListener }

func (l *unixListener) Accept() (toe.Stream, error) {
	c, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return newUnixStream(c), nil
}

// New makes a Stream of c and switches Nagle's algorithm off. The Stream owns c from now on. It is
// of type *Stream.
func New(c *net.TCPConn) toe.Stream {
	c.SetNoDelay(true) // an error means that the connection is dead, and later calls return it too
	return newStream(c)
}

// NewUnix makes a Stream of c, whose network must be "unix". The Stream owns c from now on. It is
// of type *UnixStream.
func NewUnix(c *net.UnixConn) toe.Stream { return newUnixStream(c) }
