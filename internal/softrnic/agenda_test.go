package softrnic

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestAgenda: each alarm is due once its time has come, once, unless it has been cleared or moved;
// and the timer never rings later than the first of them.
func TestAgenda(t *testing.T) {
	start := time.Unix(1, 0)
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		var a agenda
		want, now, timer := [alarms]time.Time{}, start, time.Time{}
		for range 50 {
			k := alarm(r.IntN(int(alarms)))
			switch at := now.Add(time.Duration(r.IntN(10))); r.IntN(4) {
			case 0, 1:
				if want[k] = at; a.set(k, at) {
					timer = at
				}
			case 2:
				want[k] = time.Time{}
				a.clear(k)
			case 3:
				if timer.IsZero() {
					continue
				}
				now = timer
				due, again := a.ring(now)
				if timer = a.rings; again == timer.IsZero() {
					t.Fatalf("seed %d: again: %v, at %v", seed, again, timer)
				}
				for k, at := range want {
					is := !at.IsZero() && !at.After(now)
					if due>>k&1 != 0 != is {
						t.Fatalf("seed %d: alarm %d is due: %v, want %v", seed, k, !is, is)
					}
					if is {
						want[k] = time.Time{}
					}
				}
			}
			for k, at := range want {
				if a.has(alarm(k)) == at.IsZero() || !at.IsZero() && (timer.IsZero() || timer.After(at)) {
					t.Fatalf("seed %d: alarm %d at %v, and the timer rings at %v", seed, k, at, timer)
				}
			}
		}
	}
}

// TestAlarmsOfLink: a link that the queue pair has lost neither gets alarms nor ends the alarms of
// the next link.
func TestAlarmsOfLink(t *testing.T) {
	q := &queuePair{}
	old, next := &link{q: q}, &link{q: q}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.link = old
	old.alarmLocked(alarmNotReady, time.Hour) // +checklocksignore: the link's queue pair is locked
	q.link = next
	q.clearLocked()
	old.alarmLocked(alarmVigil, time.Hour)     // +checklocksignore: the link's queue pair is locked
	next.alarmLocked(alarmNotReady, time.Hour) // +checklocksignore: the link's queue pair is locked
	old.calmLocked(alarmNotReady)              // +checklocksignore: the link's queue pair is locked
	if q.agenda.has(alarmVigil) || !q.agenda.has(alarmNotReady) {
		t.Errorf("the agenda is %v", q.agenda)
	}
	next.calmLocked(alarmNotReady) // +checklocksignore: the link's queue pair is locked
	if q.clearLocked(); q.agenda.has(alarmNotReady) {
		t.Errorf("the agenda is %v", q.agenda)
	}
}
