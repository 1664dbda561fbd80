package kernel

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIovecs is the maximum number of iovecs for one writev (UIO_MAXIOV).
const maxIovecs = 1024

// shortLen is the number of bytes below which a system call is short. The scheduler does not learn
// of short calls: see read.
const shortLen = 16 << 10

// sendFlags keep a system call from waiting, whatever the mode of the descriptor (see read), and a
// connection that has ended from raising SIGPIPE.
const sendFlags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL

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
