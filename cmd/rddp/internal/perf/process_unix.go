//go:build unix

package perf

import (
	"syscall"
	"time"
)

// processTime returns the processor time of this process, and whether the operating system can
// tell.
func processTime() (cpuTime, bool) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return cpuTime{}, false
	}
	return cpuTime{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())}, true
}

// fileLimit returns the number of files that this process may open, or 0 if the operating system
// does not tell.
func fileLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return uint64(r.Cur) //nolint:unconvert // signed on some systems
}
