package kernel

import (
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIovecs is the maximum number of iovecs for one writev (UIO_MAXIOV).
const maxIovecs = 1024

// TryWriteBatch makes one writev for every 1024 slices, or a write for a single slice, until the
// send buffer is full.
func (s *socket) TryWriteBatch(bufs [][]byte) (n int, err error) {
	w := writers.Get().(*writer)
	w.bufs = bufs
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
		err = s.opError("write", os.NewSyscallError("writev", errno))
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
	for w.fill() {
		n, errno := write(fd, w.iovecs[w.first:w.end])
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

// write writes once. A write of one slice is cheaper than a writev.
func write(fd uintptr, vec []unix.Iovec) (n int, errno syscall.Errno) {
	var r uintptr
	switch first := &vec[0]; {
	case len(vec) > 1:
		r, _, errno = unix.Syscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(first)), uintptr(len(vec)))
	case first.Len < shortLen:
		r, _, errno = unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(first.Base)), uintptr(first.Len))
	default:
		r, _, errno = unix.Syscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(first.Base)), uintptr(first.Len))
	}
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
	clear(w.iovecs[w.first:w.end])
	w.bufs, w.first, w.end, w.n, w.errno = nil, 0, 0, 0, 0
}
