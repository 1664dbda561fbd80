package driver

import (
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe"
)

// A role is the right to receive on a connection: one goroutine at a time has it. Its reading says
// which one, and what follows from an event, and its readHistory says whether a Read will be back
// soon. The role carries out what follows: it has the watch of the Stream, the alarm, and the gate
// at which home stands by.
//
// The alarm is late on purpose: a timer that is due soon makes every wait of the process's threads
// more expensive. If bytes have waited for it, trust was wrong, and the next trust takes many more
// quick waits. So bytes wait for it only a few times in the life of a connection. A Stream without
// a watch leaves the role to home until a Read is trusted.
//
// Only the goroutine that reads calls missed, calm, isSparse, leave, leaveRead and yield, and only
// the Read that waits calls beginWait and endWait. Any goroutine may call the other methods.
type role struct {
	// lends says that a Read may take the role. A deadline can end a read of this stream, so the
	// Read can be interrupted.
	lends   bool
	watches bool          // the stream can be watched
	stays   bool          // home keeps its goroutine while it stands by: see standBy
	asked   atomic.Bool   // a blocking call would have polled; home leaves the role to the next one
	late    atomic.Bool   // the alarm has called home
	now     atomic.Uint32 // the reading

	stream toe.Stream
	owner  *ending  // counts panics of the stream
	gate   toe.Gate // home stands by behind it

	patience *patience // of the way in, see isSparse

	offer *wait.Cell // the waiting Read looks: lockedDelivery.ready

	waiting atomic.Int32 // Reads that wait: more than one if the first has not left the role yet
	readHistory

	alarms *alarmList
	link   alarmLink
}

const (
	alarmTime  = 5 * time.Millisecond
	slowWait   = alarmTime / 4
	sparseWait = 4 * quick
)

// reading returns the present reading.
func (r *role) reading() reading { return reading(r.now.Load()) }

// isVacant reports whether nobody reads, and isReaders whether a Read does.
func (r *role) isVacant() bool { return r.reading().isVacant() }

func (r *role) isReaders() bool { return r.reading().isReads() }

// happens notes an event, and does what follows from it, except arm, refuse and lookAgain, which
// are for the caller.
func (r *role) happens(e readEvent) (do readActions) {
	for {
		s := r.reading()
		next, do := s.next(e)
		if next != s && !r.now.CompareAndSwap(uint32(s), uint32(next)) {
			continue
		}
		if do != noActions {
			r.act(do)
		}
		return do
	}
}

func (r *role) act(do readActions) {
	if do&disarm != 0 {
		r.endWatch()
	}
	if do&setAlarm != 0 {
		r.alarms.set(r, sinceStart()+alarmTime)
	}
	if do&postpone != 0 {
		r.alarms.set(r, time.Duration(r.left.Load())+alarmTime)
	}
	if do&wasLate != 0 {
		r.late.Store(true)
	}
	if do&callHome != 0 {
		r.gate.Open()
	}
}

// isSparse reports whether the watch is cheaper than the alarm although the Read is trusted:
// messages come seldom, so the alarm would be set, and wake a thread for that, almost each time.
// Beside other connections, whose messages keep the threads awake, the alarm is cheaper.
func (r *role) isSparse() bool {
	return r.watches && r.lastWait() > sparseWait && r.patience != nil && r.patience.isAlone()
}

// beginWait begins the wait of a Read, and returns when that was.
func (r *role) beginWait() (began time.Duration) {
	r.waiting.Add(1)
	began = sinceStart()
	r.begins(began)
	return began
}

// endWait ends the wait of a Read that began then.
func (r *role) endWait(began time.Duration) {
	r.ends(began, sinceStart())
	r.waiting.Add(-1)
}

// oneSided notes that an operation has come, or will come, that the program takes no part in. A
// Read that reads at this moment receives it like a message, so it says nothing about the times
// when nobody reads. Otherwise no Read is trusted, and home reads.
func (r *role) oneSided() {
	if r.isReaders() {
		return
	}
	r.distrust()
	r.callHome()
}

// awaitAnswer makes a goroutine receive the answer to an operation that is posted. After calls that
// have polled, the watch is enough, and leaves the role to the next one that waits.
func (r *role) awaitAnswer() {
	if r.reading().by() != byWatched || r.kind.Load() != blockedCall {
		r.oneSided()
	}
}

// callHome makes home read if no goroutine does.
func (r *role) callHome() { r.happens(homeWanted) }

// setWriting notes whether a Write waits that needs the peer to go on, for credits or for the
// answer to an offer. One Write waits at a time.
func (r *role) setWriting(waits bool) {
	if waits {
		r.happens(writeBegins)
	} else {
		r.happens(writeEnds)
	}
}

// take gives the role to a Read if no goroutine has it, and reports whether it did.
func (r *role) take() bool { return r.happens(readComes)&refuse == 0 }

// calm stops the alarm for a Read that reads and will probably wait for long. Otherwise the alarm
// would ring meanwhile, find nothing to do, and be set again when the Read leaves. For a quick Read
// it is cheaper to leave it set.
func (r *role) calm() {
	if r.lastWait() > slowWait && r.reading()&alarmSet != 0 && r.alarms.stop(r) {
		r.happens(alarmStops)
	}
}

// leave ends the reading of the caller. If hurry is set, or a Write waits, home reads now. The
// watch is armed before the role is vacant, so home may be called a moment too early: see standBy.
func (r *role) leave(hurry bool) {
	e := leavesWatch
	switch {
	case hurry:
		e = leavesCalls
	case r.isTrusted() && !r.isSparse():
		e = leavesAlarm
	case !r.watches:
		e = leavesCalls
	}
	if r.happens(e)&arm == 0 {
		return
	}
	if r.watch() {
		r.happens(watchArmed)
	} else { // a stream that refuses once is not asked again
		r.watches = false
		r.happens(watchFails)
	}
}

// watch arms the watch of the stream, and endWatch ends it. If the program's Stream panics, the
// watch counts as refused, so that the role does not stay with the caller.
func (r *role) watch() (armed bool) {
	defer r.recovered(&armed)
	return r.stream.Watch(&r.gate)
}

func (r *role) endWatch() {
	var armed bool
	defer r.recovered(&armed)
	r.stream.Unwatch()
}

func (r *role) recovered(armed *bool) {
	if value := recover(); value != nil {
		*armed = false
		_ = r.owner.panicked(value) // the connection goes on without the watch
	}
}

// leaveRead is leave for a Read. The inbox lets the next Read wait before this one leaves the role.
// The next one has then found the role taken, so leaveRead makes it look again.
func (r *role) leaveRead(hurry bool) {
	r.leave(hurry)
	if r.waiting.Load() > 1 {
		r.offer.Wake()
	}
}
