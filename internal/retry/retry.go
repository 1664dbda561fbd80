// Package retry computes the time between repeated attempts of an operation that may succeed later.
package retry

import (
	"context"
	"time"
)

const (
	// First is the time between the first attempt and the second.
	First = 20 * time.Millisecond
	// Most is the maximum time between two attempts.
	Most = time.Second
)

// A Wait computes the time between attempts: First, then twice as long each time, up to Most. The
// zero Wait is ready for use.
type Wait struct{ last time.Duration }

// Next returns the time until the next attempt.
func (w *Wait) Next() time.Duration {
	w.last = min(max(2*w.last, First), Most)
	return w.last
}

// HasBegun reports whether Next has been called since the last Reset. A caller that logs failures
// need not warn again then.
func (w *Wait) HasBegun() bool { return w.last > 0 }

// Reset starts over after a successful attempt.
func (w *Wait) Reset() { w.last = 0 }

// Pause waits for the time Next. It returns false if ctx is done first.
func (w *Wait) Pause(ctx context.Context) bool { return Pause(ctx, w.Next()) }

// Pause waits for d. It returns false if ctx is done first.
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
