package simtoe

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestRing compares a ring with a plain slice.
func TestRing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var r ring
	var want []byte
	next := byte(0)
	for i := range 10_000 {
		p := make([]byte, random.IntN(50))
		for j := range p {
			p[j] = next
			next++
		}
		r.put(p)
		want = append(want, p...)
		n := random.IntN(min(len(want), 60) + 1)
		r.drop(n)
		want = want[n:]
		at := random.IntN(len(want) + 1)
		got := make([]byte, len(want)-at)
		r.peek(at, got)
		if r.n != len(want) || !bytes.Equal(got, want[at:]) {
			t.Fatalf("step %d: %d octets, want %d; from %d on % x, want % x", i, r.n, len(want), at, got, want[at:])
		}
	}
}
