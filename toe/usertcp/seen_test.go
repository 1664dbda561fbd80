package usertcp

import (
	"math/rand/v2"
	"testing"
)

// TestSeenAgainstModel compares seenState with a set of sequence numbers, near the place where they
// wrap.
func TestSeenAgainstModel(t *testing.T) {
	const seed, rounds, space = 1, 2000, 400
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		base := uint32(0xffff_ffff - 200)
		s := seenState{next: base, known: true}
		var model [space]bool // by distance from base
		next := 0             // of the model
		for range 60 {
			from := random.IntN(space - 20)
			to := from + 1 + random.IntN(19)
			r := seqRange{base + uint32(from), base + uint32(to)}
			switch {
			case from <= next:
				s.arrived(r.end)
			default:
				has := true
				for _, in := range model[from:to] {
					has = has && in
				}
				if got := s.has(r); got != has {
					t.Fatalf("round %d: has(%d, %d) = %t", round, from, to, got)
				}
				if !s.add(r) {
					t.Fatalf("round %d: add refused range %d of %d", round, len(s.ranges), maxRanges)
				}
			}
			for i := from; i < to; i++ {
				model[i] = true
			}
			for model[next] || next < from && from <= next {
				next++
			}
			if s.next != base+uint32(next) {
				t.Fatalf("round %d: next is %d, want %d", round, s.next-base, next)
			}
			for i, r := range s.ranges {
				if !before(r.start, r.end) || !before(s.next, r.start) || i > 0 && !before(s.ranges[i-1].end, r.start) {
					t.Fatalf("round %d: ranges %v", round, s.ranges)
				}
			}
		}
	}
}

// TestSeenIsBounded: the peer cannot cause too many ranges. Bytes that join two ranges are still
// recorded.
func TestSeenIsBounded(t *testing.T) {
	s := seenState{known: true}
	for i := range uint32(10_000) {
		if ok := s.add(seqRange{2*i + 1, 2*i + 2}); ok != (i < maxRanges) {
			t.Fatalf("add of range %d = %t", i, ok)
		}
	}
	if len(s.ranges) != maxRanges {
		t.Errorf("%d ranges, want %d", len(s.ranges), maxRanges)
	}
	if !s.add(seqRange{2, 3}) || len(s.ranges) != maxRanges-1 {
		t.Errorf("bytes between two ranges are not recorded: %d ranges", len(s.ranges))
	}
	s.arrived(1)
	if s.next != 4 || len(s.ranges) != maxRanges-2 {
		t.Errorf("next is %d, with %d ranges", s.next, len(s.ranges))
	}
	s.acknowledged(1<<20, false)
	if s.next != 1<<20 || len(s.ranges) != 0 {
		t.Errorf("after an ACK of everything: next %d, %d ranges", s.next, len(s.ranges))
	}
}
