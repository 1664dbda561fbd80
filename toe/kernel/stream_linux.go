package kernel

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/toe"
)

// emssEvery is after how many calls of EMSS the kernel is asked again. Asking
// is a system call.
const emssEvery = 64

// Stream is a TCP connection of the operating system. The methods of net.TCPConn remain reachable;
// SyscallConn and the socket options do no harm.
type Stream struct {
	*net.TCPConn
	socket
}

// UnixStream is a connection over a unix socket. The methods of net.UnixConn remain reachable, but
// those that send or receive bypass the Stream and must not be used.
type UnixStream struct {
	*net.UnixConn
	socket
}

// sysConn is a net.Conn with a file descriptor.
type sysConn interface {
	net.Conn
	syscall.Conn
}

// socket is what a stream has beside the methods of its net.Conn, whatever the protocol.
type socket struct {
	conn    sysConn
	raw     syscall.RawConn // of the same connection
	network string          // for errors

	// The methods that RawConn calls. They are made into functions once, so that passing them costs
	// no allocation.
	readFunc, roomFunc    func(fd uintptr) bool
	pendingFunc, emssFunc func(fd uintptr)

	// Only the one reader uses these.
	off          uint64        // bytes that ReadSegment has given
	lender       toe.Lender    // for tryRead, during ReadSegment
	patience     time.Duration // for tryRead
	readN        int           // from tryRead
	readErr      error         // from tryRead
	pendingCount uint32        // from countPending
	pendingErr   error         // from countPending

	// Only the one writer uses these.
	room    [1]unix.PollFd // for pollRoom
	roomErr error          // from pollRoom

	hasEMSS   bool // the kernel knows it: it is TCP
	emss      atomic.Int32
	emssCalls atomic.Uint32

	// broken is the errno that ended the connection. Linux tells it to one system call only; later
	// calls see a plain end of stream.
	broken atomic.Uint32
}

func newStream(c *net.TCPConn) *Stream {
	s := &Stream{TCPConn: c}
	s.init(c, "tcp")
	s.hasEMSS = true
	s.raw.Control(s.emssFunc) // an error: the connection is closed and the guess will do
	return s
}

func newUnixStream(c *net.UnixConn) *UnixStream {
	s := &UnixStream{UnixConn: c}
	s.init(c, "unix")
	return s
}

func (s *socket) init(c sysConn, network string) {
	raw, err := c.SyscallConn()
	if err != nil {
		panic("BUG: kernel.New of a nil net.Conn")
	}
	s.conn, s.raw, s.network = c, raw, network
	s.readFunc = s.tryRead
	s.roomFunc = s.pollRoom
	s.pendingFunc = s.countPending
	s.emssFunc = s.askEMSS
	s.emss.Store(toe.DefaultEMSS)
}

// ReadSegment tries to read before it waits, and holds no buffer while it waits.
func (s *socket) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	off = s.off
	s.lender, s.patience, s.readN, s.readErr = l, patience, 0, nil
	err = s.raw.Read(s.readFunc) // an error here is the deadline or Close
	s.lender = nil
	if err != nil {
		return 0, off, err
	}
	s.off += uint64(s.readN)
	if s.readErr != nil {
		return 0, off, s.remember(s.readErr)
	}
	return s.readN, off, nil
}

// tryRead reads what is there. If nothing is there, and nothing comes while the reader is patient,
// tryRead returns false. The reader is patient once in each ReadSegment.
func (s *socket) tryRead(fd uintptr) bool {
	p := s.lender.Lend()
	patience, begin := s.patience, time.Time{}
	s.patience = 0
	if patience > 0 {
		begin = time.Now()
	}
	for {
		// This is the read of package net. That of package unix would tell the race detector of an
		// order of its own, which does not follow the writes that net and raceRead tell it of.
		n, err := syscall.Read(int(fd), p)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && patience > 0 && time.Since(begin) < patience:
			unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			continue
		case err == unix.EAGAIN:
			s.lender.TakeBack()
			return false
		case err != nil:
			s.readErr = s.opError("read", os.NewSyscallError("read", err))
		case n == 0 && len(p) > 0:
			s.readErr = io.EOF
		}
		s.readN = max(n, 0)
		return true
	}
}

// remember remembers a failure of the connection. When the kernel shows a plain end of stream after
// a failure, remember returns the failure again.
func (s *socket) remember(err error) error {
	if err == io.EOF {
		if errno := s.broken.Load(); errno != 0 {
			return s.opError("read", os.NewSyscallError("read", syscall.Errno(errno)))
		}
		return io.EOF
	}
	s.breakWith(err)
	return err
}

// breakWith remembers the errno in err, if the connection does not survive that errno and did not
// cause it by its own CloseWrite.
func (s *socket) breakWith(err error) {
	var errno syscall.Errno
	if errors.As(err, &errno) && errno != unix.EPIPE {
		s.broken.CompareAndSwap(0, uint32(errno))
	}
}

// WaitWritable polls the socket and waits as long as the kernel calls the send buffer full. For TCP
// that is until a third of the buffer is free. WaitWritable returns nil for a failed connection too:
// TryWriteBatch tells of the failure.
func (s *socket) WaitWritable() error {
	if err := s.raw.Write(s.roomFunc); err != nil { // the deadline or Close
		return err
	}
	if s.roomErr != nil {
		return s.opError("write", os.NewSyscallError("poll", s.roomErr))
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

// Pending asks the kernel how much it has received in order (SIOCINQ).
func (s *socket) Pending() (int, error) {
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

// EMSS asks the kernel once in 64 calls if the socket is one of TCP:
// "If the TCP implementation allows EMSS to be determined by MPA, that value
// should be used" (RFC 5044 §5.1)
func (s *socket) EMSS() int {
	if s.hasEMSS && s.emssCalls.Add(1)%emssEvery == 0 {
		s.raw.Control(s.emssFunc)
	}
	return int(s.emss.Load())
}

// askEMSS reads TCP_MAXSEG. For a connection that is the segment size in use now, with path MTU and
// TCP options taken into account: the tcpi_snd_mss of TCP_INFO without the rest of it.
func (s *socket) askEMSS(fd uintptr) {
	n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	if err == nil && n > 0 {
		s.emss.Store(int32(n))
	}
}

// opError makes err a *net.OpError, as package net does.
func (s *socket) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: s.network, Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(), Err: err}
}

// Flush returns nil: the send buffer is the operating system's.
func (s *socket) Flush(time.Duration) error { return nil }

// Abort resets the connection: Close with SetLinger(0).
func (s *Stream) Abort() error {
	s.SetLinger(0) // an error is that of a closed connection, and comes again
	return s.Close()
}

// Abort closes the connection. A unix socket whose peer has unread bytes on their way here is
// reset; there is no other reset.
func (s *UnixStream) Abort() error { return s.Close() }

// Capabilities are those of a TCP socket.
func (s *Stream) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Reset: true, Pending: true}
}

// Capabilities are those of a unix socket, which has no reset.
func (s *UnixStream) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Pending: true}
}
