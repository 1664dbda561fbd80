package hostile

import (
	"runtime"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

var (
	seeded      = prototest.Seeded
	timeLimit   = prototest.TimeLimit
	inUse       = prototest.InUse
	leastInUse  = prototest.LeastInUse
	descriptors = prototest.Descriptors
	waitFor     = prototest.Wait
	settled     = prototest.Settled
)

// inParallel calls do(i) for i from 0 to n-1, in a few goroutines.
func inParallel(n int, do func(i int)) { prototest.InGoroutines(8, n, do) }

// allocated returns the total number of octets allocated so far.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// onHeap returns the octets of live objects, after a collection. Stacks are not included, since
// those of ended goroutines may stay in use for a while.
func onHeap() int64 {
	for range 2 { // pools keep their contents for two collections
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
