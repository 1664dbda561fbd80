//go:build !linux

package kernel

import (
	"io"
	"net"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
)

// Stream is a TCP connection of the operating system. The methods of
// net.TCPConn remain reachable.
type Stream struct {
	*net.TCPConn
	socket
}

// UnixStream is a connection over a unix socket. The methods of net.UnixConn
// remain reachable; what sends or receives goes around the Stream and is not to
// be used.
type UnixStream struct {
	*net.UnixConn
	socket
}

func newStream(c *net.TCPConn) *Stream { return &Stream{c, socket{netconn.New(c)}} }

func newUnixStream(c *net.UnixConn) *UnixStream { return &UnixStream{c, socket{netconn.New(c)}} }

func (s *Stream) Read(p []byte) (int, error)     { return s.wrapped.Read(p) }
func (s *Stream) Close() error                   { return s.wrapped.Close() }
func (s *UnixStream) Read(p []byte) (int, error) { return s.wrapped.Read(p) }
func (s *UnixStream) Close() error               { return s.wrapped.Close() }

// WriteTo hides that of net.TCPConn, which does not know what Readable has read
// ahead.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{s.wrapped})
}

// socket is what a stream has beside the methods of its net.Conn, whatever the
// protocol.
type socket struct {
	wrapped toe.Stream // of the same connection
}

func (s *socket) ReadSegment(p []byte) (int, uint64, error) { return s.wrapped.ReadSegment(p) }
func (s *socket) Readable() error                           { return s.wrapped.Readable() }
func (s *socket) WriteBatch(bufs [][]byte) error            { return s.wrapped.WriteBatch(bufs) }
func (s *socket) EMSS() int                                 { return s.wrapped.EMSS() }
