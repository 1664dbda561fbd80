//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime returns the processor time that this process has taken.
func processTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
