package perf

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"
)

// A pass touches each page once, and each price has a figure.
func TestCold(t *testing.T) {
	mem := make([]byte, 2*hugePage)
	link(mem, fewPages)
	touched := map[uint32]bool{}
	for at := uint32(0); !touched[at/smallPage]; at = binary.NativeEndian.Uint32(mem[at:]) {
		touched[at/smallPage] = true
	}
	if len(touched) != fewPages {
		t.Errorf("%d pages are linked, want %d", len(touched), fewPages)
	}
	all := measureCold()
	if runtime.GOOS != "linux" {
		return
	}
	if len(all) != len(coldPasses) {
		t.Fatalf("%d figures, want %d", len(all), len(coldPasses))
	}
	for i, c := range all {
		if c.Pause != coldPasses[i].pause || c.Pages != coldPasses[i].pages || c.PageNS <= 0 || c.HugeNS < 0 {
			t.Errorf("%+v", c)
		}
	}
}

func TestColdText(t *testing.T) {
	all := []Cold{{0, fewPages, 1.4, 0}, {5 * time.Millisecond, fewPages, 484, 7.1}, {0, manyPages, 1300, 46}}
	const want = "the price of a page, touched 256 in turn: 1 ns at once, 484 ns after 5ms (in a huge page 7), 1300 ns among 16384 pages (in a huge page 46)"
	if got := coldText(all); got != want {
		t.Errorf("got %q", got)
	}
}
