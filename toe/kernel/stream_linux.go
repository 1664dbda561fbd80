package kernel

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/toe"
)

// emssEvery is the number of calls of EMSS between two questions to the kernel. Each question is a
// system call.
const emssEvery = 64

// A Stream is a TCP connection of the operating system. Callers can still use the methods of
// net.TCPConn; SyscallConn and the socket options are safe.
type Stream struct {
	*net.TCPConn
	socket
}

// A UnixStream is a connection over a unix socket. Callers can still use the methods of
// net.UnixConn, except those that send or receive, because they bypass the Stream.
type UnixStream struct {
	*net.UnixConn
	socket
	finished atomic.Bool // CloseWrite has been called
}

// A sysConn is a net.Conn with a file descriptor.
type sysConn interface {
	net.Conn
	syscall.Conn
}

// A socket is the part of a stream that does not depend on the protocol, besides the methods of its
// net.Conn.
type socket struct {
	// Fields used by every read and write come first.
	raw      syscall.RawConn       // of conn
	readFunc func(fd uintptr) bool // tryRead as RawConn calls it: made once, because making it allocates

	// Only the reader uses these. There is one reader at a time.
	off          uint64     // bytes that ReadSegment has read
	lender       toe.Lender // for tryRead, during ReadSegment
	poll         busyPoll
	readN        int              // from tryRead
	readErr      error            // from tryRead
	short        bool             // the last read returned few bytes
	late         bool             // the last ReadSegment that looked found nothing, and waited
	looked       bool             // this ReadSegment has looked
	polls        bool             // this ReadSegment is a PollSegment, which does not wait
	quiet        bool             // reads do not concern the program: see SetQuiet
	hidden       bool             // a quiet read that had waited was hidden since the scheduler last learned of one
	pendingCount uint32           // from countPending
	pendingErr   error            // from countPending
	pendingFunc  func(fd uintptr) // countPending, made by the first Pending

	conn sysConn

	// Only the writer uses these. There is one writer at a time.
	roomFunc func(fd uintptr) bool // pollRoom as RawConn calls it; made by the first wait for room
	room     [1]unix.PollFd        // for pollRoom
	roomErr  error                 // from pollRoom
	bounded  bool                  // boundLocal has looked at the send buffer

	hasEMSS   bool // the kernel knows the EMSS, because the protocol is TCP
	emss      atomic.Int32
	emssCalls atomic.Uint32
	emssFunc  atomic.Pointer[func(fd uintptr)] // askEMSS; nil before the first question

	// long is the number of system calls under way that may move many bytes. The kernel lets one
	// call at a time use the socket, so a short call may have to wait for a long one. The scheduler
	// must know of a short call that waits.
	long atomic.Int32

	// broken is the errno that ended the connection. Linux reports it to only one system call;
	// later calls see a plain end of stream.
	broken atomic.Uint32
	// writes counts the beginnings and the ends of batches, so it is odd while one is being
	// written.
	writes atomic.Uint32

	watch watch
}

func newStream(c *net.TCPConn) *Stream {
	s := &Stream{TCPConn: c}
	s.init(c)
	s.hasEMSS, s.poll.marks = true, true
	return s
}

func newUnixStream(c *net.UnixConn) *UnixStream {
	s := &UnixStream{UnixConn: c}
	s.init(c)
	return s
}

func (s *socket) init(c sysConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		panic("BUG: kernel.New of a nil net.Conn")
	}
	s.conn, s.raw = c, raw
	s.readFunc = s.tryRead
	s.emss.Store(toe.DefaultEMSS)
}

// Ready reports whether ReadSegment would return without waiting. Only the caller of ReadSegment
// may call it.
func (s *socket) Ready() bool {
	errno := syscall.Errno(0)
	if err := s.raw.Control(func(fd uintptr) { errno = peek(fd) }); err != nil || errno == 0 || errno == unix.EINTR {
		return true
	}
	if errno == unix.EAGAIN {
		return false
	}
	s.breakWith(errno) // Linux has reported the error now, and the next call would see an end of stream
	return true
}

// remember records a failure of the connection. When the kernel shows a plain end of stream after a
// failure, remember returns the failure again.
func (s *socket) remember(err error) error {
	if err == io.EOF {
		s.awaitWrite()
		if errno := s.broken.Load(); errno != 0 {
			return s.opError("read", os.NewSyscallError("read", syscall.Errno(errno)))
		}
		return io.EOF
	}
	s.breakWith(err)
	return err
}

// awaitWrite waits until the batch that is being written has ended. Linux may have reported the
// failure of the connection to that call, whose goroutine is then about to record it. A batch never
// waits for the peer.
func (s *socket) awaitWrite() {
	for before := s.writes.Load(); before%2 == 1 && s.writes.Load() == before; {
		runtime.Gosched()
	}
}

// breakWith records the errno in err, unless the errno is EPIPE, which our own CloseWrite may have
// caused.
func (s *socket) breakWith(err error) {
	var errno syscall.Errno
	if errors.As(err, &errno) && errno != unix.EPIPE {
		s.broken.CompareAndSwap(0, uint32(errno))
	}
}

// WaitWritable polls the socket and waits while the kernel reports that the send buffer is full.
// For TCP, a third of the buffer must become free. WaitWritable returns nil for a failed connection
// too; TryWriteBatch then reports the failure.
func (s *socket) WaitWritable() error {
	if s.roomFunc == nil {
		s.roomFunc = s.pollRoom
	}
	if err := s.raw.Write(s.roomFunc); err != nil { // the deadline or Close
		return err
	}
	if s.roomErr != nil {
		return s.opError("write", os.NewSyscallError("write", s.roomErr))
	}
	return nil
}

// pollRoom reports whether there is room or an error. It does not wait.
func (s *socket) pollRoom(fd uintptr) bool {
	for {
		s.room[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT}
		n, err := unix.Poll(s.room[:], 0)
		if err != unix.EINTR {
			s.roomErr = err
			return n > 0 || err != nil
		}
	}
}

// Pending asks the kernel how many bytes it has received in order (SIOCINQ).
func (s *socket) Pending() (int, error) {
	if s.pendingFunc == nil {
		s.pendingFunc = s.countPending
	}
	if err := s.raw.Control(s.pendingFunc); err != nil {
		return 0, err
	}
	if s.pendingErr != nil {
		return 0, s.opError("pending", os.NewSyscallError("ioctl", s.pendingErr))
	}
	return int(s.pendingCount), nil
}

func (s *socket) countPending(fd uintptr) {
	s.pendingCount, s.pendingErr = unix.IoctlGetUint32(int(fd), unix.SIOCINQ)
}

// EMSS asks the kernel in the first of every 64 calls, if the socket is a TCP socket. Two rddp ends
// never call it, because their FPDUs may be longer than a segment. "If the TCP implementation
// allows EMSS to be determined by MPA, that value should be used" (RFC 5044 §5.1)
func (s *socket) EMSS() int {
	if s.hasEMSS && s.emssCalls.Add(1)%emssEvery == 1 {
		f := s.emssFunc.Load()
		if f == nil {
			ask := s.askEMSS
			f = &ask
			s.emssFunc.Store(f)
		}
		s.raw.Control(*f) // an error means that the connection is closed
	}
	return int(s.emss.Load())
}

// askEMSS reads TCP_MAXSEG. For a connection this is the segment size now in use, with path MTU and
// TCP options taken into account. TCP_INFO reports the same number as tcpi_snd_mss.
func (s *socket) askEMSS(fd uintptr) {
	n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	if err == nil && n > 0 {
		s.emss.Store(int32(n))
	}
}

// opError wraps err in a *net.OpError, as package net does.
func (s *socket) opError(op string, err error) error {
	local := s.conn.LocalAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: s.conn.RemoteAddr(), Err: err}
}

// Flush returns nil, because the send buffer belongs to the operating system.
func (s *socket) Flush(time.Duration) error { return nil }

// Close ends the watch first, while the descriptor is open: see endWatch.
func (s *Stream) Close() error {
	defer open(s.endWatch())
	return s.TCPConn.Close()
}

// CloseWrite also ends a wait for room. The kernel does not, unlike for TCP, so the write deadline
// has passed from then on.
func (s *UnixStream) CloseWrite() error {
	if err := s.UnixConn.CloseWrite(); err != nil {
		return err
	}
	s.finished.Store(true)
	return s.UnixConn.SetWriteDeadline(time.Unix(1, 0))
}

// WaitWritable returns nil after CloseWrite: TryWriteBatch fails then.
func (s *UnixStream) WaitWritable() error {
	err := s.socket.WaitWritable()
	if s.finished.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// Write fails with EPIPE after CloseWrite, whatever the deadline.
func (s *UnixStream) Write(p []byte) (int, error) {
	n, err := s.UnixConn.Write(p)
	if s.finished.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = s.opError("write", os.NewSyscallError("write", syscall.EPIPE))
	}
	return n, err
}

// Close ends the watch first, while the descriptor is open: see endWatch.
func (s *UnixStream) Close() error {
	defer open(s.endWatch())
	return s.UnixConn.Close()
}

// Abort resets the connection, by SetLinger(0) and Close.
func (s *Stream) Abort() error {
	s.SetLinger(0) // an error means that the connection is closed, and Close returns it too
	return s.Close()
}

// Abort closes the connection. The kernel resets a unix socket only if this end has not read all
// bytes; otherwise the peer sees an orderly end.
func (s *UnixStream) Abort() error { return s.Close() }

// Capabilities returns the capabilities of a TCP socket.
func (s *Stream) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Reset: true, Pending: true, Watch: toe.WatchOutside}
}

// Capabilities returns the capabilities of a unix socket, which has no reset.
func (s *UnixStream) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Pending: true, Watch: toe.WatchOutside}
}
