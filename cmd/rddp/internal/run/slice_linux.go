//go:build amd64 || arm64

package run

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// timeSlice is the time slice of this process's threads: the shortest that Linux accepts.
const timeSlice = 100 * time.Microsecond

// setTimeSlices gives all threads of this process time slices of length d; 0 means the system's
// default. With short time slices, a thread that wakes preempts a thread that computes; without
// them, a peer may wait for milliseconds while the program computes. Threads that the runtime
// starts later inherit the time slice. A program would inherit it too, so the program must already
// be running. Linux before 6.12 ignores the request.
func setTimeSlices(d time.Duration) {
	for before := -1; ; {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil || len(entries) == before {
			return // a missed thread only makes the device slower
		}
		before = len(entries)
		for _, e := range entries {
			if tid, err := strconv.Atoi(e.Name()); err == nil {
				setTimeSlice(tid, d)
			}
		}
	}
}

func setTimeSlice(tid int, d time.Duration) {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL && a.Policy != unix.SCHED_BATCH {
		return // the user has chosen another scheduling policy
	}
	a.Runtime = uint64(d)
	_ = unix.SchedSetAttr(tid, a, 0) // see setTimeSlices
}
