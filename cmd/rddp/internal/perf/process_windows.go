package perf

import (
	"syscall"
	"time"
)

// processTime returns the processor time of this process, and whether the operating system can
// tell.
func processTime() (cpuTime, bool) {
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err != nil || syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return cpuTime{}, false
	}
	of := func(f syscall.Filetime) time.Duration { // in ticks of 100 ns
		return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
	}
	return cpuTime{of(user), of(kernel)}, true
}

func fileLimit() uint64 { return 0 } // handles are limited by memory only
