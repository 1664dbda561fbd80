package extsock_test

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// bubbleTime bounds a bubble in real time. One takes milliseconds, and much longer on a busy
// machine under the race detector.
const bubbleTime = 2 * time.Minute

// bubble is synctest.Test with a bound, and it checks the books: the connections of f have ended
// when it returns, so they have given all memory back.
//
// A goroutine that spins holds the bubble's clock, so no deadline in it ever comes; the clock outside
// goes on. Nothing but a panic ends such a goroutine; it shows where all of them are.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	name := t.Name()
	bound := time.AfterFunc(bubbleTime, func() {
		debug.SetTraceback("all")
		panic(name + ": a goroutine of the bubble runs and runs")
	})
	defer bound.Stop()
	synctest.Test(t, f)
}
