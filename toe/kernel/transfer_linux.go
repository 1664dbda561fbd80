package kernel

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/toe"
)

// This file has what every message calls: it reads from a socket, and writes to it.

func (s *socket) readSegment(l toe.Lender, patience time.Duration, polls bool) (n int, off uint64, err error) {
	off = s.off
	s.lender, s.readN, s.readErr = l, 0, nil
	s.looked, s.polls = false, polls
	s.poll.begin(patience)
	err = s.raw.Read(s.readFunc) // an error here comes from the deadline or Close
	s.lender = nil
	if err != nil {
		return 0, off, err
	}
	s.off += uint64(s.readN)
	if s.readErr != nil {
		open(s.endWatch()) // nothing more arrives, and the program may never call Close
		return 0, off, s.remember(s.readErr)
	}
	return s.readN, off, nil
}

// ReadSegment tries to read before it waits, and holds no buffer while it waits.
func (s *socket) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	return s.readSegment(l, patience, false)
}

// PollSegment is ReadSegment without the wait.
func (s *socket) PollSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	return s.readSegment(l, patience, true)
}

// tryRead reads the bytes that have arrived. If there are none, and none arrive while the reader is
// patient, tryRead returns false, or true with readN 0 for a PollSegment. The reader is patient
// once in each ReadSegment.
func (s *socket) tryRead(fd uintptr) bool {
	if !s.looked && s.late && s.poll.left == 0 && !s.poll.marked {
		switch errno := peek(fd); errno {
		case 0, unix.EINTR:
		case unix.EAGAIN: // as expected, so it was not worth borrowing a buffer
			s.looked = true
			return s.waits()
		default: // Linux has reported the error now, and the next call would see an end of stream
			s.readErr = s.opError("read", os.NewSyscallError("read", errno))
			return true
		}
	}
	p := s.lender.Lend()
	for {
		n, errno := s.read(int(fd), p)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN && s.poll.again(fd):
			continue
		case errno == unix.EAGAIN:
			s.late, s.looked = true, true
			return s.waits()
		case errno != 0:
			s.readErr = s.opError("read", os.NewSyscallError("read", errno))
		case n == 0 && len(p) > 0:
			s.readErr = io.EOF
		}
		s.poll.found()
		s.readN, s.short, s.late = n, n < shortLen, s.looked
		return true
	}
}

// waits ends a look that has found nothing. It returns what tryRead returns.
func (s *socket) waits() (over bool) {
	s.lender.TakeBack()
	if unarmed.oldest.Load() != 0 {
		armOld()
	}
	return s.polls
}

// read reads once. If few bytes are expected, and no long call could make this one wait for the
// socket, the scheduler does not learn of it. After a wait the scheduler must learn of it, unless
// the beat runs or the read is quiet: if the process was idle, the runtime's monitor sleeps, and
// without the monitor nothing would poll the netpoller, or take the processor from a program that
// computes after this read.
func (s *socket) read(fd int, p []byte) (n int, errno syscall.Errno) {
	if s.short && (!s.looked || s.quiet || monitor.goes()) && s.long.Load() == 0 {
		s.hidden = s.hidden || s.looked && s.quiet
		return read(fd, p, true)
	}
	s.long.Add(1)
	n, errno = read(fd, p, false)
	s.long.Add(-1)
	s.hidden = false
	if s.looked {
		monitor.start()
	}
	return n, errno
}

// SetQuiet says whether reads concern only the peer: see toe.Stream.ReadSegment. Such reads start
// no computing program. So the scheduler does not learn of them, and the beat, whose timer makes
// each wait more expensive, need not run. When quiet ends, the last read may have started a
// program. The monitor may then have slept since before an earlier read, even if the last read did
// not wait.
func (s *socket) SetQuiet(quiet bool) {
	if s.hidden && !quiet {
		s.hidden = false
		if !monitor.goes() {
			_, _, _ = syscall.Syscall(unix.SYS_GETPID, 0, 0, 0) // any call that the scheduler knows of
			monitor.start()
		}
	}
	s.quiet = quiet
}

// peek returns 0 if there is something to read, which may be the end of the stream, and EAGAIN if
// there is nothing. Any other error is the connection's, and only this call returns it.
func peek(fd uintptr) syscall.Errno {
	var one byte
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&one)), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// TryWriteBatch makes one sendmsg for every 1024 slices, or a sendto for a single slice, until the
// send buffer is full.
func (s *socket) TryWriteBatch(bufs [][]byte) (n int, err error) {
	s.writes.Add(1)
	defer s.writes.Add(1)
	w := writers.Get().(*writer)
	w.bufs, w.long = bufs, &s.long
	// raw.Write would wait for other writers and obey the deadline; raw.Control does neither.
	err = s.raw.Control(w.writevFunc)
	n, err = s.finish(w, err)
	s.boundLocal(n)
	return n, err
}

// finish returns w to the pool and returns the result of its batch. err is the error of the
// RawConn.
func (s *socket) finish(w *writer, err error) (n int, _ error) {
	n, errno := w.n, w.errno
	w.reset()
	writers.Put(w)
	if err == nil && errno != 0 {
		err = s.opError("write", os.NewSyscallError("write", errno))
		s.breakWith(err)
	}
	return n, err
}

// A writer writes one batch. It comes from a pool, so that an idle connection holds no iovecs, and
// one call at a time uses it.
type writer struct {
	bufs   [][]byte // the rest of the batch, not yet in iovecs
	iovecs [maxIovecs]unix.Iovec
	first  int // iovecs[first:end] have not been written
	end    int
	n      int // bytes written
	errno  syscall.Errno
	msg    unix.Msghdr   // for sendmsg
	long   *atomic.Int32 // the socket's

	writevFunc func(fd uintptr) // writev as a function value, made once so that passing it costs no allocation
}

// writers is the pool of *writer.
var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.writevFunc = w.writev
	return w
}}

// writev writes until the batch is written, the send buffer is full, or an error occurs.
func (w *writer) writev(fd uintptr) {
	if len(w.bufs) == 1 && len(w.bufs[0]) < shortLen && w.long.Load() == 0 {
		w.writeShort(fd)
		return
	}
	for w.fill() {
		n, errno := w.write(fd)
		switch errno {
		case 0:
			w.n += n
			w.drop(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			w.errno = errno
			return
		}
	}
}

// writeShort is writev of a single short slice. It needs no iovecs, so short messages are cheap.
func (w *writer) writeShort(fd uintptr) {
	b := w.bufs[0]
	raceRead(b)
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), sendFlags, 0, 0)
		switch errno {
		case 0:
			w.n += int(n)
			b = b[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			w.errno = errno
			return
		}
	}
}
