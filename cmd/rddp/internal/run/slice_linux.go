//go:build amd64 || arm64

package run

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// timeSlice is how long a thread of this process may run before others have their turn: the
// shortest time that Linux accepts.
const timeSlice = 100 * time.Microsecond

// setTimeSlices gives all threads of this process time slices of length d; 0 means those of all
// other threads. With short ones a thread that wakes takes the processor from one that computes;
// without them a peer may wait for milliseconds while the program computes. Threads that the
// runtime starts later inherit them, and so would the program if it were not running yet. Linux
// before 6.12 ignores the request.
func setTimeSlices(d time.Duration) {
	for before := -1; ; {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil || len(entries) == before {
			return // what is missing makes the device slower, and nothing else
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
		return // somebody has chosen another order for this process
	}
	a.Runtime = uint64(d)
	_ = unix.SchedSetAttr(tid, a, 0) // see setTimeSlices
}
