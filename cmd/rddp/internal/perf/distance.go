package perf

import (
	"sync/atomic"
	"time"
)

// The host of a virtual machine may move its CPUs, within seconds, to cores that share no cache.
// Then a cache line takes several times as long from one to the other, and so does everything that
// uses both CPUs. Nothing else shows it: no load, no steal time. So a meter measures that time
// around each round, and repeats rounds in which the CPUs were far apart.

// far is the factor by which a cache line's time exceeds the best one if the CPUs are far apart.
const far = 3

// A distance watches how far apart two CPUs are.
type distance struct {
	measure func() (time.Duration, bool) // nil means that nothing is watched
	best    time.Duration
	checks  int // measurements that succeeded
}

// near measures and reports whether the CPUs are as near as they have ever been, or nearly so. If
// it cannot tell, they are near. Other work may make one measurement too long, so near makes
// several before it believes that the CPUs are far apart.
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

// bounce passes a cache line lineHops times between two goroutines, of which this one begins with
// even or odd numbers. It reports false if the other goroutine does not answer in time.
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
