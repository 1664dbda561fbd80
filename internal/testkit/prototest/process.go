package prototest

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// InUse returns the octets of live objects and of stacks, after a collection.
func InUse() int64 {
	for range 2 { // pools keep for two collections what was put into them
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + int64(m.StackInuse)
}

// LeastInUse is InUse at a moment when a stream that was busy until now holds none of the buffers
// it borrows.
func LeastInUse() int64 {
	least := InUse()
	for range 9 {
		time.Sleep(time.Millisecond)
		least = min(least, InUse())
	}
	return least
}

// Descriptors counts the open files of the process; 0 on a system that does not tell.
func Descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

// Settled wants no more goroutines than there were, within what Close may wait for in the
// background.
func Settled(t testing.TB, goroutines int) {
	t.Helper()
	Wait(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// InGoroutines calls do(i) for i from 0 to n-1, in so many goroutines.
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
