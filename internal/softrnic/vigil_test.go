package softrnic

import (
	"testing"
	"time"
)

// TestVigil turns the clock of a vigil whose limit is 8 s, so that a round is 2 s.
func TestVigil(t *testing.T) {
	const limit = 8 * time.Second
	if got := roundOf(limit); got != 2*time.Second {
		t.Fatalf("a round is %v", got)
	}
	if got := roundOf(time.Hour); got != roundMost {
		t.Errorf("a round of an hour is %v", got)
	}
	start := time.Unix(1000, 0)
	type round struct{ at, heard float64 } // seconds after start; heard is when there was the last sign
	for _, tt := range []struct {
		desc   string
		rounds []round
		asks   int // of the rounds
		lost   int // the first round that says lost, from 1 on; 0 means none
	}{
		{"silence", []round{{2, 0}, {4, 0}, {6, 0}, {8, 0}, {10, 0}}, 4, 5},
		{"signs in each round", []round{{2, 1}, {4, 2.5}, {6, 5}, {8, 7}, {10, 9}, {12, 11}, {14, 13}}, 0, 0},
		{"a sign at the last moment", []round{{2, 0}, {4, 0}, {6, 0}, {8, 0}, {10, 9.9}, {12, 9.9}, {14, 9.9}, {16, 9.9}, {18, 9.9}, {20, 9.9}}, 8, 10},
		{"this host has stood still", []round{{2, 0}, {100, 0}, {102, 101}}, 2, 0},
		{"this host stands still again and again", []round{{10, 0}, {20, 0}, {30, 0}, {40, 0}, {50, 49}}, 4, 0},
		{"rounds that come early", []round{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {8.9, 0}, {9, 0}}, 7, 8},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			after := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
			v, asks, first := vigil{last: start}, 0, 0
			for i, r := range tt.rounds {
				ask, lost := v.look(after(r.at), after(r.heard), limit)
				if ask {
					asks++
				}
				if lost && first == 0 {
					first = i + 1
				}
			}
			if asks != tt.asks || first != tt.lost {
				t.Errorf("it asks %d times and the peer is lost in round %d, want %d and %d", asks, first, tt.asks, tt.lost)
			}
		})
	}
}
