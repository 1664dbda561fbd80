//go:build !linux

package kernel

import (
	"io"
	"net"

	"github.com/rddp/rddp/toe"
)

// Stream is a TCP connection of the operating system. The methods of
// net.TCPConn remain reachable.
type Stream struct {
	*net.TCPConn
	wrapped toe.Stream // of the same connection
}

func newStream(c *net.TCPConn) *Stream { return &Stream{TCPConn: c, wrapped: toe.Wrap(c)} }

func (s *Stream) Read(p []byte) (int, error)                { return s.wrapped.Read(p) }
func (s *Stream) ReadSegment(p []byte) (int, uint64, error) { return s.wrapped.ReadSegment(p) }
func (s *Stream) Readable() error                           { return s.wrapped.Readable() }
func (s *Stream) WriteBatch(bufs [][]byte) error            { return s.wrapped.WriteBatch(bufs) }
func (s *Stream) EMSS() int                                 { return s.wrapped.EMSS() }
func (s *Stream) Close() error                              { return s.wrapped.Close() }

// WriteTo hides that of net.TCPConn, which does not know what Readable has read
// ahead.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{s.wrapped})
}
