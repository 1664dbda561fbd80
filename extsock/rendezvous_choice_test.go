package extsock

import (
	"testing"
	"time"
)

// TestChoiceTriesTheOtherWay: after both ways have been tried large Writes go the way that costs less, and each 32nd goes the other
// one, to see whether that has changed.
func TestChoiceTriesTheOtherWay(t *testing.T) {
	for _, offers := range []bool{false, true} { // the way that costs less
		var c choice
		other := 0
		for i := 1; i <= 10*explore; i++ {
			offered := c.next()
			cost := 10 * time.Microsecond
			if offered == offers {
				cost = time.Microsecond
			}
			c.took(offered, cost, 1000)
			if i <= 4 || offered == offers {
				continue
			}
			if other++; i%explore != 0 {
				t.Errorf("Write %d goes the way that costs more", i)
			}
		}
		if other != 10 {
			t.Errorf("offers cost less: %t; %d Writes went the other way, want 10", offers, other)
		}
	}
}
