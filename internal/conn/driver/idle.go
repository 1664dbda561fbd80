package driver

import (
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// An idle ends a connection on which no bytes move. A timer compares the counters from time to
// time, so that arriving and departing bytes cost nothing extra. Any goroutine may call its
// methods, which take its lock.
type idle struct {
	timeout time.Duration // 0: none
	mu      locks.Mutex[locks.Idle]
	// nil before the start and after the end
	timer *time.Timer // +checklocks:mu
	// octets is how many bytes had moved, in both ways together
	octets uint64 // +checklocks:mu
	// since is when octets last changed, as sinceStart
	since time.Duration // +checklocks:mu
}

// start starts the timer, which calls look, if there is a timeout.
func (i *idle) start(look func()) {
	if i.timeout == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.since = sinceStart()
	i.timer = time.AfterFunc(idleLook(i.timeout), look)
}

// idleLook returns the interval between two looks at the counters.
func idleLook(timeout time.Duration) time.Duration { return max(timeout/4, time.Millisecond) }

// look reports whether the connection has been idle for too long. n bytes have moved so far. If the
// connection has not been idle for too long, look sets the timer again.
func (i *idle) look(n uint64) (over bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer == nil {
		return false
	}
	if n != i.octets {
		i.octets, i.since = n, sinceStart()
	}
	over = sinceStart()-i.since >= i.timeout
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
