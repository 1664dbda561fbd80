package perf

import (
	"syscall"
	"time"
)

// processTime returns the processor time of this process, user and system, and whether the
// operating system can tell.
func processTime() (time.Duration, bool) {
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err != nil || syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return 0, false
	}
	ticks := func(f syscall.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100, true // a tick is 100 ns
}

func fileLimit() uint64 { return 0 } // handles are limited by memory only
