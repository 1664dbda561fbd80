package prototest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A watched is a test that records its failures.
type watched struct {
	testing.TB
	ends []func()

	mu       sync.Mutex
	failures []string
}

func (w *watched) Helper()          {}
func (w *watched) Name() string     { return "TestOfSomething" }
func (w *watched) Cleanup(f func()) { w.ends = append(w.ends, f) }
func (w *watched) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

// failed returns the failures so far.
func (w *watched) failed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.failures)
}

// TestWatch: a slow test does not fail, however long it takes, and a test that stands still fails
// once, with the stacks.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = standstill * lookEvery
		w := &watched{TB: t}
		var progress atomic.Uint64
		unblocked := make(chan time.Time, 1)
		Watch(w, progress.Load, func() { unblocked <- time.Now() })
		for range 100 {
			time.Sleep(limit - lookEvery/2)
			progress.Add(1)
		}
		synctest.Wait()
		if f := w.failed(); len(f) > 0 {
			t.Fatalf("a slow test has failed: %s", f[0])
		}
		still := time.Now()
		at := <-unblocked
		if f := w.failed(); len(f) != 1 || !strings.Contains(f[0], "TestOfSomething stands still, at 100") || !strings.Contains(f[0], "TestWatch") {
			t.Errorf("a test that stands still has failed with %q", f)
		}
		if d := at.Sub(still); d < limit || d > limit+lookEvery {
			t.Errorf("unblocked after %v, want %v", d, limit)
		}
		for range 100 {
			progress.Add(1)
			time.Sleep(limit / 2)
		}
		for _, end := range w.ends {
			end()
		}
		time.Sleep(time.Hour) // Watch has ended
		if n := len(w.failed()); n != 1 {
			t.Errorf("%d failures, want one", n)
		}
	})
}
