//go:build race

package locks

import (
	"runtime"
	"sync/atomic"
)

// A holder is a goroutine that has locked something. The runtime reuses the address of a goroutine
// that has ended for a new one, which then reuses the holder. So the number of holders is at most
// the highest number of goroutines at one time. Only the goroutine itself, and Counts, use its
// holder. (On systems where goroutine returns a number, which is never reused, each goroutine's
// holder remains.)
type holder struct {
	g      uintptr
	n      int
	held   [32]rank // the first n
	base   int      // the locks before it are outside a call of the program: see CallOut
	counts [len(order)]uint64
	next   *holder
}

// buckets holds all holders, by g.
var buckets [1024]atomic.Pointer[holder]

// The functions below are invisible to the race detector. Otherwise they would synchronize
// goroutines that lock different mutexes, and the race detector would miss races between them.

// holderOf returns the holder of goroutine g, which calls it.
//
//go:norace
func holderOf(g uintptr) *holder {
	runtime.RaceDisable()
	bucket := &buckets[(g>>6^g>>16)%uintptr(len(buckets))]
	first := bucket.Load()
	h := first
	for h != nil && h.g != g {
		h = h.next
	}
	if h == nil {
		h = &holder{g: g, next: first}
		for !bucket.CompareAndSwap(h.next, h) {
			h.next = bucket.Load()
		}
	}
	runtime.RaceEnable()
	return h
}

// acquire records that goroutine g has got a lock of rank r. If inOrder is set and g holds a lock
// of rank r or of a later rank, acquire records nothing and returns the innermost one.
//
//go:norace
func acquire(g uintptr, r rank, inOrder bool) (outer rank, ok bool) {
	h := holderOf(g)
	for i := h.base; i < h.n; i++ {
		if h.held[i] >= r && (!ok || h.held[i] > outer) {
			outer, ok = h.held[i], true
		}
	}
	if ok && inOrder {
		return outer, false
	}
	if h.n == len(h.held) {
		panic("BUG: a goroutine holds too many locks")
	}
	h.held[h.n] = r
	h.n++
	h.counts[r]++
	return 0, true
}

// callOut begins a call of the program's code by goroutine g. If the goroutine holds a lock that is
// not a turn, callOut returns false and that lock.
//
//go:norace
func callOut(g uintptr) (base int, inside rank, ok bool) {
	h := holderOf(g)
	for i := h.base; i < h.n; i++ {
		if !isTurn[h.held[i]] {
			return 0, h.held[i], false
		}
	}
	base, h.base = h.base, h.n
	return base, 0, true
}

// endCallOut ends callOut, which returned base.
//
//go:norace
func endCallOut(g uintptr, base int) { holderOf(g).base = base }

// release undoes the last acquire of rank r by goroutine g. It returns false if there was none.
//
//go:norace
func release(g uintptr, r rank) bool {
	h := holderOf(g)
	i := h.n - 1
	for i >= 0 && h.held[i] != r {
		i--
	}
	if i < 0 {
		return false
	}
	h.n--
	for ; i < h.n; i++ {
		h.held[i] = h.held[i+1]
	}
	return true
}

// countNested counts a lock of rank r that goroutine g gets inside another one of that rank. It
// returns false if g holds none.
//
//go:norace
func countNested(g uintptr, r rank) bool {
	h := holderOf(g)
	for i := 0; i < h.n; i++ {
		if h.held[i] == r {
			h.counts[r]++
			return true
		}
	}
	return false
}

// Counts returns how often each rank has been locked so far, by name, including locks that are not
// mutexes. Locks taken during the call may be missing.
func Counts() map[string]uint64 {
	counts := make(map[string]uint64)
	for r := range rank(len(order)) {
		if n := count(r); n > 0 {
			counts[r.String()] = n
		}
	}
	return counts
}

//go:norace
func count(r rank) (n uint64) {
	runtime.RaceDisable()
	for i := range buckets {
		for h := buckets[i].Load(); h != nil; h = h.next {
			n += h.counts[r]
		}
	}
	runtime.RaceEnable()
	return n
}
