package accept

import (
	"errors"
	"slices"
	"testing"
)

// A hall is the places of a Loop, and which connections have been displaced.
type hall struct {
	t         *testing.T
	all       places
	accepted  uint64
	displaced []string
}

// enter makes a place that enters at once.
func (h *hall) enter(name string, want bool) *Place {
	h.t.Helper()
	p := h.accept(name)
	h.enters(p, name, want)
	return p
}

func (h *hall) enters(p *Place, name string, want bool) {
	h.t.Helper()
	if got := p.Enter(); got != want {
		h.t.Errorf("%s: Enter = %t, want %t", name, got, want)
	}
}

// accept makes a place.
func (h *hall) accept(name string) *Place {
	h.accepted++
	p := &Place{all: &h.all, number: h.accepted}
	p.displace = func(err error) {
		if !errors.Is(err, ErrDisplaced) {
			h.t.Errorf("%s is displaced because of %v", name, err)
		}
		h.displaced = append(h.displaced, name)
	}
	return p
}

func (h *hall) heard(p *Place, want bool) {
	h.t.Helper()
	if got := p.Heard(); got != want {
		h.t.Errorf("Heard = %t, want %t", got, want)
	}
}

func (h *hall) want(displaced ...string) {
	h.t.Helper()
	if !slices.Equal(h.displaced, displaced) {
		h.t.Errorf("displaced: %q, want %q", h.displaced, displaced)
	}
	h.displaced = nil
}

// TestQuietCountTowardsMost: without MostQuiet a newcomer displaces the connection that has been
// quiet longest, and is refused only when all peers have been heard.
func TestQuietCountTowardsMost(t *testing.T) {
	h := &hall{t: t, all: places{most: 3}}
	a := h.enter("a", true)
	b := h.enter("b", true)
	c := h.enter("c", true)
	h.heard(a, true)
	h.want()
	d := h.enter("d", true)
	h.want("b")
	h.heard(b, false)
	h.heard(c, true)
	h.heard(d, true)
	h.enter("e", false)
	h.want()
	b.leave() // it has no place any more
	h.enter("f", false)
	c.leave()
	g := h.enter("g", true)
	h.heard(g, true)
	h.heard(g, true) // once more
	g.leave()
	g.leave()
	h.enter("h", true)
	h.enter("i", true)
	h.want("h")
}

// TestQuietHaveTheirOwnMost: with MostQuiet quiet connections take no place from those that were
// heard, and a connection that finds no place among those may ask again.
func TestQuietHaveTheirOwnMost(t *testing.T) {
	h := &hall{t: t, all: places{most: 1, mostQuiet: 2}}
	a := h.enter("a", true)
	h.heard(a, true)
	b := h.enter("b", true)
	c := h.enter("c", true)
	h.want()
	h.heard(b, false)
	d := h.enter("d", true)
	h.want("b")
	h.heard(c, false)
	a.leave()
	h.heard(c, true)
	h.heard(d, false)
	d.leave()
	h.enter("e", true)
	h.enter("f", true)
	h.want()
	h.enter("g", true)
	h.want("e")
}

// TestOlderConnectionsDisplaceNone: the order in which connections were accepted counts, and not
// the one in which they enter.
func TestOlderConnectionsDisplaceNone(t *testing.T) {
	h := &hall{t: t, all: places{most: 1, mostQuiet: 2}}
	a, b, c, d := h.accept("a"), h.accept("b"), h.accept("c"), h.accept("d")
	h.enters(d, "d", true)
	h.enters(b, "b", true)
	h.enters(a, "a", false) // it is older than both
	h.want()
	h.enters(c, "c", true)
	h.want("b")
	h.enter("e", true)
	h.want("c")
	h.heard(d, true)
}
