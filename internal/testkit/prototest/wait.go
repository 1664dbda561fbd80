package prototest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// Outside bubbles a test waits nine tenths of the time that the test binary has left, so that a
// busy machine makes a test slow but does not make it fail. The last tenth is for reporting the
// failure.
const (
	inBubble = time.Minute      // of a bubble's time, which costs nothing
	unbound  = 10 * time.Minute // without a limit for the binary, or outside a test: go test's default
)

// Deadline returns the time when t must stop waiting. Tests use it for every limit that they do not
// test.
func Deadline(t testing.TB) time.Time { return time.Now().Add(Patience(t)) }

// Patience returns the time until t's Deadline.
func Patience(t testing.TB) time.Duration {
	if time.Now().Year() == 2000 { // every bubble's clock begins in 2000
		return inBubble
	}
	if test, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := test.Deadline(); ok {
			left := time.Until(end)
			return left - left/10
		}
	}
	return unbound
}

// TimeLimit returns a context that ends at t's Deadline, and when t ends.
func TimeLimit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithDeadline(context.Background(), Deadline(t))
	t.Cleanup(cancel)
	return ctx
}

// Wait waits until there returns true, because of other goroutines, other processes or the system.
// At t's Deadline the test fails with what and the stacks of all goroutines; what is also printed
// to stderr at once. A bubble needs no Wait: there, synctest.Wait and time.Sleep return when all
// goroutines are blocked. Wait must not be used in a bubble beside a goroutine that never blocks,
// since no time would pass.
func Wait(t testing.TB, what string, there func() bool) {
	t.Helper()
	const quick = 1000 // polls before it begins to sleep
	end := Deadline(t)
	for n := 0; !there(); n++ {
		switch {
		case n < quick:
			runtime.Gosched()
		case time.Now().After(end):
			// Messages to t stay hidden if a Cleanup hangs, which may happen when the test holds a
			// mutex.
			fmt.Fprintf(os.Stderr, "%s: %s: waited for it in vain\n", t.Name(), what)
			t.Fatalf("%s: waited for it in vain\n%s", what, stacks())
		default:
			time.Sleep(time.Millisecond)
		}
	}
}
