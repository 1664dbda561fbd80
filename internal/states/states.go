// Package states provides tables of states: which state may follow which.
//
// A kind of state is an enum with names, and a [Table] holds the arrows of its drawing. One
// function for each kind changes the state, with [Table.Become] or [Atomic.Become], which panic
// with "BUG: " if the table has no arrow. So a change that the drawing does not allow panics at
// once, and not later at an unexpected place.
//
//	// A door is open or shut. A shut door may be locked and unlocked:
//	//
//	//	open ◀──▶ shut ◀──▶ locked
//	type door uint8
//
//	const (
//		open door = iota
//		shut
//		locked
//	)
//
//	var doorNames = [...]string{"open", "shut", "locked"}
//
//	func (d door) String() string { return doorNames[d] }
//
//	var doorNext = states.Table[door]{
//		open:   states.To(shut),
//		shut:   states.To(open, locked),
//		locked: states.To(shut),
//	}
//
//	doorNext.Become(&d, shut)
//
// A table is a value without a lock. A change of state costs one look at the table, and no
// allocation.
package states

import (
	"fmt"
	"sync/atomic"
)

// A State is a kind of state: an enum of at most 16 values, from 0 on, that have names.
type State interface {
	~uint8
	fmt.Stringer
}

// A Set is a set of states: bit s is set if state s is in it.
type Set uint16

// To returns the set of the states that may follow another state.
func To[S State](next ...S) (set Set) {
	for _, s := range next {
		if s >= 16 {
			panic(fmt.Sprintf("BUG: %T: too many states", s))
		}
		set |= 1 << s
	}
	return set
}

// A Table lists the states that may follow each state.
type Table[S State] []Set

// Has reports whether the state may go from now to next.
func (t Table[S]) Has(now, next S) bool { return t[now]>>next&1 != 0 }

// Become changes the state *now to next. It panics if the table has no arrow for that.
func (t Table[S]) Become(now *S, next S) {
	if t[*now]>>next&1 == 0 {
		panic(noArrow{*now, next})
	}
	*now = next
}

// A noArrow is the panic value for a change that the table does not have. It makes its text when it
// is printed, so that the compiler inlines Become.
type noArrow struct{ now, next fmt.Stringer }

func (n noArrow) Error() string { return fmt.Sprintf("BUG: %T: %v becomes %v", n.next, n.now, n.next) }

// An Atomic is a state that any goroutine may load. It begins as 0, unless Init sets another first
// state.
type Atomic[S State] struct{ now atomic.Uint32 }

// Init sets the first state. It needs no arrow. No other goroutine may use a before that.
func (a *Atomic[S]) Init(first S) { a.now.Store(uint32(first)) }

// Load returns the state.
func (a *Atomic[S]) Load() S { return S(a.now.Load()) }

// Become changes the state to next. It panics if t has no arrow for that. No other goroutine may
// change the state at the same time.
func (a *Atomic[S]) Become(next S, t Table[S]) {
	now := a.Load()
	t.Become(&now, next)
	a.now.Store(uint32(now))
}

// Move changes the state from now to next. If the state is not now, Move returns false. It panics
// if t has no arrow from now to next. Goroutines may call Move at the same time.
func (a *Atomic[S]) Move(now, next S, t Table[S]) bool {
	from := now
	t.Become(&now, next)
	return a.now.CompareAndSwap(uint32(from), uint32(now))
}
