package softrnic

import (
	"math"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// This file holds completions and events back, if the device takes that liberty: see fault.Liberty.
// To the program a completion that is held back has not come.

// A lateCQ is what a completion queue holds back. The CQ's mutex guards it.
type lateCQ struct {
	completions, events *fault.Dice // nil if they are not held back
	held                fault.Late[completion]
	told                fault.Late[struct{}] // the events
	timer               *time.Timer
}

// A completion is a completion, and whether a solicited notice waits for it.
type completion struct {
	uverbs.WC
	solicits bool
}

// newLateCQ returns what a new completion queue holds back, or nil if it holds back nothing.
func (d *Device) newLateCQ() *lateCQ {
	if !d.faults.Takes(fault.Completions) && !d.faults.Takes(fault.Events) {
		return nil
	}
	return &lateCQ{completions: d.faults.Dice(fault.Completions), events: d.faults.Dice(fault.Events)}
}

// lateLocked adds a completion, now or later. The completions of one queue of work requests stay in
// their order. If the program is checked, all do, because package check numbers them.
//
// +checklocks:q.mu
func (q *completionQueue) lateLocked(w *uverbs.WC, solicits bool) {
	now := time.Now()
	if q.late.completions == nil {
		q.putLocked(w, solicits)
	} else {
		stream := uint64(w.QPN) << 1
		switch {
		case q.checked != nil:
			stream = 0
		case w.Op >= uverbs.WCRecv:
			stream |= 1
		}
		q.late.held.Add(completion{*w, solicits}, stream, now.Add(q.late.completions.Delay()))
		if q.late.held.Len()+int(q.ring.Len()) >= int(q.roomLocked()) {
			q.putHeldLocked() // so that what is held back is bounded
		}
	}
	q.releaseLocked(now)
}

// tellLocked sends an event, now or once releaseLocked finds it due.
//
// +checklocks:q.mu
func (q *completionQueue) tellLocked() {
	if q.late == nil || q.late.events == nil {
		q.sendLocked()
		return
	}
	q.late.told.Add(struct{}{}, 0, time.Now().Add(q.late.events.Delay()))
}

// tellsLaterLocked reports whether an event is held back.
//
// +checklocks:q.mu
func (q *completionQueue) tellsLaterLocked() bool {
	if q.late == nil {
		return false
	}
	_, has := q.late.told.Next()
	return has
}

// releaseLocked gives the program what is due.
//
// +checklocks:q.mu
func (q *completionQueue) releaseLocked(now time.Time) {
	if q.ring == nil {
		return
	}
	if x := q.late; x.completions != nil {
		for _, c := range x.held.Take(now, x.completions.Few()) {
			q.putLocked(&c.WC, c.solicits)
		}
	}
	q.noteHeldLocked()
	for range q.late.told.Take(now, math.MaxInt) {
		q.sendLocked()
	}
	due, ok := q.late.next()
	switch {
	case !ok:
	case q.late.timer == nil:
		q.late.timer = time.AfterFunc(time.Until(due), q.releaseLate)
	default:
		q.late.timer.Reset(time.Until(due))
	}
}

// next returns when something is due.
func (x *lateCQ) next() (due time.Time, ok bool) {
	due, ok = x.held.Next()
	if told, has := x.told.Next(); has && (!ok || told.Before(due)) {
		return told, true
	}
	return due, ok
}

// releaseLate is what the timer does.
func (q *completionQueue) releaseLate() {
	defer q.ctx.recovers()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.releaseLocked(time.Now())
}

// release gives the program all completions that have come: something tells it that they are there.
func (q *completionQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.late == nil || q.ring == nil {
		return
	}
	q.putHeldLocked()
	q.noteHeldLocked()
}

// putHeldLocked puts all completions that are held back into the ring.
//
// +checklocks:q.mu
func (q *completionQueue) putHeldLocked() {
	for _, c := range q.late.held.TakeAll() {
		q.putLocked(&c.WC, c.solicits)
	}
}

// forgetLateLocked forgets what is held back: the program destroys the queue.
//
// +checklocks:q.mu
func (q *completionQueue) forgetLateLocked() {
	if q.late == nil {
		return
	}
	q.late.held.TakeAll()
	q.late.told.TakeAll()
	if q.late.timer != nil {
		q.late.timer.Stop()
	}
}
