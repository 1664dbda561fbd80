package wait

import (
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// A Deadline is a point in time that goroutines can wait for with a select, and that can move while
// they wait. The zero value is no deadline, and so is nil for Done and HasPassed. A Read or Write
// that only looks at its deadline takes no lock: Set and Stop take it, and Done takes it once.
type Deadline struct {
	// expired is closed when the deadline has passed, and replaced when the deadline moves after
	// that. It is nil until a goroutine calls Done or Set.
	expired atomic.Pointer[chan struct{}]
	// passed says that expired is closed. It is in the memory of the Deadline, whereas a channel is
	// other memory, which a processor with many connections has to fetch.
	passed atomic.Bool
	// armed says that the timer runs, or has fired.
	armed bool // +checklocks:mu

	mu locks.Mutex[locks.Deadline]
	// timer closes expired. Set uses the same timer as long as expired is open.
	timer *time.Timer // +checklocks:mu
	// what Then has set
	then Interrupter // +checklocks:mu
}

// An Interrupter interrupts calls that wait, so that they look at their deadline.
type Interrupter interface{ Interrupt() }

// Set moves the deadline to t. The zero time removes the deadline.
func (d *Deadline) Set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed && !d.timer.Stop() {
		<-d.Done() // the timer has fired: wait until its function has closed the channel
	}
	d.armed = false
	d.passed.Store(false)
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
		d.passed.Store(true)
		close(expired)
		return
	}
	d.armed = true
	if d.timer != nil {
		d.timer.Reset(wait)
		return
	}
	d.timer = time.AfterFunc(wait, func() {
		d.passed.Store(true)
		close(expired)
		if i := d.interrupter(); i != nil {
			i.Interrupt()
		}
	})
}

// Then makes the Deadline call i.Interrupt, in a goroutine of its own, each time it passes. A Set
// that moves it to the past does not. A call may come late, when the Deadline has moved again.
func (d *Deadline) Then(i Interrupter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.then = i
}

func (d *Deadline) interrupter() Interrupter {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.then
}

// Stop stops the timer. No goroutine may wait for the deadline any more, because the deadline may
// never pass.
func (d *Deadline) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed {
		d.timer.Stop()
	}
	d.armed, d.timer = false, nil
}

// Done returns a channel that is closed once the deadline has passed. A goroutine that does not
// wait calls HasPassed instead.
func (d *Deadline) Done() <-chan struct{} {
	if d == nil {
		return nil
	}
	if c := d.expired.Load(); c != nil {
		return *c
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expiredLocked()
}

// expiredLocked is Done for callers that hold mu.
//
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

// HasPassed reports whether the deadline has passed.
func (d *Deadline) HasPassed() bool { return d != nil && d.passed.Load() }

// IsClosed reports whether c is closed. Nothing may be sent to c.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
