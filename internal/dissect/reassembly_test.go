package dissect

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestReassemblyAnyOrder cuts a stream into overlapping segments, shuffles and repeats them: the
// octets come out in order, each once, also where the sequence numbers wrap.
func TestReassemblyAnyOrder(t *testing.T) {
	random := prototest.Seeded(t)
	for range 200 {
		stream := make([]byte, 1+random.IntN(5000))
		for i := range stream {
			stream[i] = byte(random.Uint32())
		}
		isn := random.Uint32()
		if random.IntN(2) == 0 {
			isn = -uint32(random.IntN(len(stream)))
		}
		type piece struct{ from, to int }
		var pieces []piece
		for from := 0; from < len(stream); {
			to := min(len(stream), from+1+random.IntN(400))
			pieces = append(pieces, piece{max(0, from-random.IntN(100)), to})
			from = to
		}
		pieces = append(pieces, pieces[:len(pieces)/3]...)
		random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })

		var r reassembly
		var got []byte
		budget := 0
		r.start(isn)
		r.finish(isn + uint32(len(stream)))
		for _, p := range pieces {
			if r.complete() && len(got) < len(stream) {
				t.Fatalf("complete after %d of %d bytes", len(got), len(stream))
			}
			if !r.add(isn+uint32(p.from), stream[p.from:p.to], &budget, func(b []byte) { got = append(got, b...) }) {
				t.Fatal("add found no room")
			}
		}
		if !bytes.Equal(got, stream) || !r.complete() || budget != 0 || r.held != 0 {
			t.Fatalf("got %d bytes of %d, right: %t, complete: %t, budget %d, held %d",
				len(got), len(stream), bytes.Equal(got, stream), r.complete(), budget, r.held)
		}
	}
}

func TestReassemblyOverlaps(t *testing.T) {
	var r reassembly
	var got []byte
	budget := 0
	give := func(b []byte) { got = append(got, b...) }
	r.add(0, []byte("ab"), &budget, give)
	r.add(1, []byte("Xc"), &budget, give)   // overlaps octets given out
	r.add(5, []byte("f"), &budget, give)    // waits
	r.add(4, []byte("eYg"), &budget, give)  // overlaps waiting octets
	r.add(3, []byte("d"), &budget, give)    // closes the gap
	r.add(0, []byte("ZZZZ"), &budget, give) // comes too late
	r.add(8, []byte("i"), &budget, give)    // waits
	r.add(8, []byte("Ijk"), &budget, give)  // is longer
	r.add(8, []byte("I"), &budget, give)    // contains nothing new
	r.add(7, []byte("h"), &budget, give)
	if want := "abcdeYghijk"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReassemblyBounds(t *testing.T) {
	give := func([]byte) { t.Error("bytes behind a gap were given out") }
	t.Run("one direction", func(t *testing.T) {
		var r reassembly
		budget := 0
		r.start(0)
		data := make([]byte, 1<<20)
		for i := range 7 {
			if !r.add(uint32(1+i<<20), data, &budget, give) {
				t.Fatalf("no room for run %d", i)
			}
		}
		if r.add(1+7<<20, data, &budget, give) || budget > maxWaiting {
			t.Errorf("%d bytes wait, the bound is %d", budget, maxWaiting)
		}
	})
	t.Run("all directions", func(t *testing.T) {
		var r reassembly
		budget := maxWaitingAll - 100
		r.start(0)
		if r.add(1, make([]byte, 100), &budget, give) {
			t.Error("the budget of all directions was exceeded")
		}
	})
	t.Run("tiny runs", func(t *testing.T) {
		var r reassembly
		budget := 0
		r.start(0)
		n := 0
		for n < maxWaiting && r.add(uint32(1+2*n), []byte{1}, &budget, give) {
			n++
		}
		if n > maxWaiting/runOverhead {
			t.Errorf("%d runs of a byte wait", n)
		}
	})
	t.Run("drop gives the room back", func(t *testing.T) {
		var r reassembly
		budget := 0
		r.start(0)
		r.add(1, make([]byte, 100), &budget, give)
		r.drop(&budget)
		if budget != 0 || r.held != 0 {
			t.Errorf("budget %d, held %d after drop", budget, r.held)
		}
	})
}
