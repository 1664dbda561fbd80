package ddp

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rddp/rddp/internal/ddphdr"
	"github.com/rddp/rddp/internal/testmode"
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
			m.QN = ddphdr.QNReadRequest
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

// A world is a Receiver with two Regions, a window of the first one, and posted buffers.
type world struct {
	*pair
	memory []guarded
	log    []string // what was delivered
}

func newWorld(t testing.TB) *world {
	w := &world{pair: newPairWith(t, func(c *ReceiverConfig) {
		c.InMessage = func(rsvdULP uint8, qn ddphdr.QN) bool { return rsvdULP == inMessage && qn == ddphdr.QNSend }
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
		w.memory = append(w.memory, w.post(ddphdr.QNSend, worldBuffer, id), w.post(ddphdr.QNReadRequest, worldBuffer, 100+id))
	}
	return w
}

// deliver logs what is delivered below edge.
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
				u = other(u) // would have been stepped over; must not matter
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
	for i := min(len(u), ddphdr.HeaderLen(u)); i < len(u); i++ {
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

// No more than 256 segments are remembered.
func TestTryPlaceBounded(t *testing.T) {
	p := newPair(t)
	mem := make([]byte, 1000)
	r := p.register(mem, RemoteWrite)
	want := make([]byte, 1000)
	var segments [][]byte
	for i := range 300 {
		h := ddphdr.TaggedHeader{Last: true, RsvdULP: uint8(i), STag: uint32(r.STag()), TO: r.TO() + uint64(i)}
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
