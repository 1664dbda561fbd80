package extsock

import (
	"sync"
	"time"
)

// A deadline is a point in time that waiters can select on and that can be moved while they wait.
// The zero value is no deadline.
type deadline struct {
	mu sync.Mutex
	at time.Time // +checklocks:mu
	// closes expired; it is used again for as long as that is open
	timer *time.Timer // +checklocks:mu
	// the timer runs, or has fired
	armed bool // +checklocks:mu
	// closed when the deadline has passed; replaced when it is moved
	expired chan struct{} // +checklocks:mu
}

// set moves the deadline; the zero time takes it away.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	if d.armed && !d.timer.Stop() {
		<-d.expired // the timer has fired: wait until its function has closed the channel
	}
	d.armed = false
	if d.expired == nil || isClosed(d.expired) {
		d.expired, d.timer = make(chan struct{}), nil
	}
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		close(d.expired)
		return
	}
	d.armed = true
	if d.timer != nil {
		d.timer.Reset(wait)
		return
	}
	expired := d.expired
	d.timer = time.AfterFunc(wait, func() { close(expired) })
}

// stop gives the timer back: nothing is to wait any more, so the deadline need not pass.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed {
		d.timer.Stop()
	}
	d.armed, d.timer = false, nil
}

// done returns a channel that is closed once the deadline has passed.
func (d *deadline) done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.expired == nil {
		d.expired = make(chan struct{})
	}
	return d.expired
}

// time returns the deadline; it is zero if there is none.
func (d *deadline) time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// isSet reports whether there is a deadline, passed or to come.
func (d *deadline) isSet() bool { return !d.time().IsZero() }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
