// Package retry has the time between two attempts of what fails and may work later.
package retry

import (
	"context"
	"time"
)

const (
	// First is the time between the first attempt and the second.
	First = 20 * time.Millisecond
	// Most is the longest time between two attempts.
	Most = time.Second
)

// A Wait is the time between attempts: First, then twice as long each time, and Most at last. The
// zero Wait is ready for use.
type Wait struct{ last time.Duration }

// Next returns the time until the next attempt.
func (w *Wait) Next() time.Duration {
	w.last = min(max(2*w.last, First), Most)
	return w.last
}

// HasBegun reports whether an attempt has failed before: whoever warns of failures has done so
// then.
func (w *Wait) HasBegun() bool { return w.last > 0 }

// Reset begins anew after an attempt that has succeeded.
func (w *Wait) Reset() { w.last = 0 }

// Pause waits for Next and reports whether ctx is still not done.
func (w *Wait) Pause(ctx context.Context) bool { return Pause(ctx, w.Next()) }

// Pause waits for d and reports whether ctx is still not done.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
