//go:build race

package kernel

import (
	"errors"
	"syscall"
)

// raceRead tells the race detector what syscall.Write would tell it: that b is read now, and that a
// goroutine that reads the bytes from the peer's socket comes after this.
func raceRead(b []byte) {
	syscall.Write(-1, nil) // fails, after it has reported the second fact
	var p [4096]byte
	for n := 1; n > 0; b = b[n:] {
		n = copy(p[:], b)
	}
}

// read reads once from a socket that does not block. This read is the one that package net uses.
// The read of package unix would tell the race detector of another order, which does not follow the
// writes reported by package net and raceRead.
func read(fd int, p []byte, _ bool) (n int, errno syscall.Errno) {
	n, err := syscall.Read(fd, p)
	if err != nil {
		errors.As(err, &errno)
		return 0, errno
	}
	return n, 0
}
