// Package turned provides a clock for tests of toe/usertcp that the test advances. Retransmissions,
// keep-alive probes and timeouts of TCP happen when the test decides, even on a busy machine.
//
// Read and write deadlines, and the timeout of Flush, use real time, because they belong to the
// program and not to TCP.
package turned

import (
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/faketime"

	"github.com/rddp/rddp/toe/usertcp/internal/clock"
)

// A Clock advances only during Turn. It is the clock of all Stacks, and of all links of
// [usertcp.Pipe], that are made before the test ends. Only one test at a time has a Clock.
type Clock struct {
	*faketime.ManualClock

	// mu is also held while a worker settles, so no worker ends at that time.
	mu      sync.Mutex
	workers map[int]func() uint64
	joined  int
}

// New makes a Clock for t.
func New(t testing.TB) *Clock {
	c := &Clock{ManualClock: faketime.NewManualClock(), workers: make(map[int]func() uint64)}
	clock.Set(c)
	t.Cleanup(func() { clock.Set(nil) })
	return c
}

// Join is called by each Stack and each link.
func (c *Clock) Join(settle func() uint64) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.joined
	c.joined++
	c.workers[n] = settle
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.workers, n)
	}
}

// Settle waits until no packet is in flight, and no TCP has one to process. It does not wait for
// the test's own goroutines.
func (c *Clock) Settle() {
	const enough = 2 // a TCP may answer in one round what it got in the round before
	for before, same := c.settle(), 0; same < enough; same++ {
		if now := c.settle(); now != before {
			before, same = now, -1
		}
	}
}

// settle waits for each worker in turn.
func (c *Clock) settle() (sum uint64) {
	c.RunImmediatelyScheduledJobs()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, settle := range c.workers {
		sum += settle()
	}
	return sum
}

// Turn advances the clock by d in steps, and lets everything settle before the first step and after
// each step. A timer within a step fires at its own time, but its effects elsewhere happen at the
// end of the step.
func (c *Clock) Turn(d, step time.Duration) {
	for c.Settle(); d > 0; d -= step {
		c.Advance(min(d, step))
		c.Settle()
	}
}

// TurnUntil advances the clock in steps until there returns true, and returns the time advanced. It
// fails t after limit.
func (c *Clock) TurnUntil(t testing.TB, limit, step time.Duration, what string, there func() bool) (turned time.Duration) {
	t.Helper()
	for c.Settle(); !there(); turned += step {
		if turned >= limit {
			t.Fatalf("%s: not within %v", what, limit)
		}
		c.Turn(step, step)
	}
	return turned
}
