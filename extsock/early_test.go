package extsock_test

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestStreamWithEarlyRuns moves a byte stream whose FPDUs are short enough to be found in the runs
// that arrive early. Segments that were placed early then complete a message before the next message
// begins.
func TestStreamWithEarlyRuns(t *testing.T) {
	for _, messages := range []bool{false, true} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("messages %t, seed %d", messages, seed), func(t *testing.T) {
				s := side{cfg: extsock.Config{Markers: true, MaxFPDU: 700, Messages: messages}}
				ci, cr := simPair(t, simtoe.Config{Seed: seed, Split: true, MaxSegment: 2500, Early: 0.6}, s, s)
				bounded(t, ci, cr)
				bothWays(t, ci, cr, 1<<19, 1<<16)
			})
		}
	}
}
