package hostile

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/toe"
)

// A script is a TCP connection with a scripted peer. Each read returns one piece. The pieces after
// the gate arrive once this end has written. The FIN follows the last piece.
type script struct {
	toe.NoWatch
	first, then [][]byte
	pends       bool // Pending reports octets that the next read would return

	mu      sync.Mutex
	opened  chan struct{} // closed once this end has written
	closed  chan struct{}
	read    int // octets returned
	off     uint64
	written []byte
	isOpen  bool
}

var _ toe.Stream = (*script)(nil)

func newScript(first, then [][]byte) *script {
	return &script{first: first, then: then, opened: make(chan struct{}), closed: make(chan struct{})}
}

// split cuts b at the offsets.
func split(b []byte, at ...int) (pieces [][]byte) {
	from := 0
	for _, to := range append(at, len(b)) {
		if to > from {
			pieces = append(pieces, b[from:to])
			from = to
		}
	}
	return pieces
}

// octets cuts b into single octets.
func octets(b []byte) (pieces [][]byte) {
	for i := range b {
		pieces = append(pieces, b[i:i+1])
	}
	return pieces
}

func (s *script) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		select {
		case <-s.closed:
			s.mu.Unlock()
			return 0, net.ErrClosed
		default:
		}
		if len(s.first) > 0 {
			n := copy(p, s.first[0])
			if s.first[0] = s.first[0][n:]; len(s.first[0]) == 0 {
				s.first = s.first[1:]
			}
			s.read += n
			s.mu.Unlock()
			return n, nil
		}
		s.mu.Unlock()
		select {
		case <-s.opened:
			s.mu.Lock()
			if s.first, s.then = s.then, nil; len(s.first) == 0 {
				s.mu.Unlock()
				return 0, io.EOF
			}
			s.mu.Unlock()
		case <-s.closed:
		}
	}
}

func (s *script) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	off = s.off
	l.TakeBack()
	n, err = s.Read(l.Lend())
	s.off += uint64(n)
	return n, off, err
}

func (s *script) Pending() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pends || len(s.first) == 0 {
		return 0, nil
	}
	return len(s.first[0]), nil
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, p...)
	s.openLocked()
	return len(p), nil
}

func (s *script) openLocked() {
	if !s.isOpen {
		s.isOpen = true
		close(s.opened)
	}
}

func (s *script) TryWriteBatch(bufs [][]byte) (n int, err error) {
	for _, b := range bufs {
		s.Write(b)
		n += len(b)
	}
	return n, nil
}

func (s *script) WaitWritable() error       { return nil }
func (s *script) Flush(time.Duration) error { return nil }
func (s *script) Abort() error              { return s.Close() }

func (s *script) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Pending: s.pends}
}

// finish ends the script when nothing more will be written.
func (s *script) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openLocked()
}

func (s *script) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// given returns the number of octets read so far.
func (s *script) given() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

func (s *script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isClosed() {
		close(s.closed)
	}
	return nil
}

func (s *script) CloseWrite() error                { return nil }
func (s *script) EMSS() int                        { return toe.DefaultEMSS }
func (s *script) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "local"} }
func (s *script) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "script"} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
