package softrnic

import (
	"testing"
	"time"
)

// TestReceiveWait: whatever the RNR timer is, the time between two looks grows, and a receive is
// said to be missing once, after some time and not at once.
func TestReceiveWait(t *testing.T) {
	for _, timer := range []time.Duration{0, 10 * time.Microsecond, 20 * time.Microsecond, 960 * time.Microsecond, 1280 * time.Microsecond, repeatMost} {
		var w receiveWait
		waited, missing := time.Duration(0), 0
		for range 200 {
			lacks := w.again(timer, receivePatience)
			if lacks != (waited >= receivePatience && missing == 0) {
				t.Errorf("timer %v: after %v, a receive is missing: %t", timer, waited, lacks)
			}
			if lacks {
				missing++
			}
			if w.next < max(timer, lookEvery) {
				t.Errorf("timer %v: the next look is after %v", timer, w.next)
			}
			if timer == 0 && w.slow() && missing == 0 {
				t.Fatalf("the lookout looks after %v, and nobody has said that a receive is missing", waited)
			}
			waited += w.next
		}
		if w.next != max(timer, lookSlowly) || missing != 1 {
			t.Errorf("timer %v: a look each %v in the end; a receive was missing %d times", timer, w.next, missing)
		}
	}
}
