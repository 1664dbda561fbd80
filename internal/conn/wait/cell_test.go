package wait

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// holds reports whether l holds a value, and takes it.
func holds(l *Cell) bool {
	select {
	case <-l.C():
		return true
	default:
		return false
	}
}

// TestCell: a Cell holds at most one value, also of a Wake before anybody has asked for the
// channel.
func TestCell(t *testing.T) {
	for _, asked := range []bool{false, true} {
		var l Cell
		if asked && holds(&l) {
			t.Error("a new Cell holds a value")
		}
		l.Wake()
		l.Wake()
		if !holds(&l) || holds(&l) {
			t.Errorf("asked before: %t: not exactly one value after two Wakes", asked)
		}
		if l.Wake(); !holds(&l) {
			t.Errorf("asked before: %t: no value after a later Wake", asked)
		}
	}
}

// TestCellWakes: a goroutine that waits misses no Wake, even while the channel is being made.
func TestCellWakes(t *testing.T) {
	for range testmode.Rounds(2000, 200) {
		synctest.Test(t, func(t *testing.T) {
			var l Cell
			var wg sync.WaitGroup
			wg.Go(func() { <-l.C() })
			wg.Go(l.Wake)
			wg.Wait()
		})
	}
}

// TestAllocCell: Wake allocates nothing, also while nobody has asked for the channel.
func TestAllocCell(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	cells := make([]Cell, 101)
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		cells[i].Wake()
		cells[i].Wake()
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
