package demo

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestOfferTooLong: an offer that no slice can hold is refused. Before, one of 2 GiB made the
// server panic where an int has 32 bits.
func TestOfferTooLong(t *testing.T) {
	for _, n := range []uint64{0, 4 << 30, math.MaxInt + 1, math.MaxUint64} {
		if _, _, err := grant(nil, binary.BigEndian.AppendUint64(nil, n)); err == nil {
			t.Errorf("an offer of %d bytes is taken", n)
		}
	}
}
