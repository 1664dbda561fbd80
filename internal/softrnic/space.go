package softrnic

import (
	"slices"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// An allocator gives out parts of a Context's memory. Neighbors that come back become one part
// again, so free memory serves requests of any size.
type allocator struct {
	free []extent // by offset; no two touch
}

// An extent is a part of the memory.
type extent struct{ off, end uint64 }

// take gives out the first free part that is long enough.
func (a *allocator) take(size uint32) (off uint64, ok bool) {
	for i := range a.free {
		e := &a.free[i]
		if e.end-e.off < uint64(size) {
			continue
		}
		off = e.off
		if e.off += uint64(size); e.off == e.end {
			a.free = slices.Delete(a.free, i, i+1)
		}
		return off, true
	}
	return 0, false
}

// giveBack takes a part back. It ignores a mapping of size 0.
func (a *allocator) giveBack(m uverbs.Mapping) {
	if m.Size == 0 {
		return
	}
	e := extent{m.Offset, m.Offset + uint64(m.Size)}
	i, _ := slices.BinarySearchFunc(a.free, e.off, func(x extent, off uint64) int {
		if x.off < off {
			return -1
		}
		return 1
	})
	from, to := i, i
	if i > 0 && a.free[i-1].end == e.off {
		from, e.off = i-1, a.free[i-1].off
	}
	if i < len(a.free) && a.free[i].off == e.end {
		to, e.end = i+1, a.free[i].end
	}
	a.free = slices.Replace(a.free, from, to, e)
}
