//go:build race

package locks

import (
	"runtime"
	"sync"
)

// A holder is a goroutine that holds locks.
type holder struct {
	g    uintptr
	n    int
	held [32]rank // the first n
	next *holder
}

// A shard has the holders whose g it is for, and some of the counts.
type shard struct {
	mu     sync.Mutex
	all    *holder
	spare  *holder
	counts [numRanks]uint64
	_      [64]byte
}

var shards [256]shard

// The functions below are invisible to the race detector: the mutex of a shard orders nothing that it looks at, or it
// would miss the races between goroutines that lock different mutexes.

// lockShard locks the shard of goroutine g and returns its holder with what points to it.
//
//go:norace
func lockShard(g uintptr) (s *shard, at **holder) {
	runtime.RaceDisable()
	s = &shards[(g>>6^g>>14)%uintptr(len(shards))]
	s.mu.Lock()
	at = &s.all
	for *at != nil && (*at).g != g {
		at = &(*at).next
	}
	return s, at
}

//go:norace
func unlockShard(s *shard) {
	s.mu.Unlock()
	runtime.RaceEnable()
}

// acquire notes that goroutine g has got a lock of rank r. With inOrder it notes nothing, and returns the innermost one,
// if g holds a lock of rank r or one behind it.
//
//go:norace
func acquire(g uintptr, r rank, inOrder bool) (outer rank, ok bool) {
	s, at := lockShard(g)
	h := *at
	if h == nil {
		if h = s.spare; h == nil {
			h = new(holder)
		} else {
			s.spare = h.next
		}
		h.g, h.n, h.next = g, 0, nil
		*at = h
	}
	for i := 0; i < h.n; i++ {
		if h.held[i] >= r && (!ok || h.held[i] > outer) {
			outer, ok = h.held[i], true
		}
	}
	if ok && inOrder {
		unlockShard(s)
		return outer, false
	}
	if h.n == len(h.held) {
		unlockShard(s)
		panic("BUG: a goroutine holds too many locks")
	}
	h.held[h.n] = r
	h.n++
	s.counts[r]++
	unlockShard(s)
	return 0, true
}

// release takes back the last acquire of rank r by goroutine g. It reports false if there was none.
//
//go:norace
func release(g uintptr, r rank) bool {
	s, at := lockShard(g)
	h, found := *at, false
	if h != nil {
		i := h.n - 1
		for i >= 0 && h.held[i] != r {
			i--
		}
		if found = i >= 0; found {
			h.n--
			for ; i < h.n; i++ {
				h.held[i] = h.held[i+1]
			}
		}
		if h.n == 0 {
			*at = h.next
			h.next, s.spare = s.spare, h
		}
	}
	unlockShard(s)
	return found
}

// Counts returns how often each rank has been locked so far, by name. Those of locks that are no mutexes count, too.
func Counts() map[string]uint64 {
	counts := make(map[string]uint64)
	for r := range numRanks {
		if n := count(r); n > 0 {
			counts[r.String()] = n
		}
	}
	return counts
}

//go:norace
func count(r rank) (n uint64) {
	runtime.RaceDisable()
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		n += s.counts[r]
		s.mu.Unlock()
	}
	runtime.RaceEnable()
	return n
}
