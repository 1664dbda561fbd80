package driver

import "testing"

// TestGrantsShareTheLimit: all grants together take at most half of what everything else leaves,
// and one takes at most half of what is left for grants. No request is too large to be counted.
func TestGrantsShareTheLimit(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, tt := range []struct {
		desc               string
		limit, taken, held int64 // held is the part of taken that other grants have
		n, granted         int
		size               int64 // bytes reserved
	}{
		{"all that is asked for", 128 * mib, 0, 0, mib, mib, mib},
		{"a chunk of the pool", 128 * mib, 0, 0, 40_000, 40_000, 64 * kib},
		{"half of the half", 128 * mib, 0, 0, 64 * mib, 32 * mib, 32 * mib},
		{"half of the rest of the half", 128 * mib, 32 * mib, 32 * mib, 64 * mib, 16 * mib, 16 * mib},
		{"others have some", 128 * mib, 64 * mib, 0, 64 * mib, 16 * mib, 16 * mib},
		{"the half is used up", 128 * mib, 64 * mib, 64 * mib, 64 * mib, 0, 0},
		{"more than the half, after the limit fell", 64 * mib, 64 * mib, 64 * mib, mib, 0, 0},
		{"no chunk of the pool fits", 2 * mib, 0, 0, 300 * kib, 300 * kib, 512 * kib},
		{"half of it fits", 1600 * kib, 0, 0, 300 * kib, 150 * kib, 256 * kib},
		{"less than a chunk of the pool", 4 * 600 * kib, 0, 0, 64 * mib, 300 * kib, 512 * kib},
		{"the shortest grant", 128 * kib, 0, 0, mib, 32 * kib, 32 * kib},
		{"too short to be worth it", 128*kib - 4, 0, 0, mib, 0, 0},
		{"no memory", 0, 0, 0, mib, 0, 0},
		{"less than none", 0, mib, 0, mib, 0, 0},
	} {
		b := newBudget(tt.limit)
		b.taken.Store(tt.taken)
		b.grants.Store(tt.held)
		if n := b.takeGrant(tt.n); n != tt.granted {
			t.Errorf("%s: %d bytes of %d are granted, want %d", tt.desc, n, tt.n, tt.granted)
		}
		if taken, grants := b.taken.Load()-tt.taken, b.grants.Load()-tt.held; taken != tt.size || grants != tt.size {
			t.Errorf("%s: %d bytes are taken, and %d for grants, want %d", tt.desc, taken, grants, tt.size)
		}
		b.giveGrant(tt.size)
		if b.taken.Load() != tt.taken || b.grants.Load() != tt.held {
			t.Errorf("%s: afterwards %d bytes are taken, and %d for grants", tt.desc, b.taken.Load(), b.grants.Load())
		}
	}
}
