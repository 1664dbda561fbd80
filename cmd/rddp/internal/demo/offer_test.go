package demo

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestOfferTooLong: an offer that is too long for a slice is refused. Earlier, an offer of 2 GiB
// made the server panic on systems with 32-bit ints.
func TestOfferTooLong(t *testing.T) {
	for _, n := range []uint64{0, 4 << 30, math.MaxInt + 1, math.MaxUint64} {
		if _, _, err := grant(nil, binary.BigEndian.AppendUint64(nil, n)); err == nil {
			t.Errorf("an offer of %d bytes is taken", n)
		}
	}
}
