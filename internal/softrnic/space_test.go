package softrnic

import (
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// TestAllocator: parts never overlap, and memory that comes back serves requests of any size.
func TestAllocator(t *testing.T) {
	const from, end = 4096, 1 << 20
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	a := allocator{free: []extent{{from, end}}}
	used := make([]bool, end)
	var all []uverbs.Mapping
	for range 20_000 {
		if r.IntN(2) == 0 {
			size := uint32(1+r.IntN(20)) << r.IntN(10)
			off, ok := a.take(size)
			if !ok {
				continue
			}
			if off < from || off+uint64(size) > end {
				t.Fatalf("%d bytes at %d", size, off)
			}
			for i := range uint64(size) {
				if used[off+i] {
					t.Fatalf("byte %d is given out twice", off+i)
				}
				used[off+i] = true
			}
			all = append(all, uverbs.Mapping{Offset: off, Size: size})
		} else if len(all) > 0 {
			i := r.IntN(len(all))
			m := all[i]
			all[i], all = all[len(all)-1], all[:len(all)-1]
			clear(used[m.Offset:][:m.Size])
			a.giveBack(m)
		}
	}
	for _, m := range all {
		a.giveBack(m)
	}
	a.giveBack(uverbs.Mapping{})
	if off, ok := a.take(end - from); !ok || off != from {
		t.Errorf("all that is free is not one part: %v", a.free)
	}
	if _, ok := a.take(1); ok {
		t.Error("a byte more than there is")
	}
}
