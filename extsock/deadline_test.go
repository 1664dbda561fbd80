package extsock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadline
		if isClosed(d.done()) {
			t.Error("the zero deadline has passed")
		}
		d.set(time.Now().Add(time.Second))
		c := d.done()
		time.Sleep(999 * time.Millisecond)
		if isClosed(c) {
			t.Error("passed after 999 ms of a second")
		}
		time.Sleep(2 * time.Millisecond)
		if !isClosed(c) {
			t.Error("not passed after a second")
		}
		d.set(time.Time{})
		if isClosed(d.done()) {
			t.Error("passed although it was taken away")
		}
		d.set(time.Now().Add(-time.Second))
		if !isClosed(d.done()) {
			t.Error("a deadline in the past has not passed")
		}
	})
}

// TestDeadlineMovesUnderAWaiter: a waiter that took the channel before the deadline was set sees it.
func TestDeadlineMovesUnderAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadline
		c := d.done()
		d.set(time.Now().Add(time.Minute))
		d.set(time.Now().Add(time.Second))
		begin := time.Now()
		<-c
		if got := time.Since(begin); got != time.Second {
			t.Errorf("waited %v, want 1s", got)
		}
	})
}
