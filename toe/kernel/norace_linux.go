//go:build !race

package kernel

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func raceRead([]byte) {}

// read reads once. It does not wait, even if another process that shares the socket has switched
// O_NONBLOCK off. short means that few bytes are expected: the scheduler then does not learn of the
// system call, because telling it costs a tenth of the call. Meanwhile the thread's other
// goroutines wait, so read must not take long.
func read(fd int, p []byte, short bool) (n int, errno syscall.Errno) {
	if len(p) == 0 { // recvfrom would look for bytes first
		return 0, 0
	}
	var r uintptr
	if short {
		r, _, errno = unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	} else {
		r, _, errno = unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}
