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

// Stream is a TCP connection of the operating system. The methods of
// net.TCPConn remain reachable; SyscallConn and the socket options do no harm.
// It implements toe.Stream, toe.TryWriter, toe.WaitWriter, toe.LazyReader and
// toe.Pender.
type Stream struct {
	*net.TCPConn
	socket
}

// UnixStream is a connection over a unix socket. The methods of net.UnixConn
// remain reachable; what sends or receives goes around the Stream and is not to
// be used. It implements what Stream does.
type UnixStream struct {
	*net.UnixConn
	socket
}

// sysConn is a net.Conn with a file descriptor.
type sysConn interface {
	net.Conn
	syscall.Conn
}

// socket is what a stream has beside the methods of its net.Conn, whatever the
// protocol.
type socket struct {
	conn    sysConn
	raw     syscall.RawConn // of the same connection
	network string          // for errors

	// The methods that RawConn calls, made into functions once so that passing
	// them costs no allocation.
	pollFunc, readFunc, roomFunc func(fd uintptr) bool
	pendingFunc, emssFunc        func(fd uintptr)

	// Only the one reader uses these.
	off          uint64         // octets that ReadSegment has given
	polled       [1]unix.PollFd // poll's
	pollErr      error
	patience     time.Duration // tryRead's, during ReadLazily
	lend         func() []byte
	giveBack     func()
	lazyN        int
	lazyErr      error
	pendingCount uint32 // countPending's
	pendingErr   error

	// Only the one writer uses these.
	room    [1]unix.PollFd // pollRoom's
	roomErr error

	hasEMSS   bool // the kernel knows it: it is TCP
	emss      atomic.Int32
	emssCalls atomic.Uint32

	// broken is the errno that ended the connection, as the first system call
	// after that told. Linux tells once; later ones see a plain end of stream.
	broken atomic.Uint32
}

var (
	_ toe.TryWriter  = (*socket)(nil)
	_ toe.WaitWriter = (*socket)(nil)
	_ toe.LazyReader = (*socket)(nil)
	_ toe.Pender     = (*socket)(nil)
)

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
	s.pollFunc = s.poll
	s.readFunc = s.tryRead
	s.roomFunc = s.pollRoom
	s.pendingFunc = s.countPending
	s.emssFunc = s.askEMSS
	s.emss.Store(toe.DefaultEMSS)
}

// ReadSegment reads in order: off is the number of octets given before.
func (s *socket) ReadSegment(p []byte) (n int, off uint64, err error) {
	off = s.off
	n, err = s.conn.Read(p)
	s.off += uint64(n)
	if err != nil {
		err = s.readErr(err)
	}
	return n, off, err
}

// ReadLazily tries to read before it waits, as Read does, and holds no
// buffer while it waits.
func (s *socket) ReadLazily(patience time.Duration, lend func() []byte, giveBack func()) (n int, off uint64, err error) {
	off = s.off
	s.patience, s.lend, s.giveBack, s.lazyN, s.lazyErr = patience, lend, giveBack, 0, nil
	err = s.raw.Read(s.readFunc) // an error here is the deadline or Close
	s.lend, s.giveBack = nil, nil
	if err != nil {
		return 0, off, err
	}
	s.off += uint64(s.lazyN)
	if s.lazyErr != nil {
		return 0, off, s.readErr(s.lazyErr)
	}
	return s.lazyN, off, nil
}

// tryRead reads what there is and returns false if that is nothing, be it after the patience it has once.
func (s *socket) tryRead(fd uintptr) bool {
	p := s.lend()
	patience, begin := s.patience, time.Time{}
	s.patience = 0
	if patience > 0 {
		begin = time.Now()
	}
	for {
		// As package net does: unix.Read would tell the race detector of an order of its own, which does not
		// come after what net and raceRead tell it of writes.
		n, err := syscall.Read(int(fd), p)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && patience > 0 && time.Since(begin) < patience:
			unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			continue
		case err == unix.EAGAIN:
			s.giveBack()
			return false
		case err != nil:
			s.lazyErr = s.opError("read", os.NewSyscallError("read", err))
		case n == 0 && len(p) > 0:
			s.lazyErr = io.EOF
		}
		s.lazyN = max(n, 0)
		return true
	}
}

// readErr remembers a failure of the connection, and tells it again where the
// kernel shows a plain end of stream after it.
func (s *socket) readErr(err error) error {
	if err == io.EOF {
		if errno := s.broken.Load(); errno != 0 {
			return s.opError("read", os.NewSyscallError("read", syscall.Errno(errno)))
		}
		return io.EOF
	}
	s.breakWith(err)
	return err
}

// breakWith remembers the errno in err, if it is one that the connection does
// not survive and did not bring about itself.
func (s *socket) breakWith(err error) {
	var errno syscall.Errno
	if errors.As(err, &errno) && errno != unix.EPIPE {
		s.broken.CompareAndSwap(0, uint32(errno))
	}
}

// Readable polls the socket and waits as long as there is nothing. It is nil
// for a failed connection too: ReadSegment is to tell of that.
func (s *socket) Readable() error {
	if err := s.raw.Read(s.pollFunc); err != nil { // the deadline or Close
		return err
	}
	if s.pollErr != nil {
		return s.opError("read", os.NewSyscallError("poll", s.pollErr))
	}
	return nil
}

// poll looks whether there are octets, a FIN or an error, and takes none of
// them. It returns false if not.
func (s *socket) poll(fd uintptr) (done bool) {
	done, s.pollErr = pollFor(&s.polled, fd, unix.POLLIN)
	return done
}

// WaitWritable polls the socket and waits as long as the kernel calls the send
// buffer full; of TCP that is until a third of it is free. It is nil for a failed
// connection too: TryWriteBatch is to tell of that.
func (s *socket) WaitWritable() error {
	if err := s.raw.Write(s.roomFunc); err != nil { // the deadline or Close
		return err
	}
	if s.roomErr != nil {
		return s.opError("write", os.NewSyscallError("poll", s.roomErr))
	}
	return nil
}

// pollRoom looks whether there is room or an error. It returns false if not.
func (s *socket) pollRoom(fd uintptr) (done bool) {
	done, s.roomErr = pollFor(&s.room, fd, unix.POLLOUT)
	return done
}

// pollFor is poll(2) for one event of fd that does not wait. done is false if
// there is neither that event nor an error.
func pollFor(p *[1]unix.PollFd, fd uintptr, event int16) (done bool, err error) {
	for {
		p[0] = unix.PollFd{Fd: int32(fd), Events: event}
		n, err := unix.Poll(p[:], 0)
		if err != unix.EINTR {
			return n > 0 || err != nil, err
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

// EMSS is, of TCP, what the kernel says every 64 calls:
// "If the TCP implementation allows EMSS to be determined by MPA, that value
// should be used" (RFC 5044 §5.1)
func (s *socket) EMSS() int {
	if s.hasEMSS && s.emssCalls.Add(1)%emssEvery == 0 {
		s.raw.Control(s.emssFunc)
	}
	return int(s.emss.Load())
}

// askEMSS reads TCP_MAXSEG. Of a connection that is the segment size used now,
// path MTU and TCP options taken into account: the tcpi_snd_mss of TCP_INFO
// without the rest of it.
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
