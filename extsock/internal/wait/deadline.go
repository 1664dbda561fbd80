package wait

import (
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// A Deadline is a point in time that waiters can select on and that can be moved while they wait.
// The zero value is no deadline. Only set and stop take its lock, so a Read or Write that looks
// at its deadline takes none.
type Deadline struct {
	// expired is closed when the deadline has passed, and replaced when it is moved after that. nil
	// means that no waiter has asked for it yet.
	expired atomic.Pointer[chan struct{}]
	limited atomic.Bool // there is a deadline

	mu locks.Mutex[locks.Deadline]
	// timer closes expired. It is used again for as long as expired is open.
	timer *time.Timer // +checklocks:mu
	// armed says that the timer runs, or has fired.
	armed bool // +checklocks:mu
}

// Set moves the deadline; the zero time takes it away.
func (d *Deadline) Set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limited.Store(!t.IsZero())
	if d.armed && !d.timer.Stop() {
		<-d.Done() // the timer has fired: wait until its function has closed the channel
	}
	d.armed = false
	expired := d.expiredLocked()
	if IsClosed(expired) {
		d.expired.Store(nil)
		expired = d.expiredLocked()
		d.timer = nil
	}
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		close(expired)
		return
	}
	d.armed = true
	if d.timer != nil {
		d.timer.Reset(wait)
		return
	}
	d.timer = closeAfter(expired, wait)
}

// closeAfter returns a timer that closes c.
func closeAfter(c chan struct{}, wait time.Duration) *time.Timer {
	return time.AfterFunc(wait, func() { close(c) })
}

// Stop gives the timer back: nothing is to wait any more, so the deadline need not pass.
func (d *Deadline) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed {
		d.timer.Stop()
	}
	d.armed, d.timer = false, nil
}

// Done returns a channel that is closed once the deadline has passed.
func (d *Deadline) Done() <-chan struct{} {
	if c := d.expired.Load(); c != nil {
		return *c
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expiredLocked()
}

// +checklocks:d.mu
func (d *Deadline) expiredLocked() chan struct{} {
	c := d.expired.Load()
	if c == nil {
		made := make(chan struct{})
		c = &made
		d.expired.Store(c)
	}
	return *c
}

// IsSet reports whether there is a deadline, passed or to come.
func (d *Deadline) IsSet() bool { return d.limited.Load() }

func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
