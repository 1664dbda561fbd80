package softrnic

import (
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// A lookout looks for receives that a program posts late, for all queues of a context that have
// been empty for a while: posting a receive makes no system call. One timer for all of them costs
// little however many there are, because a look at a queue takes much less time than a timer.
type lookout struct {
	mu    locks.Mutex[locks.RNICLookout]
	waits map[*lateReceive]struct{} // +checklocks:mu
	timer *time.Timer               // +checklocks:mu
	set   bool                      // +checklocks:mu
	every time.Duration             // +checklocks:mu
}

// A lateReceive waits for a receive in a queue.
type lateReceive struct {
	queue *receiveQueue
	found func() // called without a lock, once
}

const (
	// lookEvery is how often a queue pair looks for receives at first. The time between two looks
	// grows up to lookSlowly; then the lookout looks.
	lookEvery  = 20 * time.Microsecond
	lookSlowly = time.Millisecond
	// lookRarely is the longest time between two looks of a lookout.
	lookRarely = 20 * time.Millisecond
	// lookEach is the least time between two looks for each queue, so that looking takes at most a
	// few hundredths of a processor.
	lookEach = 4 * time.Microsecond
)

// add makes l call found once the queue has a receive. A queue that is destroyed never has one.
func (l *lookout) add(queue *receiveQueue, found func()) *lateReceive {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits == nil {
		l.waits = make(map[*lateReceive]struct{})
	}
	w := &lateReceive{queue, found}
	l.waits[w] = struct{}{}
	l.every = lookSlowly
	l.setLocked()
	return w
}

// remove ends the wait of w, which may be nil. found may be under way.
func (l *lookout) remove(w *lateReceive) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waits, w)
}

// +checklocks:l.mu
func (l *lookout) setLocked() {
	if l.set || len(l.waits) == 0 {
		return
	}
	l.set = true
	d := max(l.every, time.Duration(len(l.waits))*lookEach)
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.look)
	} else {
		l.timer.Reset(d)
	}
}

// look is what the timer does.
func (l *lookout) look() {
	l.mu.Lock()
	l.set = false
	var found []*lateReceive
	for w := range l.waits {
		n, gone := w.queue.state()
		if n > 0 {
			found = append(found, w)
		}
		if n > 0 || gone {
			delete(l.waits, w)
		}
	}
	l.every = min(l.every+l.every/8, lookRarely)
	if len(found) > 0 {
		l.every = lookSlowly
	}
	l.setLocked()
	l.mu.Unlock()
	for _, w := range found {
		w.found()
	}
}
