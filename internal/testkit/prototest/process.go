package prototest

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// InUse returns the memory in use by live objects and stacks, in bytes, after a collection.
func InUse() int64 {
	for range 2 { // a pool keeps its objects for two collections
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + int64(m.StackInuse)
}

// LeastInUse is InUse at a moment when a stream that was busy just before holds no borrowed buffer.
func LeastInUse() int64 {
	least := InUse()
	for range 9 {
		time.Sleep(time.Millisecond)
		least = min(least, InUse())
	}
	return least
}

// Descriptors returns the number of open files of the process, or 0 on a system without
// /proc/self/fd.
func Descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

// Settled waits until there are no more goroutines than before; Close may leave some in the
// background for a while.
func Settled(t testing.TB, goroutines int) {
	t.Helper()
	Wait(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// InGoroutines calls do(i) for i from 0 to n-1, in the given number of goroutines.
func InGoroutines(goroutines, n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range goroutines {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
