package driver

import (
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// An alarmList has the roles whose alarm is set, with one timer for all of them: a timer for each
// of many busy connections would cost more than the messages. The process has one alarmList.
//
// An alarm that is due within alarmSlack rings together with the one that is due now. So the timer
// rings seldom, however many alarms are set.
//
// Any goroutine may call its methods.
type alarmList struct {
	mu locks.Mutex[locks.Leaf]
	// the list, in the order in which the alarms are due
	first *role // +checklocks:mu
	last  *role // +checklocks:mu
	// rings when first is due; nil before the first role
	timer *time.Timer // +checklocks:mu
}

// alarmSlack is how early an alarm may ring.
const alarmSlack = alarmTime / 4

// An alarmLink is the place of a role in its alarmList, whose mu guards it.
type alarmLink struct {
	prev, next *role
	due        time.Duration // by sinceStart
}

var processAlarms alarmList

// isBubbles reports whether now is a time of a synctest bubble, whose clock is far before the
// program's start.
func isBubbles(now time.Duration) bool { return now < 0 }

// alarmsFor returns the list for a role that is made now. A timer belongs to one bubble, so there
// each role has a list of its own.
func alarmsFor(now time.Duration) *alarmList {
	if isBubbles(now) {
		return new(alarmList)
	}
	return &processAlarms
}

// set makes the alarm of r, which is not in the list, ring at due.
func (a *alarmList) set(r *role, due time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.last
	for before != nil && before.link.due > due { // only if r's alarm has been postponed
		before = before.link.prev
	}
	next := a.first
	if before != nil {
		next = before.link.next
	}
	r.link = alarmLink{prev: before, next: next, due: due}
	a.joinLocked(before, r)
	a.joinLocked(r, next)
	if before == nil {
		a.startLocked()
	}
}

// stop takes the alarm of r out of the list, and reports whether it was there.
func (a *alarmList) stop(r *role) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.link.prev == nil && a.first != r {
		return false
	}
	a.removeLocked(r)
	if a.first == nil {
		a.timer.Stop()
	}
	return true
}

// +checklocks:a.mu
func (a *alarmList) removeLocked(r *role) {
	a.joinLocked(r.link.prev, r.link.next)
	r.link = alarmLink{}
}

// joinLocked makes next follow prev. nil stands for the end of the list.
//
// +checklocks:a.mu
func (a *alarmList) joinLocked(prev, next *role) {
	if prev != nil {
		prev.link.next = next
	} else {
		a.first = next
	}
	if next != nil {
		next.link.prev = prev
	} else {
		a.last = prev
	}
}

// startLocked makes the timer ring when the first alarm is due.
//
// +checklocks:a.mu
func (a *alarmList) startLocked() {
	in := a.first.link.due - sinceStart()
	if a.timer == nil {
		a.timer = time.AfterFunc(in, a.ring)
		return
	}
	a.timer.Reset(in)
}

// ring runs when the timer rings. It rings the alarms that are due.
func (a *alarmList) ring() {
	then := sinceStart() + alarmSlack
	for r := a.take(then); r != nil; r = a.take(then) {
		r.ring()
	}
}

// take takes the first alarm out of the list, if it is due at then. Otherwise it starts the timer.
func (a *alarmList) take(then time.Duration) *role {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.first
	switch {
	case r == nil:
		return nil
	case r.link.due > then:
		a.startLocked()
		return nil
	}
	a.removeLocked(r)
	return r
}
