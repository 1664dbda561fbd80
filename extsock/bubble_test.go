package extsock_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
)

// bubbleTime bounds a bubble in real time. One takes milliseconds, and much longer on a busy
// machine under the race detector.
const bubbleTime = 5 * time.Minute

// balanceTime is how long a connection that has ended may still hold memory.
const balanceTime = 5 * time.Second

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
	quiet := extsock.TotalStats().Open == 0
	synctest.Test(t, f)
	if quiet {
		balanced(t)
	}
}

// unbalanced is the memory that tests have not given back, and have failed for.
var unbalanced int64

// balanced checks that the connections of the process, which have all ended, have given all memory
// back. A connection that is not in a bubble may need a moment more for that.
func balanced(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(balanceTime); extsock.MemoryReserved() != unbalanced; runtime.Gosched() {
		if time.Now().After(end) {
			n := extsock.MemoryReserved()
			t.Errorf("%d bytes of the process's memory are still taken", n-unbalanced)
			unbalanced = n
		}
	}
}
