package driver

import (
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// An idle ends a connection on which no bytes move. A timer compares the counters from time to
// time, so that arriving and departing bytes cost nothing extra.
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

// watchIdle starts the timer, if there is a timeout.
func (d *Driver) watchIdle() {
	timeout := d.cfg.IdleTimeout
	if timeout <= 0 {
		return
	}
	i := &d.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	i.timeout, i.since = timeout, time.Now()
	i.timer = time.AfterFunc(idleLook(timeout), d.lookIdle)
}

// idleLook returns the interval between two looks at the counters.
func idleLook(timeout time.Duration) time.Duration { return max(timeout/4, time.Millisecond) }

func (d *Driver) lookIdle() {
	i := &d.idle
	i.mu.Lock()
	if i.timer == nil {
		i.mu.Unlock()
		return
	}
	if n := d.count.Received.Octets.Load() + d.tx.taken.Load(); n != i.octets {
		i.octets, i.since = n, time.Now()
	}
	over := time.Since(i.since) >= i.timeout
	if !over {
		i.timer.Reset(idleLook(i.timeout))
	}
	i.mu.Unlock()
	if over {
		d.count.IdleTimeouts.Add(1)
		d.Kill(ErrIdleTimeout)
	}
}

func (i *idle) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}
