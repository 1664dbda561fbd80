package kernel

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIovecs is the maximum number of iovecs for one writev (UIO_MAXIOV).
const maxIovecs = 1024

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

// shortLen is the number of bytes below which a system call is short. The scheduler does not learn
// of short calls: see read.
const shortLen = 16 << 10

// sendFlags keep a system call from waiting, whatever the mode of the descriptor (see read), and a
// connection that has ended from raising SIGPIPE.
const sendFlags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL

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

// write writes once. A call with one slice is cheaper than one with several.
func (w *writer) write(fd uintptr) (n int, errno syscall.Errno) {
	var r uintptr
	first := &w.iovecs[w.first]
	w.long.Add(1)
	if w.end-w.first == 1 {
		r, _, errno = unix.Syscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(first.Base)), uintptr(first.Len), sendFlags, 0, 0)
	} else {
		w.msg.Iov = first
		w.msg.SetIovlen(w.end - w.first)
		r, _, errno = unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&w.msg)), sendFlags)
	}
	w.long.Add(-1)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// fill makes iovecs of the next slices if none are left. It returns false if no bytes are left.
func (w *writer) fill() bool {
	if w.first < w.end {
		return true
	}
	w.first, w.end = 0, 0
	for len(w.bufs) > 0 && w.end < maxIovecs {
		b := w.bufs[0]
		w.bufs = w.bufs[1:]
		if len(b) == 0 {
			continue
		}
		raceRead(b)
		w.iovecs[w.end].Base = unsafe.SliceData(b)
		w.iovecs[w.end].SetLen(len(b))
		w.end++
	}
	return w.end > 0
}

// drop removes the first n bytes from the iovecs.
func (w *writer) drop(n int) {
	for n > 0 {
		v := &w.iovecs[w.first]
		if n < int(v.Len) {
			v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
			v.SetLen(int(v.Len) - n)
			return
		}
		n -= int(v.Len)
		v.Base = nil
		w.first++
	}
}

// reset clears w, so that the pool keeps no pointer to the caller's memory.
func (w *writer) reset() {
	if w.first < w.end {
		clear(w.iovecs[w.first:w.end])
	}
	w.bufs, w.first, w.end, w.n, w.errno = nil, 0, 0, 0, 0
	w.msg.Iov, w.long = nil, nil
}
