//go:build !linux

package kernel

import (
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
)

// A Stream is a TCP connection of the operating system. Callers can still use the methods of
// net.TCPConn.
type Stream struct {
	toe.NoWatch
	*net.TCPConn
	socket
}

// A UnixStream is a connection over a unix socket. Callers can still use the methods of
// net.UnixConn, except those that send or receive, because they bypass the Stream.
type UnixStream struct {
	toe.NoWatch
	*net.UnixConn
	socket
}

func newStream(c *net.TCPConn) *Stream { return &Stream{TCPConn: c, socket: socket{netconn.New(c)}} }

func newUnixStream(c *net.UnixConn) *UnixStream {
	return &UnixStream{UnixConn: c, socket: socket{netconn.New(c)}}
}

func (s *Stream) Read(p []byte) (int, error)         { return s.adapter.Read(p) }
func (s *Stream) Write(p []byte) (int, error)        { return s.adapter.Write(p) }
func (s *Stream) Close() error                       { return s.adapter.Close() }
func (s *Stream) CloseWrite() error                  { return s.adapter.CloseWrite() }
func (s *Stream) SetDeadline(t time.Time) error      { return s.adapter.SetDeadline(t) }
func (s *Stream) SetReadDeadline(t time.Time) error  { return s.adapter.SetReadDeadline(t) }
func (s *Stream) SetWriteDeadline(t time.Time) error { return s.adapter.SetWriteDeadline(t) }

func (s *UnixStream) Read(p []byte) (int, error)         { return s.adapter.Read(p) }
func (s *UnixStream) Write(p []byte) (int, error)        { return s.adapter.Write(p) }
func (s *UnixStream) Close() error                       { return s.adapter.Close() }
func (s *UnixStream) CloseWrite() error                  { return s.adapter.CloseWrite() }
func (s *UnixStream) SetDeadline(t time.Time) error      { return s.adapter.SetDeadline(t) }
func (s *UnixStream) SetReadDeadline(t time.Time) error  { return s.adapter.SetReadDeadline(t) }
func (s *UnixStream) SetWriteDeadline(t time.Time) error { return s.adapter.SetWriteDeadline(t) }

// WriteTo replaces net.TCPConn.WriteTo, which would miss the bytes that the adapter has read ahead.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{s.adapter})
}

// A socket is the part of a stream that does not depend on the protocol, besides the methods of its
// net.Conn.
type socket struct {
	adapter toe.Stream // of the same connection
}

func (s *socket) ReadSegment(l toe.Lender, patience time.Duration) (int, uint64, error) {
	return s.adapter.ReadSegment(l, patience)
}
func (s *socket) Pending() (int, error)                    { return s.adapter.Pending() }
func (s *socket) TryWriteBatch(bufs [][]byte) (int, error) { return s.adapter.TryWriteBatch(bufs) }
func (s *socket) WaitWritable() error                      { return s.adapter.WaitWritable() }
func (s *socket) Flush(timeout time.Duration) error        { return s.adapter.Flush(timeout) }
func (s *socket) Abort() error                             { return s.adapter.Abort() }
func (s *socket) EMSS() int                                { return s.adapter.EMSS() }
func (s *socket) Capabilities() toe.Capabilities           { return s.adapter.Capabilities() }
