package admission

import (
	"fmt"
	"testing"
)

// spoken makes n places of a source whose peers have sent something.
func (h *hall) spoken(source string, n int) (places []*Place) {
	h.t.Helper()
	for range n {
		p := h.from(source, source, true)
		h.heard(p, true)
		places = append(places, p)
	}
	return places
}

// count returns how many of the places have this state.
//
// +checklocksignore: no other goroutine is at work
func count(places []*Place, s placeState) (n int) {
	for _, p := range places {
		if p.state == s {
			n++
		}
	}
	return n
}

// TestOneSourceCanUseAll: a source may have all places, half of them lent. Its own newcomers are
// then refused: they take no place from a peer that has sent something.
func TestOneSourceCanUseAll(t *testing.T) {
	h := newHall(t, 10, 0)
	all := h.spoken("a", 10)
	if n, m := count(all, held), count(all, lent); n != 5 || m != 5 {
		t.Errorf("%d places are held and %d lent, want 5 and 5", n, m)
	}
	h.from("a", "a", false)
	h.want()
	all[0].Leave()
	h.want()
	if n, m := count(all, held), count(all, lent); n != 5 || m != 4 {
		t.Errorf("when one has left, %d places are held and %d lent, want 5 and 4", n, m)
	}
}

// TestNewcomerGetsItsShare: peers that have sent something and have all places make room for peers
// of another source, the last one first, until that source has its share. Held places stay.
func TestNewcomerGetsItsShare(t *testing.T) {
	for _, mostQuiet := range []int{0, 8} {
		t.Run(fmt.Sprintf("MostQuiet %d", mostQuiet), func(t *testing.T) {
			h := newHall(t, 12, mostQuiet)
			flood := h.spoken("flood", 12)
			honest := h.spoken("honest", 3)
			h.want("flood", "flood", "flood")
			if n := count(flood[9:], outside); n != 3 {
				t.Errorf("%d of the last three have gone", n)
			}
			if n, m := count(flood, held), count(honest, held); n != 6 || m != 3 {
				t.Errorf("the flood holds %d places and the honest ones %d, want 6 and 3", n, m)
			}
			if mostQuiet == 0 {
				h.from("honest", "honest", false)
			} else {
				h.heard(h.from("honest", "honest", true), false)
			}
			h.want()
			h.spoken("other", 1)
			h.want("flood")
		})
	}
}

// TestSilentTakeBackLittle: silent newcomers take back at most a sixteenth of all places from peers
// that have sent something, and no held place.
func TestSilentTakeBackLittle(t *testing.T) {
	h := newHall(t, 64, 0)
	busy := h.spoken("busy", 64)
	for i := range 1000 {
		h.from(fmt.Sprint("flood ", i%20), "flood", true)
	}
	if n, m := count(busy, held), count(busy, lent); n != 32 || m != 28 {
		t.Errorf("%d places are still held and %d lent, want 32 and 28", n, m)
	}
}

// TestShareOfFloods: n sources that send and take all places that they can leave 1/(n+1) of the
// places for others, for almost as many sources as there are places. A peer that holds its place
// keeps it, and a peer of another source that arrives meanwhile finds a place.
func TestShareOfFloods(t *testing.T) {
	const most = 1024
	for _, tt := range []struct{ sources, free int }{{1, 511}, {2, 341}, {10, 93}, {100, 10}, {1000, 1}} {
		h := newHall(t, most, most)
		early := h.spoken("early", 1)
		floods := make(map[string][]*Place)
		for i := range 3 * most {
			source := fmt.Sprint("flood ", i%tt.sources)
			p := h.from(source, source, true)
			p.Heard()
			floods[source] = append(floods[source], p)
		}
		free := most - 1
		for _, places := range floods {
			free -= count(places, held)
		}
		if free < tt.free || count(early, held) != 1 {
			t.Errorf("%d sources leave %d places, want at least %d; the early one holds %d", tt.sources, free, tt.free, count(early, held))
		}
		late := h.spoken("late", 1)
		if count(late, held) != 1 {
			t.Errorf("%d sources: a late peer holds no place", tt.sources)
		}
		t.Logf("%d sources of a flood leave %d of %d places", tt.sources, free, most)
	}
}
