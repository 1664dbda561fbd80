package ddp

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A script is a stream: its segments, and where in the stream each begins.
type script struct {
	ulpdus [][]byte
	offs   []uint64
}

const (
	worldRegion = 64 // octets of each of the two Regions in a world
	worldWindow = 16 // where the window of the first one begins: it has worldBuffer octets
	worldBuffer = 40 // octets of each posted buffer
	worldSTag   = STag(0x1000)
	worldTO     = uint64(0x7000)
	inMessage   = 0x48 // RsvdULP of messages that bring their payload themselves
)

// drawScript draws messages of all kinds, with Regions so small that Writes often overlap, and cuts
// them into small segments.
func drawScript(t *rapid.T) (s script) {
	var sender Sender
	for range rapid.IntRange(1, 12).Draw(t, "messages") {
		n := rapid.IntRange(0, worldBuffer).Draw(t, "len")
		m := Message{Payload: [][]byte{rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "payload")}, Len: uint32(n)}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			m.RsvdULP = 0x43
		case 1:
			m.QN = QNReadRequest
		case 2:
			m.RsvdULP, m.Len = inMessage, min(m.Len, 8)
		default:
			region := rapid.IntRange(0, 2).Draw(t, "region")
			size := worldRegion
			if region == 2 { // the window
				size = worldBuffer
			}
			m.Tagged, m.STag = true, worldSTag+STag(region)
			m.TO = worldTO + uint64(rapid.IntRange(0, size-n).Draw(t, "TO"))
		}
		s.ulpdus = append(s.ulpdus, cut(&sender, &m, rapid.IntRange(19, 40).Draw(t, "MULPDU"))...)
	}
	var off uint64
	for _, u := range s.ulpdus {
		s.offs = append(s.offs, off)
		off += fpduLen(u)
	}
	s.offs = append(s.offs, off)
	return s
}

// spoil changes octets in some segments, mostly in headers, or cuts segments off.
func (s *script) spoil(t *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(t, "faults") {
		i := rapid.IntRange(0, len(s.ulpdus)-1).Draw(t, "segment")
		if len(s.ulpdus[i]) == 0 {
			continue
		}
		s.ulpdus[i] = bytes.Clone(s.ulpdus[i])
		at := rapid.IntRange(0, min(len(s.ulpdus[i]), 20)-1).Draw(t, "octet")
		if rapid.IntRange(0, 9).Draw(t, "cut off") == 0 {
			s.ulpdus[i] = s.ulpdus[i][:at]
			continue
		}
		s.ulpdus[i][at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	}
}

// A world is a Receiver with two Regions, a window of the first one, and posted buffers.
type world struct {
	*pair
	memory []guarded
	log    []string // delivered messages
}

func newWorld(t testing.TB) *world {
	w := &world{pair: newPairWith(t, func(c *ReceiverConfig) {
		c.InMessage = func(rsvdULP uint8, qn QN) bool { return rsvdULP == inMessage && qn == QNSend }
	})}
	for i := range STag(2) {
		g := newGuarded(worldRegion)
		w.memory = append(w.memory, g)
		w.move(w.register(g.mem, RemoteWrite), worldSTag+i, worldTO)
	}
	window, err := w.domain.lookup(worldSTag).Window(worldWindow, worldBuffer, RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	w.move(window, worldSTag+2, worldTO)
	for id := range uint64(12) {
		w.memory = append(w.memory, w.post(QNSend, worldBuffer, id), w.post(QNReadRequest, worldBuffer, 100+id))
	}
	return w
}

// deliver logs the messages that are delivered below edge.
func (w *world) deliver(edge uint64) {
	for w.r.Deliver(edge) {
		m := *w.r.Message()
		w.log = append(w.log, fmt.Sprintf("%+v %x", m, m.Buffer))
	}
	if err := w.r.Err(); err != nil && (len(w.log) == 0 || w.log[len(w.log)-1] != err.Error()) {
		w.log = append(w.log, err.Error())
	}
}

func (w *world) inOrder(s script) {
	for i, u := range s.ulpdus {
		w.r.Place(s.offs[i], u)
	}
	w.deliver(s.offs[len(s.ulpdus)])
}

// withHints runs s as inOrder does, with hints of any segments at any time. It returns how many
// segments were placed early.
func (w *world) withHints(t *rapid.T, s script) (early uint64) {
	accepted := make([]bool, len(s.ulpdus))
	for next := 0; next < len(s.ulpdus); {
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0: // the next segment in order
			u := s.ulpdus[next]
			if accepted[next] {
				u = other(u) // would have been skipped; must not matter
			}
			if !accepted[next] || rapid.Bool().Draw(t, "again in order") {
				w.r.Place(s.offs[next], u)
			}
			next++
		case 1:
			w.deliver(s.offs[next])
		default:
			i := rapid.IntRange(0, len(s.ulpdus)-1).Draw(t, "hint")
			u := s.ulpdus[i]
			if accepted[i] {
				u = other(u) // the octets that came first stay
			}
			if w.r.TryPlace(s.offs[i], u) {
				if i < next && !accepted[i] {
					t.Fatalf("segment %d, placed in order, is placed again early", i)
				}
				if !accepted[i] {
					early++
				}
				accepted[i] = true
			}
		}
	}
	w.deliver(s.offs[len(s.ulpdus)])
	return early
}

// other returns a segment with the same header and other payload.
func other(ulpdu []byte) []byte {
	u := bytes.Clone(ulpdu)
	for i := min(len(u), headerLen(u)); i < len(u); i++ {
		u[i] ^= 0xFF
	}
	return u
}

// rapidRounds is how often the 100 cases of a property are drawn.
func rapidRounds() int {
	if testmode.Slow() {
		return 5
	}
	return 20
}

// The same stream, with and without hints, in any order and with any repetitions, gives the same
// deliveries and the same memory.
func TestTryPlaceChangesNothing(t *testing.T) {
	for range rapidRounds() {
		rapid.Check(t, func(rt *rapid.T) {
			s := drawScript(rt)
			plain, hinted := newWorld(t), newWorld(t)
			plain.inOrder(s)
			early := hinted.withHints(rt, s)
			if !slices.Equal(plain.log, hinted.log) {
				rt.Errorf("delivered with hints\n%q\nwant\n%q", hinted.log, plain.log)
			}
			if got, without := hinted.r.SavedCopies, plain.r.SavedCopies; got != early || without != 0 {
				rt.Errorf("SavedCopies = %d with hints, and %d without, want %d and 0", got, without, early)
			}
			for i := range plain.memory {
				if !bytes.Equal(plain.memory[i].all, hinted.memory[i].all) {
					rt.Errorf("memory %d with hints\n%x\nwant\n%x", i, hinted.memory[i].all, plain.memory[i].all)
				}
			}
		})
	}
}

// With faults in the stream the deliveries, their contents and the error are still the same, and no
// octet outside the buffers changes. (Octets placed after the fault may differ.)
func TestTryPlaceChangesNoFault(t *testing.T) {
	for range rapidRounds() {
		rapid.Check(t, func(rt *rapid.T) {
			s := drawScript(rt)
			s.spoil(rt)
			plain, hinted := newWorld(t), newWorld(t)
			plain.inOrder(s)
			hinted.withHints(rt, s)
			if !slices.Equal(plain.log, hinted.log) {
				rt.Errorf("delivered with hints\n%q\nwant\n%q", hinted.log, plain.log)
			}
			for i := range plain.memory {
				if !plain.memory[i].intact() || !hinted.memory[i].intact() {
					rt.Errorf("octets around memory %d have changed", i)
				}
			}
		})
	}
}

func TestTryPlaceRefuses(t *testing.T) {
	h := UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1, MO: 10}
	tests := []struct {
		desc  string
		ulpdu func(x *target) []byte
		want  bool
	}{
		{"a Write", func(x *target) []byte {
			return tagged(TaggedHeader{STag: x.region.STag(), TO: x.region.TO()}, 8)
		}, true},
		{"a Write without payload", func(x *target) []byte {
			return tagged(TaggedHeader{STag: x.region.STag(), TO: x.region.TO()}, 0)
		}, false},
		{"a Write without right", func(x *target) []byte {
			return tagged(TaggedHeader{STag: x.readOnly.STag(), TO: x.readOnly.TO()}, 8)
		}, false},
		{"a Write beyond the end", func(x *target) []byte {
			return tagged(TaggedHeader{STag: x.region.STag(), TO: x.region.TO() + 60}, 8)
		}, false},
		{"the rest of the message", func(*target) []byte { return untagged(h, 22) }, true},
		{"too long", func(*target) []byte { return untagged(h, 23) }, false},
		{"what has been placed already", func(*target) []byte { return untagged(UntaggedHeader{MSN: 1, MO: 9}, 1) }, false},
		{"the next buffer", func(*target) []byte { return untagged(UntaggedHeader{MSN: 2, MO: 31}, 1) }, true},
		{"no payload", func(*target) []byte { return untagged(UntaggedHeader{MSN: 2, MO: 31}, 0) }, false},
		{"the buffer after the last", func(*target) []byte { return untagged(UntaggedHeader{MSN: 3}, 1) }, false},
		{"a message before", func(*target) []byte { return untagged(UntaggedHeader{MSN: 0}, 1) }, false},
		{"MO beyond 2^32", func(*target) []byte { return untagged(UntaggedHeader{MSN: 2, MO: math.MaxUint32}, 2) }, false},
		{"QN 2, which has a buffer", func(*target) []byte { return untagged(UntaggedHeader{QN: 2, MSN: 1}, 1) }, false},
		{"QN 4", func(*target) []byte { return untagged(UntaggedHeader{QN: 4, MSN: 1}, 1) }, false},
		{"bad version", func(*target) []byte { return version(untagged(UntaggedHeader{MSN: 2}, 1), 2) }, false},
		{"nothing", func(*target) []byte { return nil }, false},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			x := newTarget(t)
			x.post(2, 100, 1)
			if got := x.r.TryPlace(x.off+100, tt.ulpdu(x)); got != tt.want {
				t.Errorf("TryPlace = %t, want %t", got, tt.want)
			}
			if !tt.want {
				x.wantUnchanged()
			}
		})
	}
}

// A hint is checked when its turn comes, against the state at that time.
func TestTryPlaceJudgedInOrder(t *testing.T) {
	x := newTarget(t)
	ulpdu := tagged(TaggedHeader{Last: true, STag: x.region.STag(), TO: x.region.TO()}, 8)
	if !x.r.TryPlace(x.off, ulpdu) {
		t.Fatal("TryPlace = false")
	}
	x.region.Deregister()
	copy(x.memory[0].mem, bytes.Repeat([]byte{guard}, 8))
	x.off++
	x.wantFailure(ulpdu, CodeInvalidSTag)
	x.wantUnchanged()
}

// The first octets at a stream offset count, whatever arrives there later, as a hint or in order.
func TestTryPlaceFirstWins(t *testing.T) {
	p := newPair(t)
	mem := make([]byte, 16)
	r := p.register(mem, RemoteWrite)
	h := TaggedHeader{Last: true, STag: r.STag(), TO: r.TO()}
	first := append(h.AppendTo(nil), 1, 2, 3)
	h.TO, h.RsvdULP = h.TO+8, 9
	second := append(h.AppendTo(nil), 4, 5, 6)
	if !p.r.TryPlace(100, first) || !p.r.TryPlace(100, second) {
		t.Error("TryPlace = false, want true twice: nothing is to come again")
	}
	p.off = 100
	p.place(second)
	if m := p.wantMessage("the first"); m.RsvdULP != 0 || m.TO != r.TO() {
		t.Errorf("delivered %+v", m)
	}
	p.wantIdle("the second is dropped")
	if want := []byte{1, 2, 3, 15: 0}; !bytes.Equal(mem, want) {
		t.Errorf("memory = %x, want %x", mem, want)
	}
}

// A segment that is wrong because its octets have arrived before does not change an earlier
// message.
func TestTryPlaceOverlapsUntagged(t *testing.T) {
	right, wrong := untagged(UntaggedHeader{Last: true, MSN: 1}, 20), untagged(UntaggedHeader{Last: true, MSN: 1, MO: 10}, 10)
	wrong = other(wrong)
	for _, rightFirst := range []bool{true, false} {
		p := newPair(t)
		g := p.post(0, 32, 1)
		hints := []int{0, 100}
		if !rightFirst {
			slices.Reverse(hints)
		}
		for _, off := range hints {
			ulpdu := right
			if off == 100 {
				ulpdu = wrong
			}
			if !p.r.TryPlace(uint64(off), ulpdu) {
				p.r.Place(uint64(off), ulpdu)
			}
		}
		p.off = 101
		if m := p.wantMessage("the right one"); m.Len != 20 || !bytes.Equal(m.Buffer, make([]byte, 20)) || !g.intact() {
			t.Errorf("delivered %+v", m)
		}
		p.wantFailure(wrong, CodeMSNRange)
	}
}

// A finished message does not block the next one.
func TestTryPlaceNextMessage(t *testing.T) {
	p := newPair(t)
	p.post(0, 32, 1)
	g := p.post(0, 32, 2)
	p.place(untagged(UntaggedHeader{Last: true, MSN: 1}, 20))
	if !p.r.TryPlace(p.off+100, untagged(UntaggedHeader{MSN: 2, MO: 5}, 5)) || untouched(g.mem[5:10]) || !untouched(g.mem[10:]) {
		t.Errorf("the next message is not placed early: %x", g.mem)
	}
}

// Octet by octet: an octet goes to memory unless a segment later in the stream has brought it.
func TestPutAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 40
		mem, want, payload := make([]byte, size), make([]byte, size), bytes.Repeat([]byte{1}, size)
		copy(want, payload)
		var later earlySpans
		for range rapid.IntRange(0, 6).Draw(t, "later") {
			from := rapid.IntRange(0, size+10).Draw(t, "from")
			s := span{buffer: uint64(rapid.IntRange(7, 8).Draw(t, "buffer")), from: uint64(from), to: uint64(from + rapid.IntRange(1, 15).Draw(t, "n"))}
			if later.overlap(s) {
				continue
			}
			later.add(s)
			for i := from; s.buffer == 7 && i < min(size, int(s.to)); i++ {
				want[i] = 0
			}
		}
		new(Region).putAround(mem, payload, span{7, 0, size}, later)
		if !bytes.Equal(mem, want) {
			t.Errorf("putAround with %+v\n%x\nwant\n%x", later, mem, want)
		}
	})
}

// No more than 256 segments are remembered.
func TestTryPlaceBounded(t *testing.T) {
	p := newPair(t)
	mem := make([]byte, 1000)
	r := p.register(mem, RemoteWrite)
	want := make([]byte, 1000)
	var segments [][]byte
	for i := range 300 {
		h := TaggedHeader{Last: true, RsvdULP: uint8(i), STag: r.STag(), TO: r.TO() + uint64(i)}
		segments = append(segments, append(h.AppendTo(nil), byte(i+1)))
		want[i] = byte(i + 1)
	}
	placed := 0
	for i := 299; i >= 0; i-- {
		if p.r.TryPlace(uint64(i)*24, segments[i]) {
			placed++
		}
	}
	if placed != maxEarly || len(p.r.early) != maxEarly {
		t.Errorf("%d segments placed early, want %d", placed, maxEarly)
	}
	for i := range 300 - placed {
		p.place(segments[i])
		p.wantMessage("in order")
	}
	p.off = 300 * 24
	for i := 300 - placed; i < 300; i++ {
		if m := p.wantMessage("placed early"); m.RsvdULP != uint8(i) {
			t.Errorf("delivered %d, want %d", m.RsvdULP, i)
		}
	}
	if len(p.r.early) != 0 || !bytes.Equal(mem, want) {
		t.Errorf("%d hints left, memory %x", len(p.r.early), mem)
	}
}
