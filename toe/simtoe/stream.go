package simtoe

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// An Addr is the address of one side of a connection, or of a Listener.
type Addr struct{ Net, Address string }

func (a Addr) Network() string { return a.Net }
func (a Addr) String() string  { return a.Address }

// A Stream is one side of a connection. Any goroutine may call its methods.
type Stream struct {
	mu  *locks.Mutex[locks.Simulator] // of both sides of the connection; guards the halves
	out *half
	in  *half

	local  Addr
	remote Addr
	emss   atomic.Int64
	// Close resets the connection.
	abortive bool // +checklocks:mu
}

var _ toe.Stream = (*Stream)(nil)

// Pair returns the two sides of a new connection. Config a applies to what the first side sends,
// and b to what the second side sends. If a and b are equal, the two directions still differ in
// their runs. The Streams are of type *Stream.
func Pair(a, b Config) (toe.Stream, toe.Stream) {
	x, y := newPair(a, b, 0, Addr{"sim", "a"}, Addr{"sim", "b"})
	return x, y
}

// newPair makes a connection. number distinguishes connections that have the same seeds.
func newPair(a, b Config, number uint64, aAddr, bAddr Addr) (x, y *Stream) {
	mu := new(locks.Mutex[locks.Simulator])
	ab, ba := newHalf(a, 2*number, mu), newHalf(b, 2*number+1, mu)
	ab.peer, ba.peer = ba, ab
	x = &Stream{mu: mu, out: ab, in: ba, local: aAddr, remote: bAddr}
	y = &Stream{mu: mu, out: ba, in: ab, local: bAddr, remote: aAddr}
	x.SetEMSS(a.emss())
	y.SetEMSS(b.emss())
	return x, y
}

// Read reads bytes in order, at most one run at a time.
func (s *Stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.in.read(p)
	return n, s.opError("read", err)
}

// ReadSegment reads one run, early or in order, as far as it has arrived and fits the memory of l.
// An early run is shown once; if it does not fit, the rest of it comes only in order. ReadSegment
// ignores the patience, because a goroutine that waits in a simulator costs nothing.
func (s *Stream) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	for {
		if off, err = s.waitSegment(l); err != nil {
			return 0, off, s.opError("read", err)
		}
		p := l.Lend() // without the lock, because l may take locks of its own
		s.mu.Lock()
		n, off = s.in.readSegment(p)
		s.mu.Unlock()
		if n > 0 || len(p) == 0 {
			return n, off, nil
		}
	}
}

// PollSegment is ReadSegment without the wait. It looks a few times within the patience.
func (s *Stream) PollSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	const looks = 8
	for range looks {
		if _, ready := s.lookSegment(); ready {
			return s.ReadSegment(l, 0)
		}
		time.Sleep(patience / looks)
	}
	off, _ = s.lookSegment()
	return 0, off, nil
}

// lookSegment reports whether there is something to read. off is the next offset in order.
func (s *Stream) lookSegment() (off uint64, ready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.beginSegments()
	return s.in.next - s.in.base, s.in.hasSegment()
}

// waitSegment waits until there is something to read. Before it waits, it calls l.TakeBack. off is
// the next offset in order.
func (s *Stream) waitSegment(l toe.Lender) (off uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.beginSegments()
	if !s.in.hasSegment() {
		locks.Unlocked(s.mu, func() { l.TakeBack() })
	}
	err = s.in.waitSegment()
	return s.in.next - s.in.base, err
}

// Watch opens g when something has arrived.
func (s *Stream) Watch(g *toe.Gate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.readable.gate = g
	if s.in.hasSegment() {
		s.in.readable.Broadcast()
	}
	return true
}

func (s *Stream) Unwatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.readable.gate = nil
}

// Pending returns the number of bytes that Read could return now.
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

// TryWriteBatch writes as much of bufs as the window has room for.
func (s *Stream) TryWriteBatch(bufs [][]byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.out.write(bufs, false)
	return n, s.opError("write", err)
}

// WaitWritable waits until the window has room and no write is in progress. A window that was full
// has room when half of it is free.
func (s *Stream) WaitWritable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opError("write", s.out.waitWritable())
}

// CloseWrite sends a FIN after what was written.
func (s *Stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.writeClosed {
		return s.opError("close", net.ErrClosed)
	}
	s.out.closeWrite()
	return nil
}

// Flush returns nil, because everything written is in the network.
func (s *Stream) Flush(time.Duration) error { return nil }

// Close ends both directions. What was written before still arrives; what was not read is lost.
// Further calls do nothing.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
	return nil
}

// Abort resets the connection. The peer reads what was written before, and then sees the reset.
// Abort of a closed Stream does nothing.
func (s *Stream) Abort() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.out.writeClosed {
		s.abortive = true
	}
	s.closeLocked()
	return nil
}

// +checklocks:s.mu
func (s *Stream) closeLocked() {
	s.out.writeClosed = true
	s.out.writeDeadline.Stop()
	if s.abortive && !s.out.silent {
		s.out.reset, s.in.reset = true, true
	}
	s.out.closeWrite()
	s.in.closeRead(!s.out.silent)
}

// SetLinger(0) makes Close reset the connection, as it does for a net.TCPConn. Any other value
// makes Close orderly again.
func (s *Stream) SetLinger(seconds int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.writeClosed {
		return s.opError("set", net.ErrClosed)
	}
	s.abortive = seconds == 0
	return nil
}

// Capabilities returns the capabilities of TCP. EarlyRuns depends on the Config of the peer's side.
func (s *Stream) Capabilities() toe.Capabilities {
	return toe.Capabilities{
		Deadlines: true, HalfClose: true, Reset: true, Pending: true, Watch: toe.WatchInside, EarlyRuns: s.in.cfg.Early > 0,
	}
}

// EMSS returns Config.EMSS, or the value of the last SetEMSS.
func (s *Stream) EMSS() int { return int(s.emss.Load()) }

// SetEMSS sets the result of EMSS, like a change of the path MTU.
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
	s.in.readDeadline.Set(t, &s.in.readable.Cond)
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

// opError wraps err in a *net.OpError, unless err is io.EOF. Package net does the same.
func (s *Stream) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: s.local.Net, Source: s.local, Addr: s.remote, Err: err}
}
