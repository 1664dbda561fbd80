package states

import (
	"fmt"
	"sync"
	"testing"
)

// A door is open, shut or locked. Only its key opens a locked door.
type door uint8

const (
	open door = iota
	shut
	locked
)

var doorNames = [...]string{"open", "shut", "locked"}

func (d door) String() string { return doorNames[d] }

var doorNext = Table[door]{
	open:   To(shut),
	shut:   To(open, locked),
	locked: To(shut),
}

// For each pair of states, a change panics if the table has no arrow, and then nothing changes.
func TestTable(t *testing.T) {
	may := map[[2]door]bool{{open, shut}: true, {shut, open}: true, {shut, locked}: true, {locked, shut}: true}
	for _, from := range []door{open, shut, locked} {
		for _, to := range []door{open, shut, locked} {
			t.Run(fmt.Sprintf("%v to %v", from, to), func(t *testing.T) {
				want, after := "", to
				if !may[[2]door{from, to}] {
					want, after = fmt.Sprintf("BUG: states.door: %v becomes %v", from, to), from
				}
				if got := doorNext.Has(from, to); got != (want == "") {
					t.Errorf("Has(%v, %v) = %v", from, to, got)
				}
				d := from
				if got := panicOf(func() { doorNext.Become(&d, to) }); got != want || d != after {
					t.Errorf("Become: panic %q, then %v, want %q, %v", got, d, want, after)
				}
				var a Atomic[door]
				a.Init(from)
				if got := panicOf(func() { a.Become(to, doorNext) }); got != want || a.Load() != after {
					t.Errorf("Atomic.Become: panic %q, then %v, want %q, %v", got, a.Load(), want, after)
				}
				a.Init(from)
				moved := false
				if got := panicOf(func() { moved = a.Move(from, to, doorNext) }); got != want || a.Load() != after || moved != (want == "") {
					t.Errorf("Atomic.Move: panic %q, then %v, want %q, %v", got, a.Load(), want, after)
				}
			})
		}
	}
}

// panicOf returns the text of f's panic, or "" if f does not panic.
func panicOf(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// A Move from a state that is not the current one changes nothing.
func TestMoveFromElsewhere(t *testing.T) {
	var a Atomic[door]
	if a.Move(locked, shut, doorNext) || a.Load() != open {
		t.Errorf("moved to %v", a.Load())
	}
}

// If several goroutines move the state at the same time, exactly one succeeds.
func TestMoveAtTheSameTime(t *testing.T) {
	const goroutines = 8
	for range 100 {
		var a Atomic[door]
		var wg sync.WaitGroup
		moved := make(chan bool, goroutines)
		for range goroutines {
			wg.Go(func() { moved <- a.Move(open, shut, doorNext) })
		}
		wg.Wait()
		n := 0
		for range goroutines {
			if <-moved {
				n++
			}
		}
		if n != 1 || a.Load() != shut {
			t.Fatalf("%d goroutines have moved the state, which is %v", n, a.Load())
		}
	}
}

// A state without a bit in a Set must not be ignored silently.
func TestTooManyStates(t *testing.T) {
	if got := panicOf(func() { To(door(16)) }); got == "" {
		t.Error("To takes a state that a Set has no bit for")
	}
}

func TestNoAllocations(t *testing.T) {
	var a Atomic[door]
	d := open
	if n := testing.AllocsPerRun(100, func() {
		doorNext.Become(&d, shut)
		doorNext.Become(&d, open)
		a.Become(shut, doorNext)
		a.Move(shut, open, doorNext)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBecome(b *testing.B) {
	d := open
	for b.Loop() {
		doorNext.Become(&d, shut)
		doorNext.Become(&d, open)
	}
}
