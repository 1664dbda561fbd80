// Package deadline implements the deadline of a Stream that waits with a sync.Cond, for toe/simtoe
// and toe/netconn.
package deadline

import (
	"sync"
	"time"
)

// A Deadline is a point in time after which waits end. The zero value is no deadline. Callers of
// all methods hold the lock of the sync.Cond that the waiting goroutines use.
type Deadline struct {
	at     time.Time // zero if there is none
	passed bool
	timer  *time.Timer
	moves  uint // counts Set and Stop: tells a timer that fires late that it is stale
}

// At returns the deadline, or the zero time if there is none.
func (d *Deadline) At() time.Time { return d.at }

// Passed reports whether the deadline has passed.
func (d *Deadline) Passed() bool { return d.passed }

// Set moves the deadline to t, or removes it if t is zero. It wakes the goroutines that wait on c:
// now if t has passed, otherwise when t passes.
func (d *Deadline) Set(t time.Time, c *sync.Cond) {
	d.Stop()
	d.at = t
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		c.Broadcast()
		return
	}
	moves := d.moves
	d.timer = time.AfterFunc(left, func() {
		c.L.Lock()
		defer c.L.Unlock()
		if d.moves == moves {
			d.passed = true
			c.Broadcast()
		}
	})
}

// Stop removes the deadline.
func (d *Deadline) Stop() {
	d.moves++
	d.at, d.passed = time.Time{}, false
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
