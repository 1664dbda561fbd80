package mpa

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// show gives the sink an early run, and calls Unread for each ULPDU for which refuse returns true.
func (s *sink) show(off uint64, run []byte, refuse func() bool) {
	s.Fill(off, copy(s.Free(), run))
	for s.Next() {
		u := s.ULPDU()
		if u.Early && refuse() {
			s.Unread()
			continue
		}
		u.Data = bytes.Clone(u.Data)
		s.got = append(s.got, *u)
	}
}

func never() bool { return false }

// TestEarlyRunsChangeNothing receives the same stream with and without early runs. The ULPDUs must
// be the same, each once, and those that are not early must be in order.
// MPA-5044-1.2-1, MPA-5044-3-9 to MPA-5044-3-12, MPA-5044-4.3-17, MPA-5044-4.3-18
func TestEarlyRunsChangeNothing(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 5044))
	early := 0
	for round := range 150 {
		ulpdus := randomULPDUs(rnd, 60, []int{30, 300, 3000}[round%3])
		stream, begins := refStream(ulpdus, true, true)
		s := newSink(true, true)
		for int(s.in) < len(stream) {
			for rnd.IntN(2) == 0 {
				from := int(s.in) + rnd.IntN(len(stream)-int(s.in))
				n := rnd.IntN(min(len(stream)-from, 20000) + 1)
				s.show(uint64(from), stream[from:from+n], func() bool { return rnd.IntN(3) == 0 })
			}
			n := min(1+rnd.IntN(4000), len(stream)-int(s.in))
			s.feed(stream[s.in:int(s.in)+n], 0)
		}
		if s.Err() != nil || s.Edge() != uint64(len(stream)) || len(s.early.shown) != 0 {
			t.Fatalf("round %d: Err %v, Edge %d of %d, %d FPDUs still remembered", round, s.Err(), s.Edge(), len(stream), len(s.early.shown))
		}
		last := uint64(0)
		for _, u := range s.got {
			if u.Early {
				early++
				continue
			}
			if u.Off < last {
				t.Fatalf("round %d: ULPDU at %d comes after the one at %d", round, u.Off, last)
			}
			last = u.Off
		}
		slices.SortFunc(s.got, func(a, b ULPDU) int { return int(a.Off) - int(b.Off) })
		for i := range s.got {
			s.got[i].Early = false
		}
		s.want(t, ulpdus, begins)
	}
	if early < 1000 {
		t.Errorf("only %d ULPDUs were shown early", early)
	}
}

// TestEarlyFindsAll checks that, after a gap, the Receiver finds all whole FPDUs from the first one
// that a Marker points to.
// MPA-5044-6-4
func TestEarlyFindsAll(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	tests := []struct {
		desc     string
		from, to int
		want     []int // indices of ULPDUs
	}{
		{"from B on: no Marker points into it, the one at 512 is C's", 52, len(stream), []int{2, 3, 4, 5, 6}},
		{"from C's Marker on", 512, len(stream), []int{2, 3, 4, 5, 6}},
		{"from C's ULPDU_Length on: its Marker is missing, D is next", 516, len(stream), []int{3, 4, 5, 6}},
		{"from D on, found by its own Marker", 1032, 2496, []int{3, 4}},
		{"from behind D's beginning: next is G, by its Marker", 1033, len(stream), []int{6}},
		{"G without its end", 2500, len(stream) - 1, nil},
		{"no Marker", 1028, 1536, nil},
		{"a Marker and nothing else", 512, 516, nil},
		{"nothing", 700, 700, nil},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			s := newSink(true, true)
			s.show(uint64(tt.from), stream[tt.from:tt.to], never)
			if s.Edge() != 0 || s.Err() != nil {
				t.Errorf("Edge %d, Err %v", s.Edge(), s.Err())
			}
			var got []int
			for _, u := range s.got {
				i := slices.Index(begins, u.Off)
				if got = append(got, i); !u.Early || !bytes.Equal(u.Data, worked()[i]) {
					t.Errorf("ULPDU at %d, early %v: %x, want %x", u.Off, u.Early, u.Data, worked()[i])
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %v, want %v", got, tt.want)
			}
			// The Receiver skips them when they arrive again, early or in order.
			s.got = nil
			s.show(uint64(tt.from), stream[tt.from:tt.to], never)
			s.feed(stream, 0)
			if len(s.got) != len(worked())-len(tt.want) || s.Edge() != uint64(len(stream)) {
				t.Errorf("in order %d ULPDUs came, want %d; Edge %d, want %d", len(s.got), len(worked())-len(tt.want), s.Edge(), len(stream))
			}
		})
	}
}

// TestFirstValidOctetWins checks that later bytes at the same offsets do not replace what was shown
// early.
func TestFirstValidOctetWins(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	c, d := begins[2], begins[3]
	s := newSink(true, true)
	s.show(c, stream[c:d], never)
	if len(s.got) != 1 || s.got[0].Off != c {
		t.Fatalf("early: %+v, want the ULPDU at %d", s.got, c)
	}
	later := bytes.Clone(stream)
	for i := c; i < d; i++ {
		later[i] ^= 0xff
	}
	s.feed(later, 100)
	if len(s.got) != len(worked()) || s.Err() != nil || s.Edge() != uint64(len(stream)) {
		t.Errorf("%d ULPDUs, Err %v, Edge %d", len(s.got), s.Err(), s.Edge())
	}
}

// TestAnotherFPDUInItsPlace checks that the direction ends if another valid FPDU arrives in order
// in the place of one that was shown early. A damaged copy that arrives in order does no harm.
func TestAnotherFPDUInItsPlace(t *testing.T) {
	ulpdus := ofLengths(600, 600, 600, 600)
	stream, begins := refStream(ulpdus, true, true)
	from, to := begins[1], begins[2]
	instead := func(us ...[]byte) []byte {
		b, _ := refStream(append([][]byte{ulpdus[0]}, us...), true, true)
		return b
	}
	damaged := func(at uint64) []byte {
		b := bytes.Clone(stream)
		b[at] ^= 0x40
		return b
	}
	for _, tt := range []struct {
		desc   string
		stream []byte
		chunk  int
		bad    bool
	}{
		{"the same", stream, 0, false},
		{"another payload", instead(counting(1, 600), ulpdus[2], ulpdus[3]), 0, true},
		{"another payload, byte by byte", instead(counting(1, 600), ulpdus[2], ulpdus[3]), 1, true},
		{"a shorter one", instead(counting(1, 400), ulpdus[2], ulpdus[3]), 0, true},
		{"a shorter one, byte by byte", instead(counting(1, 400), ulpdus[2], ulpdus[3]), 1, true},
		{"a longer one", instead(counting(1, 1200), ulpdus[3]), 0, true},
		{"damaged in the payload", damaged(from + 100), 1, false},
		{"damaged in the length", damaged(from), 0, false},
		{"damaged in the CRC", damaged(to - 1), 1, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			s := newSink(true, true)
			s.show(from, stream[from:to], never)
			if len(s.got) != 1 || s.got[0].Off != from {
				t.Fatalf("early: %+v, want the ULPDU at %d", s.got, from)
			}
			s.feed(tt.stream, tt.chunk)
			if !tt.bad {
				if s.Err() != nil || s.Edge() != uint64(len(stream)) || len(s.got) != len(ulpdus) {
					t.Errorf("Err %v, Edge %d, %d ULPDUs", s.Err(), s.Edge(), len(s.got))
				}
				return
			}
			wantCode(t, s.Err(), CodeCRC)
			if s.Edge() != from || len(s.got) != 2 {
				t.Errorf("Edge %d, want %d; %d ULPDUs, want 2", s.Edge(), from, len(s.got))
			}
		})
	}
}

// TestEdgeWaitsForOrder checks that Edge passes an FPDU that was shown early only when all its
// bytes have arrived in order.
func TestEdgeWaitsForOrder(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	s := newSink(true, true)
	s.show(begins[2], stream[begins[2]:begins[4]], never)
	edge := uint64(0)
	for i := range stream {
		s.feed(stream[i:i+1], 0)
		if at := slices.Index(append(begins, uint64(len(stream))), uint64(i+1)); at >= 0 {
			edge = uint64(i + 1)
		}
		if s.Edge() != edge {
			t.Fatalf("after %d octets Edge is %d, want %d", i+1, s.Edge(), edge)
		}
	}
}

// TestBadHintsAreDropped checks that an invalid early run does no harm, and that the Receiver
// ignores early runs without Markers or without CRC.
func TestBadHintsAreDropped(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	change := func(f func(b []byte)) []byte {
		b := bytes.Clone(stream)
		f(b)
		return b
	}
	tests := []struct {
		desc         string
		crc, markers bool
		hint         []byte
	}{
		{"bad CRC", true, true, change(func(b []byte) { b[700] ^= 1 })},
		{"bad Marker, good CRC", true, true, change(func(b []byte) { b[1027] ^= 4; seal(b[512:1032]) })},
		{"first Marker too far back", true, true, change(func(b []byte) { b[514] = 0xff; b[515] = 0xfc })},
		{"only zeros", true, true, make([]byte, len(stream))},
		{"only ones", true, true, bytes.Repeat([]byte{0xff}, len(stream))},
		{"no CRC", false, true, stream},
		{"no Markers", true, false, stream},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			s := newSink(tt.crc, tt.markers)
			s.show(500, tt.hint[500:1200], never)
			if len(s.got) != 0 || s.Err() != nil {
				t.Errorf("got %d ULPDUs, Err %v", len(s.got), s.Err())
			}
			good, begins := stream, begins
			if !tt.markers {
				good, begins = refStream(worked(), false, true)
			}
			s.feed(good, 0).want(t, worked(), begins)
		})
	}
}

// TestEarlyRunOfAnotherWindow checks that the Receiver ignores a run that begins more than 1 GiB
// after what has arrived in order. A TCP that has lost count, by a multiple of 2^32, would show old
// FPDUs there with good Markers and CRCs.
func TestEarlyRunOfAnotherWindow(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	for _, tt := range []struct {
		ahead uint64
		want  int
	}{{512, len(begins)}, {1 << 30, len(begins)}, {1<<30 + 512, 0}, {1<<31 - 512, 0}, {1 << 32, 0}, {1 << 63, 0}} {
		s := newSink(true, true)
		s.show(tt.ahead, stream, never)
		if len(s.got) != tt.want || s.Err() != nil {
			t.Errorf("%d bytes ahead: got %d ULPDUs, Err %v, want %d", tt.ahead, len(s.got), s.Err(), tt.want)
		}
	}
	s := newSink(true, true)
	s.feed(stream, 0)
	s.show(1<<32, stream, never) // bytes that have arrived and are delivered
	s.want(t, worked(), begins)
}

// TestEarlyIsBounded checks that the Receiver remembers maxShown FPDUs. It does not show the next
// one early, but returns it in order.
func TestEarlyIsBounded(t *testing.T) {
	ulpdus := ofLengths(make([]int, 2*maxShown)...)
	for i := range ulpdus {
		ulpdus[i] = counting(i, 50+i%7)
	}
	stream, begins := refStream(ulpdus, true, true)
	s := newSink(true, true)
	for range 3 {
		s.show(512, stream[512:], never)
	}
	if len(s.got) != maxShown {
		t.Errorf("%d ULPDUs early, want %d", len(s.got), maxShown)
	}
	s.feed(stream, 0)
	slices.SortFunc(s.got, func(a, b ULPDU) int { return int(a.Off) - int(b.Off) })
	for i := range s.got {
		s.got[i].Early = false
	}
	s.want(t, ulpdus, begins)
}

// "If the FPDU start determined from previous ULPDU Length fields does not match with the MPA
// Marker position, MPA SHOULD deliver an error to DDP. [...] the check SHOULD be made when a gap
// creating an out-of-order sequence is closed and any time a Marker points to an already identified
// FPDU."
// MPA-5044-8-7
func TestRFC5044_8_GapClosesOverAnotherFPDU(t *testing.T) {
	first, _ := refStream(ofLengths(600, 600), true, true)
	second, _ := refStream(ofLengths(1800), true, true)
	at := len(first) - len(refFPDU(ofLengths(600, 600)[1], 616, true, true))
	s := newSink(true, true)
	s.show(uint64(at), first[at:], never)
	if len(s.got) != 1 || s.got[0].Off != uint64(at) {
		t.Fatalf("early: %d ULPDUs, want one at %d", len(s.got), at)
	}
	s.feed(second, 0)
	if len(s.got) != 1 {
		t.Errorf("an FPDU was shown that lies across one that was shown early")
	}
	wantCode(t, s.Err(), CodeMarker)
}

// TestOverlappingHints checks that the first of two overlapping early FPDUs remains.
func TestOverlappingHints(t *testing.T) {
	a, _ := refStream(ofLengths(600, 600, 600), true, true)
	b, _ := refStream(ofLengths(700, 900), true, true)
	for _, order := range [][2][]byte{{a, b}, {b, a}} {
		s := newSink(true, true)
		s.show(4, order[0][4:1700], never)
		n := len(s.got)
		s.show(4, order[1][4:1700], never)
		if n == 0 || len(s.got) != n {
			t.Errorf("%d ULPDUs, then %d more, want none", n, len(s.got)-n)
		}
	}
}

// TestEarlyRunGrows checks that a longer run shows the FPDUs that follow those of an earlier run.
func TestEarlyRunGrows(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	s := newSink(true, true)
	for i := 2; i < len(begins); i++ {
		s.show(512, stream[512:begins[i]], never)
		if len(s.got) != i-2 {
			t.Errorf("up to %d: %d ULPDUs, want %d", begins[i], len(s.got), i-2)
		}
	}
}

// TestUnreadInOrder checks that Unread panics for a ULPDU that arrived in order.
func TestUnreadInOrder(t *testing.T) {
	s := newSink(true, true).feed(refFPDU(figure5, 0, true, true), 0)
	wantPanic(t, s.Unread)
}

// TestEarlyRunEndsWithItsInput checks that the Receiver drops the rest of a run that the caller has
// not drained, and does not mix it with bytes read over it.
func TestEarlyRunEndsWithItsInput(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	s := newSink(true, true)
	s.Fill(512, copy(s.Free(), stream[512:]))
	if !s.Next() || s.ULPDU().Off != begins[2] {
		t.Fatalf("early: %+v, want the ULPDU at %d", s.ULPDU(), begins[2])
	}
	s.feed(stream[:4], 0)
	if len(s.got) != 0 {
		t.Errorf("out of the free part of the buffer there is a ULPDU at %d", s.got[0].Off)
	}
	s.feed(stream[4:], 0)
	if len(s.got) != len(worked())-1 || s.Err() != nil {
		t.Errorf("%d ULPDUs in order, want %d; Err %v", len(s.got), len(worked())-1, s.Err())
	}
}

// TestEarlyRunEndsWithTheStream checks that the Receiver ignores a run after an error or without a
// buffer.
func TestEarlyRunEndsWithTheStream(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	s := newSink(true, true)
	s.Fill(512, copy(s.Free(), stream[512:]))
	s.SetBuffer(nil)
	if s.Next() {
		t.Errorf("without a buffer there is %+v", s.ULPDU())
	}
	s.SetBuffer(make([]byte, MinBuffer))
	stream[20] ^= 1
	s.Fill(0, copy(s.Free(), stream[:begins[1]])) // without a call of Next
	s.Fill(512, copy(s.Free(), stream[512:]))
	if s.Next() {
		t.Errorf("with an error before it there is %+v", s.ULPDU())
	}
	wantCode(t, s.Err(), CodeCRC)
}

// TestEarlyIsVerified checks that a run after a gap shows no FPDU with a wrong CRC or Marker, and
// no FPDU after it. The same bytes, when correct, are returned in order.
// MPA-5044-6-1, MPA-5044-6-3
func TestEarlyIsVerified(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	c, d := begins[2], begins[3]
	for at := c; at < d; at++ {
		for _, sealed := range []bool{false, true} {
			if inMarker := at == c+2 || at == 1026; sealed && !inMarker {
				continue // that is another FPDU, and a valid one
			}
			run := bytes.Clone(stream[c:])
			run[at-c] ^= 0x80
			if sealed {
				seal(run[:d-c])
			}
			s := newSink(true, true)
			s.show(c, run, never)
			for _, u := range s.got {
				if !u.Early || !slices.Contains(begins[3:], u.Off) || !bytes.Equal(u.Data, worked()[slices.Index(begins, u.Off)]) {
					t.Errorf("octet %d is wrong, sealed %t: shown %+v", at, sealed, u)
				}
			}
			if s.feed(stream, 0); s.Err() != nil || s.Edge() != uint64(len(stream)) {
				t.Errorf("octet %d: then in order Err %v, Edge %d", at, s.Err(), s.Edge())
			}
		}
	}
}
