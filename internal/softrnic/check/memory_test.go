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
