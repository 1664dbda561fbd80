//go:build race

package kernel

import (
	"errors"
	"syscall"
)

// raceRead tells the race detector the same as syscall.Write would: that b is read now, and that a
// read of the bytes from the peer's socket happens after this.
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
