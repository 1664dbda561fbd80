package driver

import (
	"testing"
	"testing/synctest"
	"time"
)

// A Read that is quick nearly always keeps the chance of the receive role when it is late once. It
// loses the chance when it is late again and again, and at once when a one-sided operation comes.
func TestStreakOutlivesOneLateWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r role
		r.init(true)
		wait := func(n int, pause time.Duration) {
			for range n {
				time.Sleep(pause)
				r.endWait(r.beginWait(true))
			}
		}
		want := func(desc string, want int32) {
			t.Helper()
			if got := r.streak.Load(); got != want {
				t.Errorf("%s: a streak of %d, want %d", desc, got, want)
			}
		}
		wait(quickTimes, quick/2)
		want("the first quick waits", quickTimes)
		wait(100, quick/2)
		want("many quick waits", maxStreak)
		wait(1, 2*quick)
		want("one late wait", maxStreak/2)
		wait(100, quick/2)
		wait(5, 2*quick)
		want("five late waits", 0)
		wait(100, quick/2)
		r.oneSided()
		want("a one-sided operation", 0)
		wait(100, quick/2)
		r.endWait(r.beginWait(false))
		want("a Read that may not take the role", 0)
	})
}
