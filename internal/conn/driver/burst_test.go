package driver

import (
	"testing"
	"time"
)

// TestBurst: the fourth call that begins within burstGap of the one before it is quick, and so are
// the next calls, until one is late or is an answer. After such a burst, another burst is expected.
func TestBurst(t *testing.T) {
	var b burst
	for i, tt := range []struct {
		gap     time.Duration
		answers bool
		on      bool
		next    bool
	}{
		{time.Second, false, false, false}, {1, false, false, false}, {burstGap, false, false, false}, {5, false, false, false},
		{5, false, true, false}, {5, false, true, false},
		{5, true, false, true}, {5, false, false, true}, {5, false, false, true}, {5, false, false, true}, {5, false, true, true},
		{burstGap + 1, false, false, true}, {5, false, false, true}, {5, false, false, true},
		{burstGap + 1, false, false, false}, {5, false, false, false},
	} {
		if on := b.IsQuick(tt.gap, tt.answers); on != tt.on || b.IsOn() != on || b.IsNext() != tt.next {
			t.Errorf("call %d: quick %t, on %t, next %t", i, on, b.IsOn(), b.IsNext())
		}
	}
}
