package perf

import (
	"sync/atomic"
	"time"
)

// The host of a virtual machine may move its CPUs, within seconds, to cores that share no cache.
// Then passing a cache line between them takes several times as long, and everything that uses both
// CPUs is slower. Nothing else shows that, neither load nor steal time. So a meter measures that
// time around each round, and repeats rounds in which the CPUs were far apart.

// far is the factor from which the CPUs count as far apart: the time of a cache line divided by the
// best one.
const far = 3

// A distance monitors how far apart two CPUs are.
type distance struct {
	measure func() (time.Duration, bool) // nil means no monitoring
	best    time.Duration
	checks  int // measurements that succeeded
}

// near measures whether the CPUs are about as near as they have ever been. It returns true if it
// cannot tell. Other work may lengthen a measurement, so near returns false only if several
// measurements agree.
func (d *distance) near() bool {
	if d.measure == nil {
		return true
	}
	for range beliefs {
		t, ok := d.measure()
		if !ok {
			return true
		}
		if d.checks++; d.checks == 1 || t < d.best {
			d.best = t
		}
		if t <= far*d.best {
			return true
		}
	}
	return false
}

// beliefs is the number of measurements that must agree.
const beliefs = 4

const (
	lineHops  = 400
	lineTries = 5
	lineLimit = 10 * time.Millisecond
)

// bounce passes a cache line lineHops times between two goroutines: one calls it with odd = 0, the
// other with 1. It returns false if the other goroutine does not answer in time.
func bounce(line *atomic.Int64, odd int64) bool {
	begin := time.Now()
	for n := odd; n < lineHops; n += 2 {
		for spins := 1; line.Load() != n; spins++ {
			if spins%1024 == 0 && time.Since(begin) > lineLimit {
				return false
			}
		}
		line.Store(n + 1)
	}
	return true
}
