package accept

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
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

// TestQuietCountTowardMost: without MostQuiet a newcomer displaces the connection that has been
// quiet longest, and is refused only when all peers have been heard.
func TestQuietCountTowardMost(t *testing.T) {
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

// from makes a place of a source that enters at once.
func (h *hall) from(source, name string, want bool) *Place {
	h.t.Helper()
	p := h.accept(name)
	p.prefix = netip.MustParsePrefix(source)
	h.enters(p, name, want)
	return p
}

// TestFloodDisplacesItself: a source with many connections takes no place from one that has fewer,
// whether its connections are quiet or heard, and what is kept of sources is no more than that of the
// connections.
func TestFloodDisplacesItself(t *testing.T) {
	const flood, honest, other = "192.0.2.1/32", "192.0.2.2/32", "2001:db8::/64"
	for _, all := range []struct{ most, mostQuiet int }{{4, 0}, {100, 4}} {
		h := &hall{t: t}
		h.all.most, h.all.mostQuiet = all.most, all.mostQuiet
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
		if n := len(h.all.sources); n != 3 {
			t.Errorf("%d sources are kept, of 3", n)
		}
		for _, p := range last[998:] {
			h.heard(p, true)
		}
		if all.mostQuiet == 0 { // two of the flood keep their places, and each source has one that is quiet
			h.from(flood, "flood", false)
			h.want()
		}
		h.heard(a, true)
		h.heard(b, true)
		for _, p := range append(last, a, b) {
			p.leave()
		}
		if len(h.all.sources)+len(h.all.crowd)+h.all.quiet+h.all.heard != 0 {
			t.Errorf("when all have left, %d sources, %d in the crowd, %d quiet, %d heard", len(h.all.sources), len(h.all.crowd), h.all.quiet, h.all.heard)
		}
	}
}

// TestFloodBesideMany: a source whose many connections were heard still gets newcomers in, while
// another source floods.
func TestFloodBesideMany(t *testing.T) {
	h := &hall{t: t, all: places{most: 100}}
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

// TestCrowdIsExact: whatever comes and goes, the counts are those of the connections, the connection
// that goes belongs to a source that has most, and it is the oldest quiet one there.
func TestCrowdIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := places{most: rapid.IntRange(1, 6).Draw(t, "most"), mostQuiet: rapid.IntRange(0, 6).Draw(t, "mostQuiet")}
		var in []*Place
		number := uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			var gone []*Place
			switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
			case step < 2:
				number++
				p := &Place{all: &all, number: number, prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(rapid.IntRange(1, 4).Draw(t, "source"))}), 32)}
				weight, oldest := crowded(append(in, p))
				for _, q := range append(in, p) {
					q.displace = func(error) { gone = append(gone, q) }
				}
				if !p.Enter() {
					gone = append(gone, p)
				}
				in = append(in, p)
				for _, g := range gone {
					if g.number != oldest[g.prefix] || weight[g.prefix] != slices.Max(slices.Collect(maps.Values(weight))) {
						t.Fatalf("%d of %v goes; the oldest are %v and the sources have %v", g.number, g.prefix, oldest, weight)
					}
				}
			case len(in) > 0:
				i := rapid.IntRange(0, len(in)-1).Draw(t, "which")
				if step == 2 {
					in[i].Heard()
				} else {
					in[i].leave()
					gone = append(gone, in[i])
				}
			}
			in = slices.DeleteFunc(in, func(p *Place) bool { return slices.Contains(gone, p) })
			quiet := 0
			for _, p := range in {
				if p.element != nil { // +checklocksignore: no other goroutine is at work
					quiet++
				}
			}
			sources := make(map[netip.Prefix]bool)
			for _, p := range in {
				sources[p.prefix] = true
			}
			if len(all.sources) != len(sources) { // +checklocksignore: no other goroutine is at work
				t.Fatalf("%d sources are known, of %d", len(all.sources), len(sources))
			}
			for i := 1; i < len(all.crowd); i++ { // +checklocksignore: no other goroutine is at work
				if all.crowd.Less(i, (i-1)/2) {
					t.Fatal("the crowd is out of order")
				}
			}
			if all.quiet != quiet || all.quiet+all.heard != len(in) {
				t.Fatalf("%d quiet and %d heard are counted, of %d quiet and %d in all", all.quiet, all.heard, quiet, len(in))
			}
		}
	})
}

// crowded returns how many connections each source has that has a quiet one, 1000 more for each quiet
// one, and its oldest quiet one. The last of the places has not entered yet.
//
// +checklocksignore: no other goroutine is at work
func crowded(in []*Place) (weight map[netip.Prefix]int, oldest map[netip.Prefix]uint64) {
	weight, oldest = make(map[netip.Prefix]int), make(map[netip.Prefix]uint64)
	for i, p := range in {
		if _, known := oldest[p.prefix]; !known && (p.element != nil || i == len(in)-1) {
			oldest[p.prefix] = p.number
		}
	}
	for i, p := range in {
		if _, hasQuiet := oldest[p.prefix]; hasQuiet {
			if weight[p.prefix]++; p.element != nil || i == len(in)-1 {
				weight[p.prefix] += 1000
			}
		}
	}
	return weight, oldest
}

// TestMove: a quiet connection that turns out to come from elsewhere counts there, and a heard one
// stays heard.
func TestMove(t *testing.T) {
	h := &hall{t: t, all: places{most: 3}}
	elsewhere := netip.MustParsePrefix("192.0.2.1/32")
	heard := h.enter("heard", true)
	h.heard(heard, true)
	heard.Move(elsewhere)
	moves := h.enter("moves", true)
	h.enter("stays", true)
	moves.Move(elsewhere)
	h.enter("new", true)
	h.want("stays") // of the source with two, not the oldest of all
	h.heard(heard, true)
	heard.leave()
	if h.all.heard != 0 { // +checklocksignore: no other goroutine is at work
		t.Errorf("%d heard connections are left", h.all.heard)
	}
}

// TestSource: a peer counts as its IPv4 address, or as its IPv6 network.
func TestSource(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:5": "192.0.2.7/32", "[::ffff:192.0.2.7]:5": "192.0.2.7/32", "[2001:db8:1:2:3::9]:5": "2001:db8:1:2::/64", "[fe80::1%25]:5": "fe80::/64",
	} {
		if got := Source[net.Conn](peer{net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}); got.String() != want {
			t.Errorf("%s is of %v, want %s", address, got, want)
		}
	}
	for _, a := range []net.Addr{nil, &net.UnixAddr{}} {
		if got := Source[net.Conn](peer{a}); got.IsValid() {
			t.Errorf("%v is of %v", a, got)
		}
	}
}

// A peer is a connection that has only an address.
type peer struct{ net.Addr }

func (p peer) RemoteAddr() net.Addr           { return p.Addr }
func (peer) LocalAddr() net.Addr              { return nil }
func (peer) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (peer) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (peer) Close() error                     { return nil }
func (peer) SetDeadline(time.Time) error      { return nil }
func (peer) SetReadDeadline(time.Time) error  { return nil }
func (peer) SetWriteDeadline(time.Time) error { return nil }
