package driver

import (
	"errors"
	"os"
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

// writeLook returns the interval between two looks whether TCP has taken something; 0 means never.
func writeLook(cfg *Config) time.Duration {
	look := max(cfg.WriteTimeout, 0)
	if cfg.IdleTimeout > 0 && (look == 0 || idleLook(cfg.IdleTimeout) < look) {
		look = idleLook(cfg.IdleTimeout)
	}
	return look
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

// boundWrite bounds how long the next write, or the wait for it, may take. 0 means no bound.
func (d *Driver) boundWrite(limit time.Duration) {
	if limit > 0 {
		// The stream may be closed, and then the next call returns the same error. Or it has no
		// deadlines.
		_ = d.stream.SetWriteDeadline(time.Now().Add(limit))
	}
}

// writeError returns the error that a Write reports for an error of a bounded write.
func (d *Driver) writeError(err error) error {
	if d.cfg.WriteTimeout > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		d.count.WriteLimits.Add(1)
		return ErrWriteTimeout
	}
	return err
}
