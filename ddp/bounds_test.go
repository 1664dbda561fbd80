package ddp

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A boundsWorld is memory with guard octets, Regions of every kind in it, and a Receiver that
// writes to them.
type boundsWorld struct {
	*pair
	regions []*Region // of the Domain, also those that are gone
	memory  []guarded // of regions
	model   [][]byte  // memory[i].all as it should be
	gone    map[*Region]bool

	// The oracle's numbers, kept so that a case allocates no memory.
	to, n, end, base, last, wrap big.Int
}

// newBoundsWorld makes Regions of n octets.
func newBoundsWorld(t testing.TB, n int) *boundsWorld {
	w := &boundsWorld{pair: newPair(t), gone: map[*Region]bool{}}
	w.wrap.Lsh(big.NewInt(1), 64)
	bases := []uint64{0, 1, 1<<31 - uint64(n)/2, 1<<32 - uint64(n)/2, 1 << 62, 1<<63 - 1 - uint64(n), 1<<64 - 1 - uint64(n)}
	add := func(a Access, on uint64) *Region {
		g := newGuarded(n)
		r := register(t, w.domain, g.mem, a, on)
		w.move(r, STag(0x1000+len(w.regions)), bases[len(w.regions)%len(bases)])
		w.regions, w.memory = append(w.regions, r), append(w.memory, g)
		w.model = append(w.model, bytes.Clone(g.all))
		return r
	}
	for range bases {
		add(RemoteWrite, stream)
	}
	add(RemoteRead|RemoteWrite|RemoteAtomic, 0)
	add(RemoteRead, stream)
	add(0, stream)
	add(ReadSink, stream)
	add(RemoteWrite, stream+1)
	gone := add(RemoteWrite, stream)
	gone.Deregister()
	w.gone[gone] = true
	// A window of the first Region, in its middle: all outside of it is out of bounds.
	whole := w.memory[0]
	win, err := w.regions[0].Window(n/4, n/2, RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	w.move(win, 0x2000, 1<<40)
	w.regions = append(w.regions, win)
	w.memory = append(w.memory, guarded{mem: whole.mem[n/4 : n/4+n/2], all: whole.all})
	w.model = append(w.model, w.model[0])
	return w
}

// oracle applies the checks of RFC 5041 §7.1 with numbers that cannot wrap, and returns the first
// check that the access fails. ok is true if it passes all of them.
func (w *boundsWorld) oracle(s STag, to, n uint64, need Access, on uint64) (which int, kind accessCheck, ok bool) {
	which = -1
	for i, r := range w.regions {
		if r.stag == s && !w.gone[r] {
			which = i
		}
	}
	if which < 0 {
		return which, checkInvalidSTag, false
	}
	r := w.regions[which]
	w.to.SetUint64(to)
	w.n.SetUint64(n)
	w.end.Add(&w.to, &w.n)
	w.base.SetUint64(r.base)
	w.last.SetUint64(uint64(r.size))
	w.last.Add(&w.base, &w.last)
	switch {
	case r.stream != 0 && r.stream != on:
		return which, checkNotAssociated, false
	case need&^r.access != 0:
		return which, checkAccess, false
	case w.end.Cmp(&w.wrap) >= 0:
		return which, checkWrap, false
	case w.to.Cmp(&w.base) < 0 || w.end.Cmp(&w.last) > 0:
		return which, checkBounds, false
	}
	return which, 0, true
}

// A verdictCount says how often each verdict was given: five kinds of refusal, and yes.
type verdictCount [6]int

// try checks one access with Domain.Check, also places octets if payload has enough of them, and
// compares the results with the oracle.
func (w *boundsWorld) try(s STag, to, n uint64, need Access, on uint64, payload []byte, count *verdictCount) bool {
	which, kind, ok := w.oracle(s, to, n, need, on)
	_, err := w.domain.Check(s, to, n, need, on)
	if ok {
		count[5]++
	} else {
		count[kind]++
	}
	if e, is := err.(*AccessError); ok != (err == nil) || !ok && (!is || checkOf(e) != kind) {
		w.Errorf("Check(%v, %#x, %d, %v, %d) = %v; oracle: %v, %v", s, to, n, need, on, err, kind, ok)
		return false
	}
	if need != RemoteWrite || on != stream || n == 0 || n > uint64(len(payload)) {
		return true
	}
	b := TaggedHeader{Last: true, STag: s, TO: to}.AppendTo(w.scratch[:0])
	b = append(b, payload[:n]...)
	w.scratch = b
	w.r.Place(w.off, b)
	w.off += fpduLen(b)
	delivered := w.r.Deliver(w.off)
	if delivered != ok {
		w.Errorf("%d octets at %#x of %v: delivered %t (%v), oracle: %v", n, to, s, delivered, w.r.Err(), kind)
		return false
	}
	if !ok {
		// "wrap → code 0x03", and so on: RFC 5041 §7.2. Rights have no code of their own.
		code := [...]Code{CodeInvalidSTag, CodeNotAssociated, CodeInvalidSTag, CodeTOWrap, CodeBounds}[kind]
		if e, is := w.r.Err().(*Error); !is || e.Code != code {
			w.Errorf("%d octets at %#x of %v: error %v, want code %d", n, to, s, w.r.Err(), code)
			return false
		}
		w.r.failed, w.r.err, w.r.tagged = failure{}, nil, taggedMessage{} // a new stream
		which = max(which, 0)
	} else {
		r := w.regions[which]
		copy(w.model[which][64+r.offset+to-r.base:], payload[:n]) // after 64 guard octets
	}
	// Each case compares only the Region that it aims at. The end of the test compares all.
	if !bytes.Equal(w.memory[which].all, w.model[which]) {
		w.Errorf("%d octets at %#x of %v: memory is not as in the model", n, to, s)
		return false
	}
	return true
}

func (w *boundsWorld) finish(cases int, count verdictCount) {
	for i := range w.memory {
		if !bytes.Equal(w.memory[i].all, w.model[i]) {
			w.Errorf("memory %d differs from the model", i)
		}
		if !untouched(w.memory[i].all[:64]) || !untouched(w.memory[i].all[len(w.memory[i].all)-64:]) {
			w.Errorf("guard octets around memory %d have changed", i)
		}
	}
	w.Logf("%d cases; refused: %d STag, %d stream, %d rights, %d wrap, %d bounds; %d accepted; 0 guard octets changed",
		cases, count[0], count[1], count[2], count[3], count[4], count[5])
	for i, n := range count {
		if n == 0 {
			w.Errorf("verdict %d never came", i)
		}
	}
}

// edges returns the numbers at which a bounds check can be wrong, for a Region at base of n octets.
func edges(base, n uint64) []uint64 {
	var all []uint64
	for _, at := range []uint64{0, 1 << 31, 1 << 32, 1 << 62, 1 << 63, base, base + n/2, base + n, n, n / 2} {
		for d := range uint64(5) {
			all = append(all, at+d-2) // wraps around 0 on purpose
		}
	}
	for d := range 2 * n { // 2^64-n and its like
		if d < 4 || d > 2*n-4 || d >= n-2 && d <= n+2 {
			all = append(all, -d)
		}
	}
	return all
}

// TestBoundsTable tries each STag, right and stream at every TO and length where a bounds check can
// go wrong. The verdict must be the oracle's, and all octets must be placed inside the bounds.
//
// DDP-5041-7.1-12 to DDP-5041-7.1-17, DDP-5041-7.1-19, DDP-5041-8.1-1, DDP-5041-8.3.1-4,
// SEC-5042-6.2.1-1, SEC-5042-6.2.1-2, RDMAP-5040-8.1.1-4
func TestBoundsTable(t *testing.T) {
	const n = 64
	w := newBoundsWorld(t, n)
	payload := bytes.Repeat([]byte{0x11}, 4*n)
	var count verdictCount
	cases := 0
	stags := []STag{0, 0xFFFFFFFF}
	for _, r := range w.regions {
		stags = append(stags, r.stag)
	}
	for i, s := range stags {
		base := uint64(1 << 50)
		if i >= 2 {
			base = w.regions[i-2].base
		}
		around := edges(base, n)
		for _, to := range around {
			for _, length := range around {
				for _, need := range []Access{RemoteWrite, RemoteRead, RemoteAtomic, ReadSink} {
					for on := range uint64(2) {
						cases++
						payload[cases%len(payload)]++
						if !w.try(s, to, length, need, stream+on, payload, &count) {
							return
						}
					}
				}
			}
		}
	}
	w.finish(cases, count)
}

// TestBoundsRandom does the same at random: half of the cases near an edge, half anywhere.
//
// DDP-5041-7.1-12 to DDP-5041-7.1-17, DDP-5041-7.1-19, SEC-5042-6.2.1-1, SEC-5042-6.2.1-2,
// RDMAP-5040-8.1.1-4
func TestBoundsRandom(t *testing.T) {
	const n = 200
	w := newBoundsWorld(t, n)
	rnd := seeded(t)
	payload := randomBytes(rnd, 4*n)
	var count verdictCount
	cases := testmode.Cases(10_000_000)
	for range cases {
		i := rnd.IntN(len(w.regions) + 1)
		s, base := STag(rnd.Uint32()), uint64(0)
		if i < len(w.regions) {
			s, base = w.regions[i].stag, w.regions[i].base
		}
		to, length := near(rnd, base, n), rnd.Uint64N(n+8)
		switch rnd.IntN(8) {
		case 0:
			length = rnd.Uint64() >> rnd.IntN(64)
		case 1:
			length = -to + rnd.Uint64N(5) - 2 // to about 2^64
		case 2:
			length = base + n - to + rnd.Uint64N(5) - 2 // to about the end
		}
		need, on := RemoteWrite, uint64(stream)
		switch rnd.IntN(8) {
		case 0:
			need = Access(rnd.IntN(16))
		case 1:
			on += rnd.Uint64N(3)
		}
		payload[rnd.IntN(len(payload))]++
		if !w.try(s, to, length, need, on, payload, &count) {
			return
		}
	}
	w.finish(cases, count)
}

// near returns a TO: mostly close to a Region of n octets at base.
func near(rnd *rand.Rand, base, n uint64) uint64 {
	switch rnd.IntN(8) {
	case 0:
		return rnd.Uint64()
	case 1:
		return rnd.Uint64() >> rnd.IntN(64)
	case 2:
		return -rnd.Uint64N(2 * n)
	case 3:
		return base + n + rnd.Uint64N(5) - 2
	case 4:
		return base + rnd.Uint64N(5) - 2
	}
	return base + rnd.Uint64N(n)
}

// TestBoundsOfManySegments sends messages of several segments. Each segment is checked at its own
// offset, so one that is out of bounds is caught even after good ones.
//
// DDP-5041-7.1-16
func TestBoundsOfManySegments(t *testing.T) {
	const n = 64
	rnd := seeded(t)
	w := newBoundsWorld(t, n)
	payload := randomBytes(rnd, 4*n)
	cases := testmode.Cases(200_000)
	caught := 0
	for range cases {
		r, g := w.regions[0], w.memory[0]
		before := bytes.Clone(g.all)
		to := r.base + rnd.Uint64N(n)
		good := true
		for seg := 0; seg < 4 && good; seg++ {
			length := 1 + rnd.Uint64N(24)
			_, _, good = w.oracle(r.stag, to, length, RemoteWrite, stream)
			if good {
				copy(before[64+to-r.base:], payload[:length])
			}
			w.place(append(TaggedHeader{Last: seg == 3, STag: r.stag, TO: to}.AppendTo(nil), payload[:length]...))
			to += length
		}
		if delivered := w.r.Deliver(w.off); delivered != good || good == (w.r.Err() != nil) {
			t.Fatalf("delivered %t, error %v; oracle: inside %t", delivered, w.r.Err(), good)
		}
		if !bytes.Equal(g.all, before) {
			t.Fatal("memory differs from the model")
		}
		if !good {
			caught++
			w.r.failed, w.r.err, w.r.tagged = failure{}, nil, taggedMessage{}
		}
	}
	t.Logf("%d messages of up to 4 segments, %d leave their Region and are caught there", cases, caught)
	if caught == 0 || caught == cases {
		t.Error("not both verdicts came")
	}
}
