package softrnic

import "time"

// An alarm is something that a queue pair does once it is time.
type alarm uint8

const (
	alarmJoin   alarm = iota // it is joined, unless a connection manager has been faster
	alarmPeer                // work requests have waited for a link for long enough
	alarmLast                // the last receive is flushed
	alarmPosted              // what the program has posted begins: see fault.Work

	// Of the link.
	alarmMissed   // a peer that has left has been missed for long enough
	alarmNotReady // a frame has waited for a receive of the peer's program for long enough
	alarmVigil    // a round of the vigil
	alarmReceives // the receiver looks for receives for frames that wait
	alarmDue      // an acknowledgement has waited for long enough
	alarmRefuse   // the receiver looks whether the answers in front of a refusal have left
	alarmOwnWork  // settleDebts has waited for receives for long enough: see ownWork
	alarms
)

// An agenda says when a queue pair does what. It is a value without lock, goroutine or clock, and
// one timer serves it: the timer rings for the first alarm, or in vain if that has been cleared.
type agenda struct {
	at    [alarms]time.Time // zero for what is not on the agenda
	rings time.Time         // when the timer rings; zero if it does not
}

// set puts an alarm on the agenda, or moves it. It reports whether the timer must be set to ring
// then.
func (a *agenda) set(k alarm, at time.Time) (rings bool) {
	a.at[k] = at
	if rings = a.rings.IsZero() || at.Before(a.rings); rings {
		a.rings = at
	}
	return rings
}

// has reports whether an alarm is on the agenda.
func (a *agenda) has(k alarm) bool { return !a.at[k].IsZero() }

// clear takes an alarm from the agenda.
func (a *agenda) clear(k alarm) { a.at[k] = time.Time{} }

// ring is the event that the timer rings. It takes what is due from the agenda: bit k is set if
// alarm k is. If again, the timer must be set to ring at a.rings.
func (a *agenda) ring(now time.Time) (due uint16, again bool) {
	a.rings = time.Time{}
	for k, at := range a.at {
		switch {
		case at.IsZero():
		case !at.After(now):
			due |= 1 << k
			a.at[k] = time.Time{}
		case a.rings.IsZero() || at.Before(a.rings):
			a.rings = at
		}
	}
	return due, !a.rings.IsZero()
}

// alarmLocked puts an alarm on the agenda of q.
//
// +checklocks:q.mu
func (q *queuePair) alarmLocked(k alarm, d time.Duration) {
	switch rings := q.agenda.set(k, time.Now().Add(d)); {
	case !rings:
	case q.timer == nil:
		q.timer = time.AfterFunc(d, q.rang)
	default:
		q.timer.Reset(d)
	}
}

// clearLocked empties the agenda of q.
//
// +checklocks:q.mu
func (q *queuePair) clearLocked() {
	q.agenda = agenda{}
	if q.timer != nil {
		q.timer.Stop()
	}
}

// alarm is alarmLocked. If once is set, an alarm that is on the agenda already stays.
func (l *link) alarm(k alarm, d time.Duration, once bool) {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if !once || !l.q.agenda.has(k) {
		l.alarmLocked(k, d)
	}
}

// alarmLocked puts an alarm on the agenda, if the queue pair still has the link.
//
// +checklocks:l.q.mu
func (l *link) alarmLocked(k alarm, d time.Duration) {
	if l.q.link == l {
		l.q.alarmLocked(k, d)
	}
}

// calmLocked takes an alarm from the agenda, if the queue pair still has the link.
//
// +checklocks:l.q.mu
func (l *link) calmLocked(k alarm) {
	if l.q.link == l {
		l.q.agenda.clear(k)
	}
}

// rang does what is due.
func (q *queuePair) rang() {
	q.mu.Lock()
	due, again := q.agenda.ring(time.Now())
	l, life := q.link, q.life.number
	if again {
		q.timer.Reset(time.Until(q.agenda.rings))
	}
	if due>>alarmVigil&1 != 0 { // a work request that begins meanwhile begins no rounds of its own
		q.alarmLocked(alarmVigil, roundOf(q.life.patience()))
	}
	if due>>alarmNotReady&1 != 0 {
		l.notReadyLocked() // +checklocksignore: the link's queue pair is locked
	}
	q.mu.Unlock()
	defer q.recovers()
	for k, do := range alarmed {
		if do != nil && due>>k&1 != 0 {
			do(q, l, life)
		}
	}
}

// alarmed has the function of each alarm that is called without a lock. l is the link, and life the
// number of the life, when the timer rang.
var alarmed [alarms]func(q *queuePair, l *link, life uint64)

func init() {
	alarmed = [...]func(q *queuePair, l *link, life uint64){
		alarmJoin:     func(q *queuePair, _ *link, life uint64) { q.join(life) },
		alarmPeer:     func(q *queuePair, _ *link, life uint64) { q.waited(life) },
		alarmLast:     func(q *queuePair, _ *link, life uint64) { q.flushReceives(life, 0) },
		alarmPosted:   func(q *queuePair, _ *link, _ uint64) { q.kick() },
		alarmMissed:   func(_ *queuePair, l *link, _ uint64) { l.missed() },
		alarmVigil:    func(_ *queuePair, l *link, _ uint64) { l.round() },
		alarmReceives: func(_ *queuePair, l *link, _ uint64) { l.receiver.lookForReceives() },
		alarmDue:      func(_ *queuePair, l *link, _ uint64) { l.receiver.lookAtDue() },
		alarmRefuse:   func(_ *queuePair, l *link, _ uint64) { l.receiver.refuseLater() },
		alarmOwnWork:  func(_ *queuePair, l *link, _ uint64) { l.receiver.stop() },
	}
}
