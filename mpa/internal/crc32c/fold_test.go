//go:build amd64 || arm64

package crc32c

import (
	"math/bits"
	"testing"
)

// power returns x^n modulo the polynomial; bit k is the coefficient of x^k.
func power(n int) uint32 {
	const polynomial = 0x1EDC6F41 // without x^32
	r := uint32(1)
	for range n {
		top := r >> 31
		r <<= 1
		r ^= top * polynomial
	}
	return r
}

// TestFoldConstants computes the table from the polynomial, as the comment of fold describes.
func TestFoldConstants(t *testing.T) {
	rows := []int{3968, 2944, 2432, 2048, 1536, 1280, 1024, 768, 640, 512, 384, 256, 128}
	if len(fold) != len(rows)+1 || fold[len(rows)] != [2]uint64{} {
		t.Fatalf("fold has %d rows, want %d and a row of zeros", len(fold), len(rows))
	}
	for i, d := range rows {
		first := uint64(bits.Reverse32(power(d+32))) << 1
		second := uint64(bits.Reverse32(power(d-32))) << 1
		if fold[i] != [2]uint64{first, second} {
			t.Errorf("row of %d bits: {%#09x, %#09x}, want {%#09x, %#09x}", d, fold[i][0], fold[i][1], first, second)
		}
	}
}

// multiply returns the carry-less product of a and b.
func multiply(a, b uint64) (high, low uint64) {
	for i := range 64 {
		if b>>i&1 == 1 {
			low ^= a << i
			high ^= a >> 1 >> (63 - i)
		}
	}
	return high, low
}

// TestFoldMovesALane checks what fold is for, without a kernel: a lane in front of zeros has the
// same CRC as the folded lane after them.
func TestFoldMovesALane(t *testing.T) {
	p, _ := random(t, 16)
	for i, d := range []int{3968, 2944, 2432, 2048, 1536, 1280, 1024, 768, 640, 512, 384, 256, 128} {
		far := make([]byte, d/8+16)
		copy(far, p)
		var lane [2]uint64
		for k := range 16 {
			lane[k/8] |= uint64(p[k]) << (8 * (k % 8))
		}
		h0, l0 := multiply(lane[0], fold[i][0])
		h1, l1 := multiply(lane[1], fold[i][1])
		near := make([]byte, 16)
		for k := range 8 {
			near[k], near[8+k] = byte((l0^l1)>>(8*k)), byte((h0^h1)>>(8*k))
		}
		// The register begins with zeros here, that is, with the CRC of all ones inverted.
		if got, want := updatePortable(^uint32(0), near), updatePortable(^uint32(0), far); got != want {
			t.Errorf("row of %d bits: %08x, want %08x", d, got, want)
		}
	}
}
