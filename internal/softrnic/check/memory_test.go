package check

import "testing"

// TestSample: there are few offsets, in order and in the memory, the first and the last byte among
// them.
func TestSample(t *testing.T) {
	for _, n := range []uint64{0, 1, 4095, 4096, 4097, 64 * 4096, 1 << 20, 1<<63 - 1} {
		all := Sample(n)
		if n == 0 {
			if len(all) != 0 {
				t.Errorf("Sample(0) = %v", all)
			}
			continue
		}
		if len(all) > maxSamples+2 || all[0] != 0 || all[len(all)-1] != n-1 {
			t.Errorf("Sample(%d) has %d offsets, from %d to %d", n, len(all), all[0], all[len(all)-1])
		}
		for i := range all[1:] {
			if all[i+1] < all[i] || all[i+1] >= n {
				t.Errorf("Sample(%d) has %d behind %d", n, all[i+1], all[i])
			}
		}
	}
}

// TestOverlaps: spans overlap if they have a byte in common.
func TestOverlaps(t *testing.T) {
	for _, tt := range []struct {
		a, b Span
		want bool
	}{
		{Span{10, 10}, Span{20, 10}, false}, {Span{10, 11}, Span{20, 10}, true}, {Span{10, 30}, Span{20, 5}, true}, {Span{20, 5}, Span{20, 5}, true},
		{Span{20, 0}, Span{10, 30}, false}, {Span{10, 30}, Span{20, 0}, false}, {Span{1 << 63, 1 << 62}, Span{0, 1 << 40}, false},
	} {
		if tt.a.Overlaps(tt.b) != tt.want || tt.b.Overlaps(tt.a) != tt.want {
			t.Errorf("%v and %v: want %t", tt.a, tt.b, tt.want)
		}
	}
}
