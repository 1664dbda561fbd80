package perf

import (
	"runtime"
	"runtime/debug"
)

// A Memory is memory of a process, in bytes.
type Memory struct {
	Resident float64 `json:"resident"` // what the process has in RAM; 0 if the operating system does not tell
	Heap     float64 `json:"heap"`     // live objects of the heap
	Stack    float64 `json:"stack"`    // stacks of goroutines
}

// memoryNow returns the memory of this process after garbage collections. A pool keeps for two
// collections what was put into it, and stacks shrink step by step.
func memoryNow() Memory {
	var m runtime.MemStats
	for i := range 20 {
		before := m.StackInuse
		debug.FreeOSMemory() // a collection, too
		if runtime.ReadMemStats(&m); m.StackInuse == before && i >= 4 {
			break
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
