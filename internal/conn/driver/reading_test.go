package driver

import (
	"fmt"
	"testing"
)

// A scene is a reading, and the state that role keeps for it: everything that decides which events
// can happen.
type scene struct {
	now     reading
	ringing bool // the alarm is set, or its call of role.ring is under way
	watched bool // the Stream is watched
	called  bool // home was called, and has not come yet
}

// may reports whether an event can happen.
func (s scene) may(e readEvent) bool {
	switch by := s.now.by(); e {
	case homeComes:
		return by != byHome && (s.called || by == byWatched || by == byLeaving) // the watch calls too
	case leavesCalls, leavesAlarm, leavesWatch:
		return by == byHome || by == byRead
	case watchArmed, watchFails:
		return by == byLeaving
	case alarmRings, alarmEarly:
		return s.ringing
	case alarmStops:
		return s.ringing && by == byRead
	case writeBegins:
		return s.now&writeWaits == 0 // one Write waits at a time
	case writeEnds:
		return s.now&writeWaits != 0
	}
	return true
}

// after returns the scene after an event, and an error if the event is wrong in s.
func (s scene) after(e readEvent) (scene, error) {
	was := s.now
	next, do := was.next(e)
	s.now = next
	switch e {
	case homeComes:
		s.called = do == lookAgain
	case watchArmed:
		s.watched = true
	case alarmRings, alarmEarly, alarmStops:
		s.ringing = false
	}
	if do&disarm != 0 {
		if !s.watched {
			return s, fmt.Errorf("%v, %v: the watch is ended, and there is none", was, e)
		}
		s.watched = false
	}
	if do&(setAlarm|postpone) != 0 {
		if s.ringing {
			return s, fmt.Errorf("%v, %v: the alarm is set twice", was, e)
		}
		s.ringing = true
	}
	if do&callHome != 0 {
		s.called = true
	}
	if (do&arm != 0) != (next.by() == byLeaving && was.by() != byLeaving) {
		return s, fmt.Errorf("%v, %v: %v without the question whether the Stream is watched", was, e, next)
	}
	return s, s.check()
}

// check returns an error if data that arrives in a scene would never be read.
func (s scene) check() error {
	by := s.now.by()
	switch {
	case by == byNobody && !s.called && !s.ringing:
		return fmt.Errorf("%v, and nothing calls home", s.now)
	case s.watched != (by == byWatched):
		return fmt.Errorf("%v, and the Stream is watched: %t", s.now, s.watched)
	case s.now.isVacant() && s.now&writeWaits != 0 && !s.called:
		return fmt.Errorf("%v, and home is not called for the Write", s.now)
	case s.ringing != (s.now&alarmSet != 0):
		return fmt.Errorf("%v, and the alarm is set: %t", s.now, s.ringing)
	}
	return nil
}

// TestEveryReading: after every event in every possible scene, data that arrives will be read: by
// home or a Read, or by way of the watch, the alarm or a call of home under way. The same holds for
// every two events, in both orders. Events that cannot happen panic.
func TestEveryReading(t *testing.T) {
	known := map[scene]string{{}: "home"}
	found := []scene{{}}
	events, pairs := 0, 0
	for len(found) > 0 {
		s := found[0]
		found = found[1:]
		for e := range readEvent(len(readEventNames)) {
			if !s.may(e) {
				if e >= leavesCalls && e <= watchFails && !isImpossible(s.now, e) {
					t.Errorf("%v: %v is possible", s.now, e)
				}
				continue
			}
			events++
			next, err := s.after(e)
			if err != nil {
				t.Fatalf("%s; %v: %v", known[s], e, err)
			}
			for second := range readEvent(len(readEventNames)) {
				if s.may(second) && next.may(second) {
					pairs++
				}
			}
			if _, is := known[next]; !is {
				known[next] = fmt.Sprintf("%s; %v", known[s], e)
				found = append(found, next)
			}
		}
	}
	readings := make(map[reading]bool)
	for s := range known {
		readings[s.now] = true
	}
	t.Logf("%d readings in %d scenes, %d events in them, and %d times two that could come in either order", len(readings), len(known), events, pairs)
	if want := len(readByNames) * 4; len(readings) < want-4 { // with each bit, except what a Write forbids
		t.Errorf("only %d of %d readings come about", len(readings), want)
	}
}

// isImpossible reports whether an event panics.
func isImpossible(s reading, e readEvent) (did bool) {
	defer func() { did = recover() != nil }()
	s.next(e)
	return false
}

// TestAlarmAndReadThatLeaves: the alarm rings at the moment when a Read leaves. Whichever comes
// first, the alarm is set afterwards, or home is called.
func TestAlarmAndReadThatLeaves(t *testing.T) {
	for _, ring := range []readEvent{alarmRings, alarmEarly} {
		for _, order := range [][2]readEvent{{ring, leavesAlarm}, {leavesAlarm, ring}} {
			s := scene{now: reading(byRead) | alarmSet, ringing: true}
			for _, e := range order {
				var err error
				if s, err = s.after(e); err != nil {
					t.Errorf("%v: %v", order, err)
				}
			}
			if s.now.by() != byNobody || s.ringing == s.called {
				t.Errorf("%v: %+v", order, s)
			}
		}
	}
}
