package ddp

import (
	"bytes"
	"testing"
)

// longLens are payloads for which the copy to a Region may use assembly, and one for which it does
// not. All of them fit into one segment, or into two.
var longLens = []int{5000, 16<<10 - 1, 16 << 10, 40_001, 64_746, 100_003}

// TestLongPayload places long payload at odd places of Regions and of their windows, in order and
// early. The bytes around it do not change.
func TestLongPayload(t *testing.T) {
	r := seeded(t)
	const size = 160 << 10
	for _, windowed := range []bool{false, true} {
		for _, early := range []bool{false, true} {
			p, g := newPair(t), newGuarded(size)
			region := p.register(g.mem, RemoteWrite)
			base := 0
			if windowed {
				base = 1001
				region = window(t, region, base, size-base, RemoteWrite)
			}
			want := bytes.Clone(g.mem)
			for _, n := range longLens {
				at, payload := r.IntN(200), randomBytes(r, n)
				copy(want[base+at:], payload)
				m := write(region, uint64(at), payload)
				p.placeEach(cut(&p.s, &m, 65_000), early)
				p.wantMessage("long Write")
				if !bytes.Equal(g.mem, want) {
					t.Fatalf("window %v, early %v: %d bytes at %d: the memory is different", windowed, early, n, at)
				}
			}
			if !g.intact() {
				t.Errorf("window %v, early %v: the bytes around the memory have changed", windowed, early)
			}
		}
	}
}

// TestLongPayloadAroundEarly: a long segment leaves out the bytes that a later one has brought.
func TestLongPayloadAroundEarly(t *testing.T) {
	r := seeded(t)
	p, mem := newPair(t), make([]byte, 64_000)
	region := p.register(mem, RemoteWrite)
	first, second := randomBytes(r, 60_000), randomBytes(r, 20_000)
	m1, m2 := write(region, 7, first), write(region, 20_007, second)
	a, b := cut(&p.s, &m1, 65_000)[0], cut(&p.s, &m2, 65_000)[0]
	want := make([]byte, len(mem))
	copy(want[7:], first)
	copy(want[20_007:], second)
	if !p.r.TryPlace(p.off+fpduLen(a), b) {
		t.Fatal("TryPlace refuses the second Write")
	}
	p.place(a)
	p.off += fpduLen(b)
	p.wantMessage("first Write")
	p.wantMessage("second Write")
	if !bytes.Equal(mem, want) {
		t.Error("the memory is different")
	}
}

// TestLongUntagged places long messages in posted and in bound buffers, whose two parts begin at
// odd addresses.
func TestLongUntagged(t *testing.T) {
	r := seeded(t)
	for _, bound := range []bool{false, true} {
		for _, n := range longLens {
			p, g := newPair(t), newGuarded(n+20)
			head, b := g.mem[:33], g.mem[33:]
			if bound {
				p.r.Bind(QNSend, head, b)
			} else if err := post(p.queues[QNSend], head, b, 1); err != nil {
				t.Fatal(err)
			}
			payload := randomBytes(r, n)
			p.send(send(payload), 65_000)
			p.wantMessage("long Send")
			if !bytes.Equal(g.mem[:n], payload) || !untouched(g.mem[n:]) || !g.intact() {
				t.Errorf("%d bytes, bound %v: the memory is different", n, bound)
			}
		}
	}
}

// placeEach places the segments, which all belong to one message. If early is set, all but the
// first come before their turn.
func (p *pair) placeEach(segments [][]byte, early bool) {
	at := p.off
	offs := make([]uint64, len(segments))
	for i, s := range segments {
		offs[i] = at
		at += fpduLen(s)
	}
	for i := len(segments) - 1; i > 0 && early; i-- {
		if !p.r.TryPlace(offs[i], segments[i]) {
			p.Fatalf("TryPlace refuses segment %d", i)
		}
	}
	for i, s := range segments {
		if i == 0 || !early {
			p.r.Place(offs[i], s)
		}
	}
	p.off = at
}

// A Region without memory discards what arrives, early too.
func TestDiscardsEarly(t *testing.T) {
	p, mem := newPair(t), make([]byte, 20_000)
	r := p.register(mem, RemoteWrite)
	Redirect(r, nil)
	m := write(r, 0, bytes.Repeat([]byte{1}, len(mem)))
	segments := cut(&p.s, &m, 18_000)
	p.placeEach(segments, true)
	p.wantMessage("discarded Write")
	if bytes.Contains(mem, []byte{1}) {
		t.Error("the memory has changed")
	}
}
