package admission

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
)

// A hall is a Limiter and a list of the connections that it has displaced.
type hall struct {
	t         *testing.T
	all       *Limiter
	displaced []string
}

func newHall(t *testing.T, most, mostQuiet int) *hall { return &hall{t: t, all: New(most, mostQuiet)} }

// enter makes a place that enters at once.
func (h *hall) enter(name string, want bool) *Place {
	h.t.Helper()
	p := h.accept("", name)
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
func (h *hall) accept(source, name string) *Place {
	return h.all.New(Source{name: source}, func(err error) {
		if !errors.Is(err, ErrDisplaced) {
			h.t.Errorf("%s is displaced because of %v", name, err)
		}
		h.displaced = append(h.displaced, name)
	})
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

// TestQuietCountTowardMost: without MostQuiet a newcomer displaces the connection that has been
// quiet longest. It is refused only if all peers have been heard.
func TestQuietCountTowardMost(t *testing.T) {
	h := newHall(t, 3, 0)
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
	b.Leave() // it no longer has a place
	h.enter("f", false)
	c.Leave()
	g := h.enter("g", true)
	h.heard(g, true)
	h.heard(g, true) // once more
	g.Leave()
	g.Leave()
	h.enter("h", true)
	h.enter("i", true)
	h.want("h")
}

// TestQuietHaveTheirOwnMost: with MostQuiet quiet connections take no place from connections that
// were heard, and a connection that finds no place among the heard ones may try again.
func TestQuietHaveTheirOwnMost(t *testing.T) {
	h := newHall(t, 1, 2)
	a := h.enter("a", true)
	h.heard(a, true)
	b := h.enter("b", true)
	c := h.enter("c", true)
	h.want()
	h.heard(b, false)
	d := h.enter("d", true)
	h.want("b")
	h.heard(c, false)
	a.Leave()
	h.heard(c, true)
	h.heard(d, false)
	d.Leave()
	h.enter("e", true)
	h.enter("f", true)
	h.want()
	h.enter("g", true)
	h.want("e")
}

// TestOlderConnectionsDisplaceNone: the order in which connections were accepted counts, not the
// order in which they enter.
func TestOlderConnectionsDisplaceNone(t *testing.T) {
	h := newHall(t, 1, 2)
	a, b, c, d := h.accept("", "a"), h.accept("", "b"), h.accept("", "c"), h.accept("", "d")
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

// from makes a place of a source that enters at once.
func (h *hall) from(source, name string, want bool) *Place {
	h.t.Helper()
	p := h.accept(source, name)
	h.enters(p, name, want)
	return p
}

// TestFloodDisplacesItself: a source with many connections takes no place from one that has fewer,
// whether its connections are quiet or heard, and only sources of open connections are kept.
func TestFloodDisplacesItself(t *testing.T) {
	const flood, honest, other = "192.0.2.1/32", "192.0.2.2/32", "2001:db8::/64"
	for _, all := range []struct{ most, mostQuiet int }{{4, 0}, {100, 4}} {
		h := newHall(t, all.most, all.mostQuiet)
		a := h.from(honest, "honest", true)
		var last []*Place
		for i := range 1000 {
			last = append(last, h.from(flood, "flood", true))
			if want := max(0, i-2); len(h.displaced) != want || slices.Contains(h.displaced, "honest") {
				t.Fatalf("after %d connections of the flood, displaced: %d, of them %q", i+1, len(h.displaced), slices.Compact(h.displaced))
			}
		}
		h.displaced = nil
		b := h.from(other, "other", true)
		h.want("flood")
		if n := len(h.all.sources); n != 3 { // +checklocksignore: no other goroutine is at work
			t.Errorf("%d sources are kept, of 3", n)
		}
		for _, p := range last[998:] {
			h.heard(p, true)
		}
		if all.mostQuiet == 0 { // two of the flood keep their places, and each source has a quiet one
			h.from(flood, "flood", false)
			h.want()
		}
		h.heard(a, true)
		h.heard(b, true)
		for _, p := range append(last, a, b) {
			p.Leave()
		}
		if len(h.all.sources)+len(h.all.noisy)+h.all.quiet+h.all.held+h.all.lent.Len() != 0 { // +checklocksignore: no other goroutine is at work
			t.Errorf("when all have left, %d sources, %d with quiet ones, %d quiet, %d held, %d lent", len(h.all.sources), len(h.all.noisy), h.all.quiet, h.all.held, h.all.lent.Len()) // +checklocksignore: no other goroutine is at work
		}
	}
}

// TestFloodBesideMany: a source with many heard connections can still add new ones while another
// source floods.
func TestFloodBesideMany(t *testing.T) {
	h := newHall(t, 100, 0)
	for range 60 {
		h.heard(h.from("192.0.2.2/32", "honest", true), true)
	}
	for range 40 {
		h.from("192.0.2.1/32", "flood", true)
	}
	h.want()
	h.heard(h.from("192.0.2.2/32", "honest", true), true)
	h.want("flood")
	h.from("192.0.2.1/32", "flood", true)
	h.want("flood")
}

// TestMove: a quiet connection that turns out to come from another source counts as that source's,
// and a heard one stays heard.
func TestMove(t *testing.T) {
	h := newHall(t, 3, 0)
	elsewhere := Source{name: "elsewhere"}
	heard := h.enter("heard", true)
	h.heard(heard, true)
	heard.Move(elsewhere)
	moves := h.enter("moves", true)
	h.enter("stays", true)
	moves.Move(elsewhere)
	h.enter("new", true)
	h.want("stays") // of the source with two, not the oldest of all
	h.heard(heard, true)
	heard.Leave()
	if h.all.held != 0 { // +checklocksignore: no other goroutine is at work
		t.Errorf("%d places are still held", h.all.held) // +checklocksignore: no other goroutine is at work
	}
}

// TestSource: a peer counts as its IPv4 address, or as its IPv6 network.
func TestSource(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:5": "192.0.2.7/32", "[::ffff:192.0.2.7]:5": "192.0.2.7/32", "[2001:db8:1:2:3::9]:5": "2001:db8:1:2::/64", "[fe80::1%25]:5": "fe80::/64",
	} {
		if got := SourceOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))); got.String() != want {
			t.Errorf("%s is of %v, want %s", address, got, want)
		}
	}
	for _, a := range []net.Addr{nil, &net.UnixAddr{}, (*net.UnixAddr)(nil)} {
		if got := SourceOf(a); got.IsKnown() || got.String() != "unknown" {
			t.Errorf("%v is of %v", a, got)
		}
	}
	for a, want := range map[name]string{"192.0.2.7:5": "192.0.2.7/32", "host:5": "host", "[2001:db8::1]:5": "2001:db8::/64"} {
		if got := SourceOf(a); got.String() != want {
			t.Errorf("%v, which is no TCPAddr, is of %v, want %s", a, got, want)
		}
	}
}

// A name is an address of a network other than the operating system's TCP.
type name string

func (name) Network() string  { return "sim" }
func (n name) String() string { return string(n) }

// TestHasDisplaced: a newcomer knows whether another connection lost its place to it.
func TestHasDisplaced(t *testing.T) {
	c := New(1, 0)
	var displaced []string
	come := func(name string) *Place {
		return c.New(Source{name: "a"}, func(error) { displaced = append(displaced, name) })
	}
	first, second := come("first"), come("second")
	if !first.Enter() || first.HasDisplaced() {
		t.Error("the first connection had room")
	}
	if second.HasDisplaced() {
		t.Error("the second connection has not entered")
	}
	if !second.Enter() || !second.HasDisplaced() || !slices.Equal(displaced, []string{"first"}) {
		t.Errorf("%v were displaced, want the first", displaced)
	}
	if second.Heard(); come("third").Enter() {
		t.Error("the third connection has entered, though the only place is held")
	}
}
