package ring

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func make1(t testing.TB, n, entryLen uint32) *Ring {
	t.Helper()
	size, ok := Size(n, entryLen)
	if !ok {
		t.Fatalf("Size(%d, %d) is not ok", n, entryLen)
	}
	return New(make([]byte, size), n, entryLen)
}

func TestSize(t *testing.T) {
	tests := []struct {
		desc        string
		n, entryLen uint32
		size        uint32
		ok          bool
	}{
		{"one entry", 1, 64, 4096, true},
		{"entries of another length than a power of two", 63, 300, 384 + 64*512 + 4096 - 384, true},
		{"as many as fill a power of two", 64, 64, 12288, true},
		{"no entry", 0, 64, 0, false},
		{"entries of no length", 1, 0, 0, false},
		{"too many", 1<<24 + 1, 1, 0, false},
		{"too long", 1, 1<<16 + 1, 0, false},
		{"too much", 1 << 24, 1 << 16, 0, false},
	}
	for _, tt := range tests {
		size, ok := Size(tt.n, tt.entryLen)
		if ok != tt.ok || ok && size != tt.size {
			t.Errorf("%s: %d, %v; want %d, %v", tt.desc, size, ok, tt.size, tt.ok)
		}
	}
}

func TestRing(t *testing.T) {
	r := make1(t, 5, 20)
	if r.EntryLen() != 32 || r.Cap() != 7 {
		t.Fatalf("%d entries of %d bytes", r.Cap(), r.EntryLen())
	}
	got := make([]byte, 32)
	next, want := byte(0), byte(0)
	for round := range 100 {
		n := round % 8
		for range n {
			r.Put(func(b []byte) { b[0] = next; next++ })
		}
		if r.Len() != uint32(n) {
			t.Fatalf("Len is %d, want %d", r.Len(), n)
		}
		if n == 7 && r.Put(func([]byte) { t.Error("a full ring was written") }) {
			t.Error("Put into a full ring succeeded")
		}
		for range n {
			if !r.Take(got) || got[0] != want {
				t.Fatalf("took %d, want %d", got[0], want)
			}
			want++
		}
		if r.Take(got) {
			t.Error("Take from an empty ring succeeded")
		}
	}
}

// TestSpan: the slots with entries, also where they begin anew.
func TestSpan(t *testing.T) {
	r := make1(t, 3, 64)
	b := make([]byte, r.EntryLen())
	slots := r.Cap() + 1
	for n := uint32(0); n < 14; n += 2 {
		want := n % slots
		if from, to := r.Span(); from != want || to != want {
			t.Errorf("an empty ring: %d to %d, want %d", from, to, want)
		}
		r.Put(func([]byte) {})
		r.Put(func([]byte) {})
		if from, to := r.Span(); from != want || to != (n+2)%slots {
			t.Errorf("two entries: %d to %d, want %d to %d", from, to, want, (n+2)%slots)
		}
		r.Take(b)
		if from, _ := r.Span(); from != (n+1)%slots {
			t.Errorf("the oldest is taken: from %d", from)
		}
		r.Take(b)
	}
}

// The ring's dimensions and its indices are at the same offsets as in rxe.
func TestLayout(t *testing.T) {
	r := make1(t, 3, 64)
	r.Put(func(b []byte) { b[0] = 7 })
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(r.b[at:]) }
	if word(0) != 6 || word(4) != 3 || word(128) != 1 || word(256) != 0 || r.b[384] != 7 {
		t.Errorf("the ring is %x", r.b[:390])
	}
}

// Whatever the program writes, nothing outside the ring is changed, and nothing panics.
func FuzzScribble(f *testing.F) {
	f.Add(uint32(0xffffffff), uint32(7), uint64(1))
	f.Fuzz(func(t *testing.T, producer, consumer uint32, seed uint64) {
		const guard = 4096
		size, _ := Size(10, 100)
		all := bytes.Repeat([]byte{0xA5}, int(size)+2*guard)
		r := New(all[guard:][:size:size], 10, 100)
		limited := &Ring{b: r.b, shift: r.shift, mask: r.mask}
		limited.Limit(9)
		random := rand.New(rand.NewPCG(seed, 1))
		got := make([]byte, r.EntryLen())
		for range 50 {
			for i := range 96 {
				r.b[4*i] = byte(random.Uint32())
			}
			binary.LittleEndian.PutUint32(r.b[producerAt:], producer+random.Uint32N(20))
			binary.LittleEndian.PutUint32(r.b[consumerAt:], consumer+random.Uint32N(20))
			if r.Len() > r.Cap() {
				t.Fatalf("Len is %d of %d", r.Len(), r.Cap())
			}
			r.Take(got)
			r.Put(func(b []byte) { clear(b) })
			if limited.Len() > limited.Cap() || limited.Used() > limited.Cap() {
				t.Fatalf("Len is %d, and Used %d, of %d", limited.Len(), limited.Used(), limited.Cap())
			}
			limited.Keep(got)
			limited.Free(consumer)
		}
		for _, b := range append(all[:guard:guard], all[guard+size:]...) {
			if b != 0xA5 {
				t.Fatal("a byte outside of the ring has changed")
			}
		}
	})
}

// Open refuses memory that can't be a ring of these entries, whatever its header says.
func TestOpen(t *testing.T) {
	const n, entryLen = 5, 40
	size, _ := Size(n, entryLen)
	for _, tt := range []struct {
		desc        string
		shift, mask uint32
		ok          bool
	}{
		{"as it was made", 6, 7, true},
		{"entries too short", 5, 7, false},
		{"entries longer than the memory", 12, 7, false},
		{"an impossible length", 40, 7, false},
		{"too few", 6, 3, false},
		{"no mask", 6, 6, false},
		{"more than the memory has", 6, 127, false},
		{"every bit", 6, 1<<32 - 1, false},
	} {
		b := make([]byte, size)
		New(b, n, entryLen)
		binary.NativeEndian.PutUint32(b, tt.shift)
		binary.NativeEndian.PutUint32(b[4:], tt.mask)
		if r, err := Open(b, n, entryLen); (err == nil) != tt.ok {
			t.Errorf("%s: Open = %v, %v", tt.desc, r, err)
		}
	}
	if _, err := Open(make([]byte, entriesAt-1), n, entryLen); err == nil {
		t.Error("Open of memory that is too short")
	}
}

// TestLimit: the producer of a ring with a limit finds it full at that many entries, also behind
// the end of the ring, and each entry comes out in its order.
func TestLimit(t *testing.T) {
	for n := range uint32(8) {
		r := make1(t, 7, 20)
		r.Limit(n)
		got := make([]byte, r.EntryLen())
		// the producer's view: it knows the two words alone
		isFull := func() bool {
			return (binary.NativeEndian.Uint32(r.b[producerAt:])+1)&r.mask == binary.NativeEndian.Uint32(r.b[consumerAt:])&r.mask
		}
		next, want := byte(0), byte(0)
		for round := range 50 {
			for !isFull() {
				r.Put(func(b []byte) { b[0] = next; next++ })
			}
			if r.Len() != n {
				t.Fatalf("limit %d, round %d: %d entries when it is full", n, round, r.Len())
			}
			for range min(int(n), 1+round%3) {
				if !r.Take(got) || got[0] != want {
					t.Fatalf("limit %d, round %d: entry %d in place of %d", n, round, got[0], want)
				}
				want++
			}
		}
	}
}

// TestKeep: the place of an entry stays in use to the producer until it is freed, also behind the
// end of the ring, and no more places are freed than are in use.
func TestKeep(t *testing.T) {
	const n = 5
	r := make1(t, 7, 20)
	r.Limit(n)
	got := make([]byte, r.EntryLen())
	free := func() uint32 { // as the producer sees it
		return (binary.NativeEndian.Uint32(r.b[consumerAt:]) - binary.NativeEndian.Uint32(r.b[producerAt:]) - 1) & r.mask
	}
	next, want, kept := byte(0), byte(0), uint32(0)
	for round := range uint32(50) {
		for free() > 0 {
			r.Put(func(b []byte) { b[0] = next; next++ })
		}
		if r.Used() != n || r.Len() != n-kept {
			t.Fatalf("round %d: %d places in use, %d entries, %d kept", round, r.Used(), r.Len(), kept)
		}
		for range min(r.Len(), 1+round%4) {
			if !r.Keep(got) || got[0] != want {
				t.Fatalf("round %d: entry %d in place of %d", round, got[0], want)
			}
			want++
			kept++
		}
		if free() > 0 {
			t.Fatalf("round %d: there is room before places are freed", round)
		}
		freed := min(kept, round%7)
		if r.Free(round % 7); free() != freed || r.Used() != n-freed {
			t.Fatalf("round %d: %d places are free, and %d in use, want %d free", round, free(), r.Used(), freed)
		}
		kept -= freed
	}
	for r.Keep(got) {
		kept++
	}
	if kept != r.Used() {
		t.Errorf("%d entries are taken, and %d places in use", kept, r.Used())
	}
}
