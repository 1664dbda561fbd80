package perf

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestDistance(t *testing.T) {
	tests := []struct {
		desc  string
		times []time.Duration // 0: the measurement fails
		near  []bool
	}{
		{"steady", []time.Duration{55, 60, 50}, []bool{true, true, true}},
		{"moves away and back", []time.Duration{55, 310, 400, 320, 310, 56}, []bool{true, false, true}},
		{"one measurement is too long", []time.Duration{55, 900, 60, 900, 900, 900, 57}, []bool{true, true, true}},
		{"begins far apart", []time.Duration{310, 55, 310, 310, 310, 310}, []bool{true, true, false}},
		{"cannot tell", []time.Duration{0, 55, 0, 310, 310, 310, 310}, []bool{true, true, true, false}},
	}
	for _, tt := range tests {
		i := 0
		d := distance{measure: func() (time.Duration, bool) { i++; return tt.times[i-1], tt.times[i-1] > 0 }}
		for n, want := range tt.near {
			if got := d.near(); got != want {
				t.Errorf("%s: question %d: near %v, want %v", tt.desc, n, got, want)
			}
		}
		if i != len(tt.times) {
			t.Errorf("%s: %d measurements, want %d", tt.desc, i, len(tt.times))
		}
	}
	if d := (distance{}); !d.near() {
		t.Error("a distance that watches nothing is far")
	}
}

func TestBounce(t *testing.T) {
	var line atomic.Int64
	other := make(chan bool)
	go func() { other <- bounce(&line, 1) }()
	// The odd end is the last: its time may run out after the other end has completed its part.
	if a, b := bounce(&line, 0), <-other; b && !a || b != (line.Load() == lineHops) {
		t.Errorf("bounce: %v and %v, the line is %d", a, b, line.Load())
	}
	line.Store(7)
	if bounce(&line, 0) {
		t.Error("bounce without another goroutine has succeeded")
	}
	if d, ok := lineTime(); ok && (d <= 0 || d > lineLimit) {
		t.Errorf("lineTime: %v", d)
	}
}
