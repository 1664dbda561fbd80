package driver

import (
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// An idle ends a connection on which no bytes move. A timer compares the counters from time to
// time, so that arriving and departing bytes cost nothing extra. Any goroutine may call its methods,
// which take its lock.
type idle struct {
	mu locks.Mutex[locks.Idle]
	// nil before the start and after the end
	timer   *time.Timer   // +checklocks:mu
	timeout time.Duration // +checklocks:mu
	// octets is how many bytes had moved, in both ways together
	octets uint64 // +checklocks:mu
	// since is when octets last changed
	since time.Time // +checklocks:mu
}

// start starts the timer, which calls look, if there is a timeout.
func (i *idle) start(timeout time.Duration, look func()) {
	if timeout <= 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.timeout, i.since = timeout, time.Now()
	i.timer = time.AfterFunc(idleLook(timeout), look)
}

// idleLook returns the interval between two looks at the counters.
func idleLook(timeout time.Duration) time.Duration { return max(timeout/4, time.Millisecond) }

// lookIdle is called by the timer.
func (d *Driver) lookIdle() {
	if d.idle.look(d.count.Received.Octets.Load() + d.tx.taken.Load()) {
		d.count.IdleTimeouts.Add(1)
		d.Kill(ErrIdleTimeout)
	}
}

// look reports whether the connection has been idle for too long. n bytes have moved so far. If it has
// not, look sets the timer again.
func (i *idle) look(n uint64) (over bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer == nil {
		return false
	}
	if n != i.octets {
		i.octets, i.since = n, time.Now()
	}
	over = time.Since(i.since) >= i.timeout
	if !over {
		i.timer.Reset(idleLook(i.timeout))
	}
	return over
}

func (i *idle) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}
