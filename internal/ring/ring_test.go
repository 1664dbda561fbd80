package ring_test

import (
	"runtime"
	"testing"

	"github.com/rddp/rddp/internal/ring"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"pgregory.net/rapid"
)

// TestProperty checks a Ring against a slice, with any sequence of calls.
func TestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring.Ring[int]
		var want []int
		var popped uint64
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 9).Draw(t, "n") {
					n++
					if p := r.Push(); *p != 0 {
						t.Fatalf("a new entry is %d", *p)
					}
					*r.At(r.Tail() - 1) = n
					want = append(want, n)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(0, len(want)).Draw(t, "n") {
					if got := *r.First(); got != want[0] {
						t.Fatalf("the first is %d, want %d", got, want[0])
					}
					r.Pop()
					want = want[1:]
					popped++
				}
			},
			"cut": func(t *rapid.T) {
				i := rapid.IntRange(0, len(want)).Draw(t, "i")
				r.Cut(popped + uint64(i))
				want = want[:i:i]
			},
			"change": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
				n++
				*r.At(popped + uint64(i)), want[i] = n, n
			},
			"": func(t *rapid.T) {
				if r.Len() != len(want) || r.Head() != popped || r.Tail() != popped+uint64(len(want)) {
					t.Fatalf("%d entries from %d to %d, want %d from %d", r.Len(), r.Head(), r.Tail(), len(want), popped)
				}
				for i, v := range want {
					if got := *r.At(popped + uint64(i)); got != v {
						t.Fatalf("%d at position %d, want %d", got, popped+uint64(i), v)
					}
				}
			},
		})
	})
}

// FuzzRing pushes and pops as the bytes say: for a byte b it pushes b%16 entries and then pops
// b/16.
func FuzzRing(f *testing.F) {
	f.Add([]byte{0x24, 0x24, 0x09, 0xf0, 0x3f, 0xf5, 0xff})
	f.Fuzz(func(t *testing.T, script []byte) {
		var r ring.Ring[uint64]
		for _, b := range script {
			for range b % 16 {
				*r.Push() = r.Tail() - 1
			}
			for range min(int(b/16), r.Len()) {
				if want := r.Head(); *r.At(want) != want || *r.First() != want {
					t.Fatalf("the entry at %d is another one", want)
				}
				r.Pop()
			}
		}
		for want := r.Head(); r.Len() > 0; want++ {
			if got := *r.First(); got != want {
				t.Fatalf("entry %d comes, want %d", got, want)
			}
			r.Pop()
		}
	})
}

// TestGrowsInTheMiddle checks each length at which a Ring grows, with the oldest entry at each
// place.
func TestGrowsInTheMiddle(t *testing.T) {
	for _, length := range []int{4, 8, 16} {
		for first := range length {
			var r ring.Ring[int]
			for i := range length {
				*r.Push() = i
			}
			for i := range first {
				r.Pop()
				*r.Push() = length + i
			}
			*r.Push() = length + first // has no place
			if r.Len() != length+1 {
				t.Fatalf("%d entries, want %d", r.Len(), length+1)
			}
			for want := first; r.Len() > 0; want++ {
				if got := *r.First(); got != want {
					t.Fatalf("%d entries, the oldest at place %d: entry %d comes, want %d", length, first, got, want)
				}
				r.Pop()
			}
		}
	}
}

// TestKeepsNothing checks that memory to which a popped entry referred is freed while the Ring is
// still in use.
func TestKeepsNothing(t *testing.T) {
	const n = 20
	var r ring.Ring[*[64]byte]
	gone := make(chan struct{}, n)
	for range n {
		p := new([64]byte)
		runtime.AddCleanup(p, func(struct{}) { gone <- struct{}{} }, struct{}{})
		*r.Push() = p
	}
	for range n {
		r.Pop()
	}
	prototest.Wait(t, "all entries are collected", func() bool {
		runtime.GC()
		return len(gone) == n
	})
	runtime.KeepAlive(&r)
}

// TestAllocations checks that a Ring allocates nothing until it exceeds its previous maximum
// length.
func TestAllocations(t *testing.T) {
	var r ring.Ring[[3]uint64]
	cycle := func() {
		for range 5 {
			*r.Push() = [3]uint64{1}
		}
		for range 5 {
			r.Pop()
		}
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n > 0 {
		t.Errorf("%v allocations for five entries, want 0", n)
	}
}

func TestAnEmptyRingHasNoMemory(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		var r ring.Ring[int]
		if r.Len() != 0 || r.Head() != 0 || r.Tail() != 0 {
			t.Error("the zero Ring is not empty")
		}
	}); n > 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestPopOfNothing checks that an empty Ring does not give out an empty place.
func TestPopOfNothing(t *testing.T) {
	var r ring.Ring[int]
	*r.Push() = 1
	r.Pop()
	defer func() {
		if recover() == nil {
			t.Error("Pop of an empty Ring returns")
		}
	}()
	r.Pop()
}
