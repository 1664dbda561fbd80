package hostile

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/prototest"
)

var timeLimit = prototest.TimeLimit

// inUse returns the octets of live objects and of stacks, after a collection.
func inUse() int64 {
	for range 2 { // pools keep for two collections what was put into them
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + int64(m.StackInuse)
}

// leastInUse is inUse at a moment when a stream that was busy until now holds none of the buffers
// it borrows.
func leastInUse() int64 {
	least := inUse()
	for range 9 {
		time.Sleep(time.Millisecond)
		least = min(least, inUse())
	}
	return least
}

// allocated returns the octets that have ever been allocated.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// descriptors counts the open files of the process; 0 on a system that does not tell.
func descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

// waitFor waits until f holds.
func waitFor(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}
