package kernel

import (
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// This file has the watches that the kernel does not know of yet. In a program with many busy
// connections each message ends a watch and begins another one, and the next Read usually ends that
// soon. So a watch is not armed at once if other sockets are watched, too. It goes into a list, and
// leaves the list without a system call. The next goroutine of the process that finds nothing to
// read, and so is about to wait, arms the watches that have been in the list for longer than
// unarmedTime. If there is no such goroutine, because the program computes, the watcher's third
// goroutine does, every unarmedMost.
//
// A socket that is watched twice in a row, with no other one between, is armed at once.

const (
	unarmedTime = 200 * time.Microsecond
	unarmedMost = 5 * time.Millisecond
)

// unarmed is the list of the process.
var unarmed unarmedList

// An unarmedList is a list of sockets, the oldest watch first.
type unarmedList struct {
	oldest atomic.Int64 // when the first watch began, by sinceStarted; 0: the list is empty

	mu locks.Mutex[locks.Unarmed]
	// +checklocks:mu
	first *socket
	// +checklocks:mu
	last *socket
}

// lastWatched is the watch that has begun last.
var lastWatched atomic.Pointer[watch]

// An unarmedLink is the place of a socket in an unarmedList. The list's mu guards it, except
// listed, which changes only while mu is held.
type unarmedLink struct {
	listed     atomic.Bool
	since      int64
	next, prev *socket
}

// isCrowd reports whether another socket has been watched since w was.
func (w *watch) isCrowd() bool {
	if lastWatched.Load() == w {
		return false
	}
	lastWatched.Store(w)
	return true
}

// add adds s, unless it is there already.
func (u *unarmedList) add(s *socket) {
	now := sinceStarted()
	u.mu.Lock()
	defer u.mu.Unlock()
	l := &s.watch.link
	if l.listed.Load() {
		return
	}
	l.listed.Store(true)
	l.since, l.prev, l.next = now, u.last, nil
	if u.last != nil {
		u.last.watch.link.next = s
	} else {
		u.first = s
		u.oldest.Store(now)
	}
	u.last = s
}

// remove removes s, if it is there.
func (u *unarmedList) remove(s *socket) {
	if !s.watch.link.listed.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.removeLocked(s)
}

// +checklocks:u.mu
func (u *unarmedList) removeLocked(s *socket) {
	l := &s.watch.link
	if !l.listed.Load() {
		return
	}
	l.listed.Store(false)
	if l.prev != nil {
		l.prev.watch.link.next = l.next
	} else {
		u.first = l.next
	}
	if l.next != nil {
		l.next.watch.link.prev = l.prev
	} else {
		u.last = l.prev
	}
	l.prev, l.next = nil, nil
	if u.first != nil {
		u.oldest.Store(u.first.watch.link.since)
	} else {
		u.oldest.Store(0)
	}
}

// takeOld removes the oldest socket, if it came before then, and returns it. It returns nil
// otherwise.
func (u *unarmedList) takeOld(then int64) *socket {
	if oldest := u.oldest.Load(); oldest == 0 || oldest > then {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.first
	if s == nil || s.watch.link.since > then {
		return nil
	}
	u.removeLocked(s)
	return s
}

// armOld arms the watches that have been in the list for longer than unarmedTime.
func armOld() {
	for {
		s := unarmed.takeOld(sinceStarted() - int64(unarmedTime))
		if s == nil {
			return
		}
		s.armLate()
	}
}

// armLate arms the watch of s, which was in the list, unless it has ended meanwhile.
func (s *socket) armLate() {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.gate.Load()
	if g == nil || w.state != registered || w.armed.Load() {
		return
	}
	w.order = armLate
	if err := s.raw.Control(w.controlFunc); err != nil || w.errno != 0 {
		g.Open() // the goroutine behind it finds out
		return
	}
	w.watcher.attend()
}

// keep makes sure that the watches in the list are armed, whatever the program does.
func (w *watcher) keep() {
	if !w.keeps.Load() && w.keeps.CompareAndSwap(false, true) {
		w.third.Open()
	}
}

// runThird is the third goroutine.
func (w *watcher) runThird() {
	for {
		w.third.Wait()
		for w.keeps.Load() {
			if w.ended.Load() {
				return
			}
			time.Sleep(unarmedMost)
			armOld()
			if unarmed.oldest.Load() == 0 {
				w.keeps.Store(false)
				if unarmed.oldest.Load() != 0 { // the socket that came meanwhile has seen keeps
					w.keeps.Store(true)
				}
			}
		}
		if w.ended.Load() {
			return
		}
	}
}
