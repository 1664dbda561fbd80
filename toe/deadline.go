package toe

import (
	"sync"
	"time"
)

// A deadline is a point in time after which waits end. The lock of those who
// wait is held in its methods.
type deadline struct {
	at     time.Time // zero if there is none
	passed bool
	timer  *time.Timer
	moves  uint // counts set and stop: a timer that fires late knows that it is stale
}

// set moves the deadline to t, or away if t is zero, and wakes those who
// wait on c, now if t has passed and else when it does.
func (d *deadline) set(t time.Time, c *sync.Cond) {
	d.stop()
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

// stop takes the deadline away.
func (d *deadline) stop() {
	d.moves++
	d.at, d.passed = time.Time{}, false
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
