package crc32c

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// TestUpdateAhead compares UpdateAhead with Update, for destinations of other lengths too, and
// checks that the destination stays as it is.
func TestUpdateAhead(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, 70_000)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	lengths := []int{0, 1, 63, 64, 65, aheadPiece - 1, aheadPiece, aheadPiece + 1, 16 << 10, 65_000, len(p)}
	for _, n := range lengths {
		for _, m := range append(lengths, r.IntN(len(p))) {
			at := r.IntN(64)
			memory := bytes.Repeat([]byte{0xa5}, at+m)
			dst := memory[at:]
			if m == 0 {
				dst = nil
			}
			start := r.Uint32()
			if got, want := UpdateAhead(start, p[:n], dst), Update(start, p[:n]); got != want {
				t.Errorf("UpdateAhead of %d bytes with a destination of %d = %08x, want %08x", n, m, got, want)
			}
			if bytes.Count(memory, []byte{0xa5}) != len(memory) {
				t.Fatalf("UpdateAhead of %d bytes changed its destination of %d", n, m)
			}
		}
	}
}
