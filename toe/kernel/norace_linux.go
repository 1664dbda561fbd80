//go:build !race

package kernel

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func raceRead([]byte) {}

// read reads once from a socket that does not block. short says that few bytes are expected: the
// scheduler then does not learn of the system call, because telling it costs a tenth of the call.
// Meanwhile the thread's other goroutines wait, so read must not take long.
func read(fd int, p []byte, short bool) (n int, errno syscall.Errno) {
	var r uintptr
	if short {
		r, _, errno = unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	} else {
		r, _, errno = unix.Syscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	}
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}
