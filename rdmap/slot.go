package rdmap

import "sync/atomic"

// A slot is the entry of a CompletionQueue of depth 1. Its state says which goroutine may use its
// Completion, so it needs no lock:
//
//	empty ──reserve──▶ reserved ──complete──▶ changing ──▶ filled or waking
//	  ▲◀────release───────┘                                      │
//	  └──────────────── changing ◀──────────take─────────────────┘
//
// Only the goroutine that brought the slot to changing reads or writes the Completion. It ends that
// state at once, without waiting for anything.
type slot struct {
	state atomic.Uint32
	c     Completion
}

const (
	slotEmpty    uint32 = iota
	slotReserved        // reserved for a request
	slotChanging        // one goroutine writes or takes the Completion
	slotFilled          // holds a Completion
	slotWaking          // holds a Completion that ends a Wait for solicited ones
)

// len returns 1 if the slot holds a Completion.
func (s *slot) len() int {
	if s.state.Load() >= slotFilled {
		return 1
	}
	return 0
}

// reserve reserves the slot for a request. It returns false if the slot is not empty.
func (s *slot) reserve() bool { return s.state.CompareAndSwap(slotEmpty, slotReserved) }

// release empties a reserved slot.
func (s *slot) release() {
	if !s.state.CompareAndSwap(slotReserved, slotEmpty) {
		panic(errNotReserved)
	}
}

// complete fills a reserved slot. wakes says whether the Completion ends a Wait for solicited ones.
func (s *slot) complete(done *Completion, wakes bool) {
	if !s.state.CompareAndSwap(slotReserved, slotChanging) {
		panic(errNotReserved)
	}
	s.c = *done
	state := slotFilled
	if wakes {
		state = slotWaking
	}
	s.state.Store(state)
}

// take moves the Completion to dst and returns 1. If there is no Completion, or if solicited is
// true and the Completion does not wake, take returns 0.
func (s *slot) take(dst *Completion, solicited bool) int {
	state := s.state.Load()
	if state < slotFilled || solicited && state != slotWaking || !s.state.CompareAndSwap(state, slotChanging) {
		return 0
	}
	*dst, s.c = s.c, Completion{}
	s.state.Store(slotEmpty)
	return 1
}
