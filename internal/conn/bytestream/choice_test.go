package bytestream

import (
	"slices"
	"testing"
	"time"
)

// write lets c choose the way of a Write of 1000 bytes, which takes cost[0] as data and cost[1] by
// rendezvous.
func (c *Choice) write(cost [2]time.Duration) (offered bool) {
	if offered = c.Next(); offered {
		c.Took(true, cost[1], 1000)
	} else {
		c.Took(false, cost[0], 1000)
	}
	return offered
}

// TestChoiceTriesTheOtherWay: after both ways have been tried, long Writes go the way that costs
// less. After 32, 64, 128, ... and then after each 1024 Writes, one goes the other way, to see
// whether that has changed. The same holds if no Write that goes the other way succeeds.
func TestChoiceTriesTheOtherWay(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for _, offers := range []bool{false, true} { // the way that costs less
			costs := [2]time.Duration{time.Microsecond, 10 * time.Microsecond}
			if offers {
				costs = [2]time.Duration{10 * time.Microsecond, time.Microsecond}
			}
			var c Choice
			for range firstWrites {
				c.write(costs)
			}
			var tries []int
			for i := 1; i <= 5*maxInterval; i++ {
				before := c
				if c.write(costs) == offers {
					continue
				}
				tries = append(tries, i)
				if fails {
					c = before
					c.Next()
				}
			}
			if want := []int{32, 96, 224, 480, 992, 2016, 3040, 4064, 5088}; !slices.Equal(tries, want) {
				t.Errorf("offers cost less: %t; tries fail: %t: the Writes %v went the other way, want %v", offers, fails, tries, want)
			}
		}
	}
}

// TestChoiceOfCloseCosts: while the costs are close, each 32nd Write tries the other way, even
// after tries have become rare.
func TestChoiceOfCloseCosts(t *testing.T) {
	var c Choice
	for range 10 * maxInterval {
		c.write([2]time.Duration{1000, 10_000})
	}
	near := [2]time.Duration{1000, 1900}
	for n := 0; !c.write(near); n++ {
		if n == maxInterval {
			t.Fatal("no Write tries the other way")
		}
	}
	for n := 1; n <= 10*minInterval; n++ {
		if offered := c.write(near); offered != (n%minInterval == 0) {
			t.Fatalf("Write %d after the costs came close: offered %t", n, offered)
		}
	}
}

// TestChoiceFollowsAChange: when the costs change places, the Choice follows at once if the way in
// use has become expensive, and after the next tries if the other way has become cheap.
func TestChoiceFollowsAChange(t *testing.T) {
	for _, offers := range []bool{false, true} { // the way that costs less at first
		way := 0
		if offers {
			way = 1
		}
		for _, tt := range []struct {
			desc    string
			changes int           // the way that changes
			to      time.Duration // its cost
			most    int           // Writes that still go the old way
		}{
			{"the way in use becomes expensive", way, 400_000, 2},
			{"the other way becomes cheap", 1 - way, 400, maxInterval + 9*minInterval},
		} {
			var costs [2]time.Duration
			costs[way], costs[1-way] = 4000, 40_000
			var c Choice
			for range 10 * maxInterval {
				c.write(costs)
			}
			costs[tt.changes] = tt.to
			old := 0
			for c.offers() == offers && old <= tt.most {
				c.write(costs)
				old++
			}
			if old > tt.most {
				t.Errorf("offers cost less at first: %t; %s: %d Writes go the old way, want %d at most", offers, tt.desc, old, tt.most)
			}
			if c.interval != minInterval {
				t.Errorf("offers cost less at first: %t; %s: the next try is %d Writes later, want %d", offers, tt.desc, c.interval, minInterval)
			}
		}
	}
}
