package simtoe

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/toe"
)

// Addr is the address of one side of a connection, or of a Listener.
type Addr struct{ Net, Address string }

func (a Addr) Network() string { return a.Net }
func (a Addr) String() string  { return a.Address }

// Stream is one side of a connection. It implements toe.Stream, toe.TryWriter,
// toe.WaitWriter and toe.Pender, and all of its methods may be called from any
// goroutine.
type Stream struct {
	mu  *sync.Mutex // of both sides; guards the halves
	out *half
	in  *half

	local  Addr
	remote Addr
	emss   atomic.Int64
	// Close is a reset
	abortive bool // +checklocks:mu
}

var (
	_ toe.Stream     = (*Stream)(nil)
	_ toe.TryWriter  = (*Stream)(nil)
	_ toe.WaitWriter = (*Stream)(nil)
	_ toe.Pender     = (*Stream)(nil)
)

// Pair returns the two sides of a new connection. What side a sends goes as a
// says, what side b sends as b says; with the same Config the two directions
// still differ. The Streams are of type *Stream.
func Pair(a, b Config) (toe.Stream, toe.Stream) {
	x, y := newPair(a, b, 0, Addr{"sim", "a"}, Addr{"sim", "b"})
	return x, y
}

// newPair makes the number-th connection of those with the same seeds.
func newPair(a, b Config, number uint64, aAddr, bAddr Addr) (x, y *Stream) {
	mu := new(sync.Mutex)
	ab, ba := newHalf(a, 2*number, mu), newHalf(b, 2*number+1, mu)
	ab.peer, ba.peer = ba, ab
	x = &Stream{mu: mu, out: ab, in: ba, local: aAddr, remote: bAddr}
	y = &Stream{mu: mu, out: ba, in: ab, local: bAddr, remote: aAddr}
	x.SetEMSS(a.emss())
	y.SetEMSS(b.emss())
	return x, y
}

// Read gives octets in order, at most one run at a time.
func (s *Stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.in.read(p)
	return n, s.opError("read", err)
}

// ReadSegment gives one run, or what has arrived of it and fits p, in order or
// early. An early run is given once; what does not fit p of it is not given
// early.
func (s *Stream) ReadSegment(p []byte) (n int, off uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, off, err = s.in.readSegment(p)
	return n, off, s.opError("read", err)
}

// Readable waits until ReadSegment would not block.
func (s *Stream) Readable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opError("read", s.in.waitReadable())
}

// Pending returns the number of octets that Read could give now.
func (s *Stream) Pending() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in.readClosed {
		return 0, s.opError("pending", net.ErrClosed)
	}
	return s.in.pending(), nil
}

func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.out.write([][]byte{p}, true)
	return n, s.opError("write", err)
}

// WriteBatch writes bufs and does not change it.
func (s *Stream) WriteBatch(bufs [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.write(bufs, true)
	return s.opError("write", err)
}

// TryWriteBatch writes as much of bufs as the window has room for.
func (s *Stream) TryWriteBatch(bufs [][]byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.out.write(bufs, false)
	return n, s.opError("write", err)
}

// WaitWritable waits until the window has room, half of it when it was full, and
// no write is under way.
func (s *Stream) WaitWritable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opError("write", s.out.waitWritable())
}

// CloseWrite sends a FIN behind what was written.
func (s *Stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.writeClosed {
		return s.opError("close", net.ErrClosed)
	}
	s.out.closeWrite()
	return nil
}

// Close ends both directions. What was written before still arrives; what was
// not read is lost. Closing again does nothing.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.writeClosed = true
	s.out.writeDeadline.Stop()
	if s.abortive && !s.out.silent {
		s.out.reset, s.in.reset = true, true
	}
	s.out.closeWrite()
	s.in.closeRead(!s.out.silent)
	return nil
}

// SetLinger with 0 seconds makes Close a reset, as that of a net.TCPConn; other values change nothing else.
func (s *Stream) SetLinger(seconds int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.writeClosed {
		return s.opError("set", net.ErrClosed)
	}
	s.abortive = seconds == 0
	return nil
}

// EMSS returns Config.EMSS or what SetEMSS set.
func (s *Stream) EMSS() int { return int(s.emss.Load()) }

// SetEMSS changes what EMSS returns, as a new path MTU does.
func (s *Stream) SetEMSS(n int) { s.emss.Store(int64(n)) }

func (s *Stream) LocalAddr() net.Addr  { return s.local }
func (s *Stream) RemoteAddr() net.Addr { return s.remote }

func (s *Stream) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

func (s *Stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in.readClosed {
		return s.opError("set", net.ErrClosed)
	}
	s.in.readDeadline.Set(t, &s.in.readable)
	return nil
}

func (s *Stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.writeClosed {
		return s.opError("set", net.ErrClosed)
	}
	s.out.writeDeadline.Set(t, &s.out.writable)
	return nil
}

// opError makes err a *net.OpError, as package net does for all but io.EOF.
func (s *Stream) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: s.local.Net, Source: s.local, Addr: s.remote, Err: err}
}
