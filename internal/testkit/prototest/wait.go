package prototest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// Outside bubbles a test waits as long as the whole test binary may take, less a tenth, in which it
// tells what it waited for: a busy machine makes a test slow, and does not make it fail.
const (
	inBubble = time.Minute      // of a bubble's time, which costs nothing
	unbound  = 10 * time.Minute // where nothing bounds the binary, or it is no test: go test's own bound
)

// Deadline returns when t must stop waiting. A bound in a test that is not what the test is about
// is this one.
func Deadline(t testing.TB) time.Time { return time.Now().Add(Patience(t)) }

// Patience returns the time until t's Deadline.
func Patience(t testing.TB) time.Duration {
	if time.Now().Year() == 2000 { // where the clock of every bubble begins
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

// Wait waits until there is true of what other goroutines, other processes or the system are about
// to bring about. If it is not until t's Deadline, the test fails with what and with the stacks of
// all goroutines, and says so on stderr at once. A bubble needs no Wait: in it, synctest.Wait and
// time.Sleep end when everything stands still. Wait must not be used there beside a goroutine that
// never does: no time would pass.
func Wait(t testing.TB, what string, there func() bool) {
	t.Helper()
	const quick = 1000 // looks before it leaves the processor for longer
	end := Deadline(t)
	for n := 0; !there(); n++ {
		switch {
		case n < quick:
			runtime.Gosched()
		case time.Now().After(end):
			// What t is told stays hidden if a Cleanup hangs, as one may when the test holds a
			// mutex.
			fmt.Fprintf(os.Stderr, "%s: %s: waited for it in vain\n", t.Name(), what)
			t.Fatalf("%s: waited for it in vain\n%s", what, stacks())
		default:
			time.Sleep(time.Millisecond)
		}
	}
}
