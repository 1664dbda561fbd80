// Package ring implements the FIFO queue that all layers use.
package ring

// A Ring is a queue in a slice whose places are reused. Each entry has a position. The first entry
// that is pushed has position 0, and every other one has the position after that of the entry
// pushed before it. So the entries are at the positions from Head up to, but not including, Tail.
// Both only grow, unless Cut is called.
//
// The zero Ring is empty. A Ring grows to the length that it needs, and does not shrink. It has no
// limit: callers with a limit compare it with Len.
type Ring[T any] struct {
	places     []T // the highest length so far, rounded up to a power of two
	head, tail uint64
}

// minPlaces is the number of places of a Ring that has held an entry: most Rings of an idle
// connection never hold more at a time. It is a power of two.
const minPlaces = 1

// Len returns the number of entries.
func (r *Ring[T]) Len() int { return int(r.tail - r.head) }

// Head returns the position of the oldest entry. In an empty Ring it is Tail.
func (r *Ring[T]) Head() uint64 { return r.head }

// Tail returns the position that the next entry will have.
func (r *Ring[T]) Tail() uint64 { return r.tail }

// At returns the entry at pos, which must be at least Head and less than Tail. The result is valid
// until the next Push.
func (r *Ring[T]) At(pos uint64) *T { return &r.places[pos&uint64(len(r.places)-1)] }

// First returns the oldest entry. The Ring must not be empty.
func (r *Ring[T]) First() *T { return r.At(r.head) }

// Push adds an entry and returns it. It is the zero T, for the caller to fill in. Passing a long
// entry by value would take longer than everything else here.
func (r *Ring[T]) Push() *T {
	if r.Len() == len(r.places) {
		r.grow()
	}
	r.tail++
	return r.At(r.tail - 1)
}

// Pop removes the oldest entry. The Ring must not be empty. Pop clears the entry, so memory that
// the entry refers to can be freed.
func (r *Ring[T]) Pop() {
	if r.head == r.tail {
		panic("BUG: Pop of an empty ring")
	}
	*r.At(r.head) = *new(T)
	r.head++
}

// Cut removes the entries from pos on, which must be at least Head and at most Tail. The next Push
// has the position pos.
func (r *Ring[T]) Cut(pos uint64) {
	for r.tail > pos {
		r.tail--
		*r.At(r.tail) = *new(T)
	}
}

// grow doubles the number of places.
func (r *Ring[T]) grow() {
	longer := Ring[T]{places: make([]T, max(2*len(r.places), minPlaces)), head: r.head, tail: r.tail}
	for pos := r.head; pos < r.tail; pos++ {
		*longer.At(pos) = *r.At(pos)
	}
	*r = longer
}
