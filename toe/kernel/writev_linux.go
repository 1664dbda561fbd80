package kernel

import (
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIovecs is the most that one writev takes (UIO_MAXIOV).
const maxIovecs = 1024

// WriteBatch is one writev for every 1024 slices as long as the send buffer has
// room. It does not change bufs.
func (s *socket) WriteBatch(bufs [][]byte) error {
	w := writers.Get().(*writer)
	w.bufs = bufs
	err := s.raw.Write(w.untilDone) // an error here is the deadline or Close
	_, err = s.finish(w, err)
	return err
}

// TryWriteBatch is writev until the send buffer is full.
func (s *socket) TryWriteBatch(bufs [][]byte) (n int, err error) {
	w := writers.Get().(*writer)
	w.bufs = bufs
	// Not raw.Write: that waits for other writers and obeys the deadline.
	err = s.raw.Control(w.untilFull)
	return s.finish(w, err)
}

// finish gives w back and says what became of its batch. err is that of the
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

// A writer writes one batch. It comes from a pool, so that a connection that is
// idle costs no iovecs, and is used by one call at a time.
type writer struct {
	bufs   [][]byte // not yet in iovecs
	iovecs [maxIovecs]unix.Iovec
	first  int // iovecs[first:end] are not written
	end    int
	n      int // octets written
	errno  syscall.Errno

	// writev as functions, made once so that calling them costs no allocation.
	untilDone func(fd uintptr) bool
	untilFull func(fd uintptr)
}

// writers holds *writer.
var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.untilDone = w.writev
	w.untilFull = func(fd uintptr) { w.writev(fd) }
	return w
}}

// writev writes until the batch is done or has failed, or the send buffer is
// full: only then it returns false.
func (w *writer) writev(fd uintptr) bool {
	for w.fill() {
		n, _, errno := unix.Syscall(unix.SYS_WRITEV, fd,
			uintptr(unsafe.Pointer(&w.iovecs[w.first])), uintptr(w.end-w.first))
		switch errno {
		case 0:
			w.n += int(n)
			w.drop(int(n))
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			w.errno = errno
			return true
		}
	}
	return true
}

// fill makes iovecs of the next slices when none are left, and returns false if
// there are no octets either.
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

// drop takes the first n octets off the iovecs.
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

// reset forgets the batch: no pointer to the caller's memory stays in the pool.
func (w *writer) reset() {
	clear(w.iovecs[w.first:w.end])
	w.bufs, w.first, w.end, w.n, w.errno = nil, 0, 0, 0, 0
}
