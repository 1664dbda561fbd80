package prototest

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// A watched test stands still if standstill checks in a row find no progress. Checks are counted,
// not seconds, since a process that gets no processor checks less often.
const (
	lookEvery  = 10 * time.Millisecond
	standstill = 1500
)

// Watch checks until the end of the test that the test makes progress. progress returns a number
// that changes whenever the test gets further; another goroutine may call it at any time. When the
// number has not changed for about 15 s, the test fails with the stacks of all goroutines, and
// Watch calls unblock, which must end what the test waits for. If the test stands still again,
// Watch panics, so that nobody waits for the time limit of the whole test binary.
//
// A bubble needs no Watch: synctest detects deadlocks.
func Watch(t testing.TB, progress func() uint64, unblock func()) {
	t.Helper()
	stop, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-over })
	go func() {
		defer close(over)
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for last, still, told := progress(), 0, false; ; {
			select {
			case <-stop:
				return
			case <-look.C:
			}
			if now := progress(); now != last {
				last, still = now, 0
				continue
			}
			if still++; still < standstill {
				continue
			}
			what := fmt.Sprintf("%s stands still, at %d", t.Name(), last)
			if told {
				panic(what + ", although it was unblocked")
			}
			still, told = 0, true
			t.Errorf("%s:\n%s", what, stacks())
			unblock()
		}
	}()
}

// stacks returns the stacks of all goroutines.
func stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}
