package perf

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// lineTime returns the time to pass a cache line from the first to the last CPU that the process
// may use. It returns false if there is only one CPU, or if other work interfered.
func lineTime() (time.Duration, bool) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil || set.Count() < 2 {
		return 0, false
	}
	first, last := -1, -1
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	best := time.Duration(0)
	for range lineTries {
		if t, ok := bounceBetween(first, last); ok && (best == 0 || t < best) {
			best = t
		}
	}
	return best, best > 0
}

// bounceBetween passes a cache line between two CPUs and returns the time of one pass.
func bounceBetween(a, b int) (time.Duration, bool) {
	var line atomic.Int64
	line.Store(-1)
	type outcome struct {
		elapsed time.Duration
		ok      bool
	}
	ends := make(chan outcome, 2)
	start := func(cpu int, odd int64) {
		runtime.LockOSThread() // never unlocked: the pinned thread ends with its goroutine
		var only unix.CPUSet
		only.Set(cpu)
		ok := unix.SchedSetaffinity(0, &only) == nil
		if odd == 0 {
			line.CompareAndSwap(-1, 0)
		}
		begin := time.Now()
		ok = ok && bounce(&line, odd)
		ends <- outcome{time.Since(begin), ok}
	}
	go start(b, 1)
	go start(a, 0)
	x, y := <-ends, <-ends
	return min(x.elapsed, y.elapsed) / lineHops, x.ok && y.ok
}
