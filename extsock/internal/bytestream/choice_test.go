package bytestream

import (
	"testing"
	"time"
)

// TestChoiceTriesTheOtherWay: after both ways have been tried, long Writes go the way that costs
// less, and each 32nd goes the other one, to see whether that has changed.
func TestChoiceTriesTheOtherWay(t *testing.T) {
	for _, offers := range []bool{false, true} { // the way that costs less
		var c Choice
		other := 0
		for i := 1; i <= 10*explore; i++ {
			offered := c.Next()
			cost := 10 * time.Microsecond
			if offered == offers {
				cost = time.Microsecond
			}
			c.Took(offered, cost, 1000)
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

// TestChoiceFollowsAChange: a few Writes after the costs have changed places the choice has, too.
func TestChoiceFollowsAChange(t *testing.T) {
	var c Choice
	for i := range 10 * explore {
		offered := c.Next()
		cost := time.Microsecond
		if offered == (i < 5*explore) {
			cost = 10 * time.Microsecond
		}
		c.Took(offered, cost, 1000)
	}
	if !c.Next() {
		t.Error("the way that was slow is still avoided")
	}
}

// TestBurst: the fourth Write that begins within 20 µs of the one before it is quick, and so are
// the next ones, until one is late or an answer.
func TestBurst(t *testing.T) {
	var b Burst
	for i, tt := range []struct {
		gap     time.Duration
		answers bool
		want    bool
	}{
		{time.Second, false, false}, {1, false, false}, {burstGap, false, false}, {5, false, false}, {5, false, true}, {5, false, true},
		{5, true, false}, {5, false, false}, {5, false, false}, {5, false, false}, {5, false, true},
		{burstGap + 1, false, false}, {5, false, false},
	} {
		if got := b.IsQuick(tt.gap, tt.answers); got != tt.want || b.IsOn() != got {
			t.Errorf("Write %d: quick %t, on %t", i, got, b.IsOn())
		}
	}
}
