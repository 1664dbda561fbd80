package wait

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadline
		if IsClosed(d.Done()) {
			t.Error("the zero deadline has passed")
		}
		d.Set(time.Now().Add(time.Second))
		c := d.Done()
		time.Sleep(999 * time.Millisecond)
		if IsClosed(c) {
			t.Error("passed after 999 ms of a second")
		}
		time.Sleep(2 * time.Millisecond)
		if !IsClosed(c) {
			t.Error("not passed after a second")
		}
		d.Set(time.Time{})
		if IsClosed(d.Done()) {
			t.Error("passed although it was taken away")
		}
		d.Set(time.Now().Add(-time.Second))
		if !IsClosed(d.Done()) {
			t.Error("a deadline in the past has not passed")
		}
	})
}

// TestDeadlineMovesUnderAWaiter checks that a waiter that took the channel before the deadline was
// set sees the deadline pass.
func TestDeadlineMovesUnderAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadline
		c := d.Done()
		d.Set(time.Now().Add(time.Minute))
		d.Set(time.Now().Add(time.Second))
		begin := time.Now()
		<-c
		if got := time.Since(begin); got != time.Second {
			t.Errorf("waited %v, want 1s", got)
		}
	})
}

// TestAllocDeadline checks that moving a deadline that has not passed, as a program does before
// each Read, allocates nothing.
func TestAllocDeadline(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	var d Deadline
	defer d.Stop()
	if n := testing.AllocsPerRun(100, func() {
		d.Set(time.Now().Add(time.Hour))
		d.Set(time.Time{})
		d.Set(time.Now().Add(time.Minute))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// interrupts is an Interrupter of a test.
type interrupts func()

func (f interrupts) Interrupt() { f() }

// TestDeadlineThen: the function of Then is called when the deadline passes, after the channel is
// closed, and not if the deadline has moved or was stopped before.
func TestDeadlineThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadline
		var calls atomic.Int64
		d.Set(time.Now().Add(time.Second)) // the timer runs before there is a function
		d.Then(interrupts(func() {
			calls.Add(1)
			if !d.HasPassed() {
				t.Error("the function was called before the deadline had passed")
			}
		}))
		for _, step := range []struct {
			desc string
			set  func()
			want int64
		}{
			{"set before Then", func() {}, 1},
			{"set again", func() { d.Set(time.Now().Add(time.Second)) }, 2},
			{"moved", func() {
				d.Set(time.Now().Add(time.Second))
				d.Set(time.Now().Add(time.Hour))
			}, 2},
			{"set to the past", func() { d.Set(time.Now().Add(-time.Second)) }, 2},
			{"removed", func() {
				d.Set(time.Now().Add(time.Second))
				d.Set(time.Time{})
			}, 2},
			{"stopped", func() {
				d.Set(time.Now().Add(time.Second))
				d.Stop()
			}, 2},
		} {
			step.set()
			time.Sleep(time.Minute)
			if n := calls.Load(); n != step.want {
				t.Errorf("%s: %d calls, want %d", step.desc, n, step.want)
			}
		}
	})
}
