package driver

import (
	"errors"
	"os"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
)

// An idle ends a connection on which nothing happens. It looks at the counters from time to time, so that nothing is
// done for it when octets come or go.
type idle struct {
	mu locks.Mutex[locks.Idle]
	// nil: never, or no more
	timer   *time.Timer   // +checklocks:mu
	timeout time.Duration // +checklocks:mu
	// that had come and gone
	octets uint64 // +checklocks:mu
	// when that was new
	since time.Time // +checklocks:mu
}

// watchIdle begins.
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

// writeLook returns how often a write looks whether TCP takes something; 0 means never.
func writeLook(cfg *Config) time.Duration {
	look := max(cfg.WriteTimeout, 0)
	if cfg.IdleTimeout > 0 && (look == 0 || idleLook(cfg.IdleTimeout) < look) {
		look = idleLook(cfg.IdleTimeout)
	}
	return look
}

// idleLook is how often to look.
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

// boundWrite bounds how long the next write, or the wait for it, may take. 0 is for ever.
func (d *Driver) boundWrite(limit time.Duration) {
	if limit > 0 {
		// An error is that of a closed stream, and comes again, or of one without deadlines.
		_ = d.stream.SetWriteDeadline(time.Now().Add(limit))
	}
}

// writeError says what an error of a bounded write means.
func (d *Driver) writeError(err error) error {
	if d.cfg.WriteTimeout > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		d.count.WriteLimits.Add(1)
		return ErrWriteTimeout
	}
	return err
}

// penalize delays the peer's address if err, which is about to end the connection, shows that the peer tries STags.
func (d *Driver) penalize(err error) {
	if d.cfg.BadSTag != nil && guessed(err) {
		d.cfg.BadSTag()
	}
}

// guessed reports whether err, which has ended a connection, says that the peer used memory that it does not have. A
// peer that tries STags gives such errors.
func guessed(err error) bool {
	var access *ddp.AccessError
	return errors.As(err, &access)
}
