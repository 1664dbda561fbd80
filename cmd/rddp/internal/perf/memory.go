package perf

import (
	"runtime"
	"runtime/debug"
	"time"
)

// A Memory is the memory of a process, in bytes.
type Memory struct {
	Resident float64 `json:"resident"` // memory in RAM; 0 if the operating system does not tell
	Heap     float64 `json:"heap"`     // live objects of the heap
	Stack    float64 `json:"stack"`    // stacks of goroutines
}

// memoryNow returns the memory of this process after garbage collection. A sync.Pool keeps its
// objects for two collections, stacks shrink step by step, and closed connections end in the
// background, so memoryNow waits until the memory stays the same several times.
func memoryNow() Memory {
	var m runtime.MemStats
	for i, same := 0, 0; i < 50 && same < 4; i++ {
		heap, stack := m.HeapAlloc, m.StackInuse
		time.Sleep(5 * time.Millisecond)
		debug.FreeOSMemory() // also runs a collection
		runtime.ReadMemStats(&m)
		if same++; m.StackInuse != stack || m.HeapAlloc > heap+heap/100 || m.HeapAlloc < heap-heap/100 {
			same = 0
		}
	}
	return Memory{Resident: float64(resident()), Heap: float64(m.HeapAlloc), Stack: float64(m.StackInuse)}
}

// minus returns m-n.
func (m Memory) minus(n Memory) Memory {
	return Memory{m.Resident - n.Resident, m.Heap - n.Heap, m.Stack - n.Stack}
}

// per returns m divided by n.
func (m Memory) per(n int) Memory {
	return Memory{m.Resident / float64(n), m.Heap / float64(n), m.Stack / float64(n)}
}

// plus returns m+n.
func (m Memory) plus(n Memory) Memory {
	return Memory{m.Resident + n.Resident, m.Heap + n.Heap, m.Stack + n.Stack}
}

// medianMemory returns the median of each part.
func medianMemory(all []Memory) Memory {
	of := func(f func(Memory) float64) float64 {
		values := make([]float64, len(all))
		for i, m := range all {
			values[i] = f(m)
		}
		return median(values)
	}
	return Memory{
		of(func(m Memory) float64 { return m.Resident }), of(func(m Memory) float64 { return m.Heap }),
		of(func(m Memory) float64 { return m.Stack }),
	}
}
