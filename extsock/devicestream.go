package extsock

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/rnic"
)

// A deviceStream takes the place of the Stream that a connection in this process has. Only the
// device sees the bytes, so a deviceStream has the addresses and Close, and little else.
type deviceStream struct{ qp rnic.QP }

var _ toe.Stream = (*deviceStream)(nil)

func (s *deviceStream) LocalAddr() net.Addr  { return s.qp.LocalAddr() }
func (s *deviceStream) RemoteAddr() net.Addr { return s.qp.RemoteAddr() }

func (s *deviceStream) Close() error                        { return s.qp.Close() }
func (s *deviceStream) Abort() error                        { return s.qp.Close() }
func (s *deviceStream) EMSS() int                           { return toe.DefaultEMSS }
func (s *deviceStream) Capabilities() toe.Capabilities      { return toe.Capabilities{} }
func (s *deviceStream) Flush(time.Duration) error           { return nil }
func (s *deviceStream) Read([]byte) (int, error)            { return 0, errors.ErrUnsupported }
func (s *deviceStream) Write([]byte) (int, error)           { return 0, errors.ErrUnsupported }
func (s *deviceStream) CloseWrite() error                   { return errors.ErrUnsupported }
func (s *deviceStream) SetDeadline(time.Time) error         { return os.ErrNoDeadline }
func (s *deviceStream) SetReadDeadline(time.Time) error     { return os.ErrNoDeadline }
func (s *deviceStream) SetWriteDeadline(time.Time) error    { return os.ErrNoDeadline }
func (s *deviceStream) Watch(*toe.Gate) bool                { return false }
func (s *deviceStream) Unwatch()                            {}
func (s *deviceStream) Pending() (int, error)               { return 0, errors.ErrUnsupported }
func (s *deviceStream) WaitWritable() error                 { return errors.ErrUnsupported }
func (s *deviceStream) TryWriteBatch([][]byte) (int, error) { return 0, errors.ErrUnsupported }

func (s *deviceStream) ReadSegment(toe.Lender, time.Duration) (n int, off uint64, err error) {
	return 0, 0, errors.ErrUnsupported
}
