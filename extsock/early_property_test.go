package extsock_test

import (
	"testing"

	"github.com/rddp/rddp/internal/honest"
	"github.com/rddp/rddp/internal/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestEarlyPlacementChangesNothing runs the same operations with and without early placement, over
// a simulated TCP that shows many runs early.
// MPA-5044-1.2-1
func TestEarlyPlacementChangesNothing(t *testing.T) {
	honest.EarlyPlacementChangesNothing(t, honest.EarlyNetwork{
		Pair: func(_ *testing.T, seed uint64) (a, b toe.Stream, stop func() (lost uint64)) {
			wire := simtoe.Config{Seed: seed, Split: true, MaxSegment: 3000, Early: 0.5}
			a, b = simtoe.Pair(wire, wire)
			return a, b, func() uint64 { return 0 }
		},
		Requests: 24, Length: 20_000, Seeds: testmode.Count(10_000, testmode.Rounds(100, 30)), AtOnce: 2,
	})
}
