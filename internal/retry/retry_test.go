package retry

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestWait: the time between attempts doubles up to Most, and starts over after a success.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		var w Wait
		for range 2 {
			if w.HasBegun() {
				t.Error("no attempt has failed")
			}
			var got []time.Duration
			for range 8 {
				begin := time.Now()
				if !w.Pause(t.Context()) || !w.HasBegun() {
					t.Fatal("Pause says that there is no time")
				}
				got = append(got, time.Since(begin))
			}
			if want := []time.Duration{20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, Most, Most}; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			w.Reset()
		}
	})
}

// TestPauseEnds: Pause does not wait if ctx is done.
func TestPauseEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if Pause(ctx, time.Hour) {
		t.Error("Pause says that there is time")
	}
}
