package prototest

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// A test that Watch watches stands still after standstill looks in a row that find no progress.
// Looks are counted, not seconds: a process that gets no processor looks less often.
const (
	lookEvery  = 10 * time.Millisecond
	standstill = 1500
)

// Watch watches until the end of the test whether the test stands still. progress returns a number
// that changes with everything that the test achieves; other goroutines call it at any time. When
// the number has not changed for some 15 s, the test fails with the stacks of all goroutines, and
// Watch calls unblock, which ends what the test waits for. If the test then stands still again,
// Watch panics, so nobody waits for the time limit of the whole test binary.
//
// A bubble needs no Watch: synctest finds goroutines that wait for each other.
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
