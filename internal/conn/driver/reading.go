package driver

import "fmt"

// This file decides which goroutine reads from the Stream: home (see Receive), a Read of the
// program, or none. A call that polls for its answer counts as a Read.
//
// Handing a message from one goroutine to another costs 20 of the 50 µs of a short round trip, so a
// Read that waits reads from the Stream itself. Between two Reads of a program that answers
// messages nobody reads, because calling home each time would cost as much. But the peer's RDMA
// Reads and Writes must not wait for the program. So a goroutine that stops reading leaves
// something behind that calls home: a watch of the Stream, which calls home when bytes come and may
// take two system calls, or an alarm, which is a timer that costs almost nothing but is late. A
// program whose Reads come back quickly gets the alarm, and every other program gets the watch.

// A reading says which goroutine reads, and has two bits that also decide what happens next. It is
// a value without a clock or a goroutine, in one word, so that role can change it atomically. The
// role carries out what next returns.
type reading uint32

// A readBy says which goroutine reads.
//
//	home, Read ──leaves──▶ nobody ──────────────── home or a Read comes ──▶ home, Read
//	    │                    ▲                              │
//	    └──────leaves──▶ leaving ──▶ watched ───────────────┘
type readBy uint8

const (
	byHome    readBy = iota
	byRead           // a Read that waits, or a call that polls for its answer
	byLeaving        // home or a Read, which has stopped reading and is arming the watch
	byNobody
	byWatched // nobody, and the Stream's watch calls home
)

var readByNames = [...]string{"home", "Read", "leaving", "nobody", "watched"}

func (b readBy) String() string { return readByNames[b] }

// Above readBy, a reading has two bits.
const (
	readByBits         = 1<<3 - 1
	alarmSet   reading = 1 << 3 // the alarm will ring. It stays set while a Read reads
	writeWaits reading = 1 << 4 // a Write waits that needs the peer to go on, so a goroutine must read
)

func (s reading) by() readBy { return readBy(s & readByBits) }

// isVacant reports whether nobody reads, and isReads whether a Read does.
func (s reading) isVacant() bool { return s.by() >= byNobody }
func (s reading) isReads() bool  { return s.by() == byRead }

func (s reading) String() string {
	return fmt.Sprintf("%v (alarm %t, Write %t)", s.by(), s&alarmSet != 0, s&writeWaits != 0)
}

// A readEvent is what can happen to a reading.
type readEvent uint8

const (
	readComes   readEvent = iota // a Read waits, and would read
	homeComes                    // home has been called
	homeWanted                   // home is needed, unless a goroutine reads
	writeBegins                  // a Write waits that needs the peer
	writeEnds                    // it has ended
	leavesCalls                  // the goroutine that reads stops; home must go on at once
	leavesAlarm                  // the same, and the alarm is enough
	leavesWatch                  // the same, and the Stream is to be watched
	watchArmed                   // it is watched
	watchFails                   // it cannot be watched
	alarmRings                   // the alarm has rung
	alarmEarly                   // the same, but a Read ended a moment ago
	alarmStops                   // a Read that reads has stopped the alarm
)

var readEventNames = [...]string{
	"a Read comes", "home comes", "home is wanted", "a Write begins to wait", "the Write ends", "leaves and calls home",
	"leaves to the alarm", "leaves to the watch", "watched", "not watched", "the alarm rings", "the alarm rings early", "the alarm is stopped",
}

func (e readEvent) String() string { return readEventNames[e] }

// readActions are what role does after an event, and what the goroutine that noted the event
// learns.
type readActions uint8

const (
	refuse    readActions = 1 << iota // a goroutine reads already
	lookAgain                         // a goroutine is leaving: ask again
	callHome
	arm                   // watch the Stream, and then note watchArmed or watchFails
	disarm                // end the watch
	setAlarm              // it rings after alarmTime
	postpone              // it rings alarmTime after the last Read ended
	wasLate               // bytes may have waited for the alarm
	noActions readActions = 0
)

// A readStep is what follows from an event: which goroutine reads then, and what is to be done.
type readStep struct {
	by readBy
	do readActions
	ok bool // otherwise the event cannot happen
}

// readSteps has each event in each state. A state that is left out cannot have the event.
var readSteps = [...][len(readByNames)]readStep{
	readComes: {
		byHome: {byHome, refuse, true}, byRead: {byRead, refuse, true}, byLeaving: {byLeaving, refuse, true},
		byNobody: {byRead, noActions, true}, byWatched: {byRead, disarm, true},
	},
	homeComes: {
		byRead: {byRead, refuse, true}, byLeaving: {byLeaving, lookAgain, true},
		byNobody: {byHome, noActions, true}, byWatched: {byHome, disarm, true},
	},
	homeWanted:  whileNobody(callHome),
	writeBegins: whileNobody(callHome),
	writeEnds:   whileNobody(noActions),
	leavesCalls: {byHome: {byNobody, callHome, true}, byRead: {byNobody, callHome, true}},
	leavesAlarm: {byHome: {byNobody, setAlarm, true}, byRead: {byNobody, setAlarm, true}},
	leavesWatch: {byHome: {byLeaving, arm, true}, byRead: {byLeaving, arm, true}},
	watchArmed:  {byLeaving: {byWatched, noActions, true}},
	watchFails:  {byLeaving: {byNobody, callHome, true}},
	alarmRings:  whileNobody(callHome | wasLate),
	alarmEarly:  whileNobody(postpone),
	alarmStops:  {byRead: {byRead, noActions, true}},
}

// whileNobody returns the row of an event that does not change which goroutine reads, and that has
// actions only if none does.
func whileNobody(do readActions) (row [len(readByNames)]readStep) {
	for by := range row {
		row[by] = readStep{by: readBy(by), ok: true}
	}
	row[byNobody].do, row[byWatched].do = do, do
	return row
}

// next returns the reading after an event, and what is to be done. It panics if the event cannot
// happen.
func (s reading) next(e readEvent) (reading, readActions) {
	if s&writeWaits != 0 && (e == leavesAlarm || e == leavesWatch) {
		e = leavesCalls
	}
	step := &readSteps[e][s.by()]
	if !step.ok {
		panic(fmt.Sprintf("BUG: %v: %v", s, e))
	}
	do := step.do
	bits := s &^ readByBits
	switch {
	case e == writeBegins:
		bits |= writeWaits
	case e == writeEnds:
		bits &^= writeWaits
	case e == watchArmed && s&writeWaits != 0: // it has come since
		do |= callHome
	case e == leavesAlarm && s&alarmSet != 0:
		do &^= setAlarm
	case e == leavesAlarm:
		bits |= alarmSet
	case e == alarmRings, e == alarmStops, e == alarmEarly && do == noActions:
		bits &^= alarmSet // the next to leave sets it again
	}
	return bits | reading(step.by), do
}
