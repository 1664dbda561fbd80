package mpa

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// This file tests RFC 5041 §3: "Any protocol that can serve as an LLP to DDP MUST meet the
// following requirements."

// "The LLP MUST preserve DDP Segment and Message boundaries at the Data Sink." "On receive, the LLP
// MUST provide the length of the DDP Segment received." However TCP splits the stream, the same
// segments arrive, each with its length.
// DDP-5041-3-5, DDP-5041-3-9
func TestRFC5041_3_BoundariesAndLengths(t *testing.T) {
	const seed = 41
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 5041))
	var lengths []int
	for n := range 300 {
		lengths = append(lengths, n+1)
	}
	rnd.Shuffle(len(lengths), func(i, j int) { lengths[i], lengths[j] = lengths[j], lengths[i] })
	ulpdus := ofLengths(lengths...)
	bothWays(t, func(t *testing.T, markers bool) {
		stream := appendAll(NewSender(Agreement{CRC: true, TxMarkers: markers}), ulpdus...)
		for _, chunk := range []int{1, 3, 512, 1448, 0} {
			s := newSink(true, markers).feed(stream, chunk)
			if len(s.got) != len(ulpdus) {
				t.Fatalf("in chunks of %d: %d segments, want %d (%v)", chunk, len(s.got), len(ulpdus), s.Err())
			}
			for i, u := range s.got {
				if len(u.Data) != lengths[i] || !bytes.Equal(u.Data, ulpdus[i]) {
					t.Fatalf("in chunks of %d: segment %d has %d octets, want %d", chunk, i, len(u.Data), lengths[i])
				}
			}
		}
	})
}

// "The LLP MAY provide the incoming segments out of order for Placement, but if it does, it MUST
// also provide information that specifies what the sender-specified order was." The Receiver gets
// the second half of the stream before the first. It must return the segments with the offsets that
// they have in order, and Edge says what is complete. It must return no segment twice.
// DDP-5041-3-5, DDP-5041-3-6, DDP-5041-3-7, DDP-5041-3-9, DDP-5041-3-15
func TestRFC5041_3_OutOfOrder(t *testing.T) {
	var lengths []int
	for n := range 40 { // FPDUs that begin anywhere between Markers
		lengths = append(lengths, 300+7*n)
	}
	ulpdus := ofLengths(lengths...)
	stream, begins := refStream(ulpdus, true, true)
	order := map[uint64]int{} // from stream offset to index among the segments sent
	for i, off := range begins {
		order[off] = i
	}
	s := newSink(true, true)
	half := begins[20]
	s.show(half, stream[half:], never)
	if len(s.got) < 15 || s.Edge() != 0 {
		t.Fatalf("%d segments out of order, edge %d", len(s.got), s.Edge())
	}
	early := len(s.got)
	s.feed(stream, 0)
	seen := make([]int, len(ulpdus))
	for k, u := range s.got {
		i, ok := order[u.Off]
		if !ok || !bytes.Equal(u.Data, ulpdus[i]) || u.Early != (k < early) {
			t.Fatalf("segment %d says it was sent at %d, early %t", k, u.Off, u.Early)
		}
		seen[i]++
	}
	for i, n := range seen {
		if n != 1 {
			t.Errorf("segment %d came %d times", i, n)
		}
	}
	if s.Edge() != uint64(len(stream)) {
		t.Errorf("edge %d of %d", s.Edge(), len(stream))
	}
}

// "LLP MUST provide a strong digest (at least equivalent to CRC32-C) to cover at least the DDP
// Segment." The digest is CRC32C itself, and each of its bits counts. It finds errors of up to
// three bits within the segment and bursts of up to 32 bits. It also finds what a plain checksum
// does not: two exchanged words, or one word that is greater by as much as another one is smaller.
// DDP-5041-3-8
func TestRFC5041_3_Digest(t *testing.T) {
	const seed = 42
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 5041))
	good := appendAll(NewSender(Agreement{CRC: true}), counting(3, 62))
	from, to := 8*2, 8*(2+62) // bits of the segment
	damage := func(desc string, change func(b []byte)) {
		b := bytes.Clone(good)
		change(b)
		if bytes.Equal(b, good) {
			return
		}
		s := newSink(true, false).feed(b, 0)
		if e := (*Error)(nil); !errors.As(s.Err(), &e) || e.Code != CodeCRC || len(s.got) != 0 {
			t.Errorf("%s: Err %v, %d segments", desc, s.Err(), len(s.got))
		}
	}
	if want := refFPDU(counting(3, 62), 0, false, true); !bytes.Equal(good, want) {
		t.Errorf("sent %x, want %x", good, want)
	}
	flip := func(b []byte, bit int) { b[bit/8] ^= 0x80 >> (bit % 8) }
	for bit := from; bit < to; bit++ {
		damage("one bit", func(b []byte) { flip(b, bit) })
		for range 4 {
			x, y := from+rnd.IntN(to-from), from+rnd.IntN(to-from)
			damage("two bits", func(b []byte) { flip(b, bit); flip(b, x) })
			damage("three bits", func(b []byte) { flip(b, bit); flip(b, x); flip(b, y) })
			burst := rnd.Uint32() | 1
			damage("a burst", func(b []byte) {
				for k := range min(32, to-bit) {
					if burst>>k&1 != 0 {
						flip(b, bit+k)
					}
				}
			})
		}
	}
	for bit := to; bit < 8*len(good); bit++ {
		damage("one bit of the digest", func(b []byte) { flip(b, bit) })
	}
	damage("words changed places", func(b []byte) { b[4], b[5], b[8], b[9] = b[8], b[9], b[4], b[5] })
	damage("the sum is the same", func(b []byte) { b[4]++; b[6]-- })
	if s := newSink(true, false).feed(good, 0); len(s.got) != 1 {
		t.Errorf("undamaged: %v", s.Err())
	}
}

// "For a specific LLP Stream, the LLP MUST provide a mechanism to indicate that the LLP Stream has
// been gracefully torn down. For a specific LLP Connection, the LLP MUST provide a mechanism to
// indicate that the LLP Connection has been gracefully torn down." With TCP, both are a FIN between
// two FPDUs. A FIN within an FPDU is not graceful.
// DDP-5041-3-12, DDP-5041-3-13
func TestRFC5041_3_GracefulTeardown(t *testing.T) {
	fpdu := appendAll(NewSender(Agreement{CRC: true}), figure5)
	bothWays(t, func(t *testing.T, markers bool) {
		ulpdus := ofLengths(100, 500, 600) // with Markers inside and at the beginning
		stream, begins := refStream(ulpdus, markers, true)
		for n := range len(stream) + 1 {
			s := newSink(true, markers).feed(stream[:n], 0)
			e := wantCode(t, s.EOF(), CodeClosed)
			if want := n == len(stream) || slices.Contains(begins, uint64(n)); e.Graceful != want {
				t.Errorf("FIN behind %d octets: graceful %t, want %t", n, e.Graceful, want)
			}
		}
	})
	// A direction that has failed before does not end gracefully.
	bad := bytes.Clone(fpdu)
	bad[len(bad)-1] ^= 1
	wantCode(t, newSink(true, false).feed(bad, 0).EOF(), CodeCRC)
}

// "The LLP MUST NOT pass a duplicate DDP Segment to the DDP layer after it has passed all the
// previous DDP Segments to the DDP layer and the associated ordering information for the previous
// DDP Segments and the current DDP Segment."
// DDP-5041-3-15
func TestRFC5041_3_NoDuplicates(t *testing.T) {
	bothWays(t, func(t *testing.T, markers bool) {
		ulpdus := ofLengths(100, 200, 300, 400, 500)
		stream, begins := refStream(ulpdus, markers, true)
		s := newSink(true, markers)
		for i := range ulpdus {
			end := len(stream)
			if i+1 < len(begins) {
				end = int(begins[i+1])
			}
			s.feed(stream[begins[i]:end], 0)
			for j := range i + 1 { // the stream arrives again, from each FPDU that has been passed
				for _, again := range []int{end, int(begins[j]) + 50} {
					s.Fill(begins[j], copy(s.Free(), stream[begins[j]:again]))
					s.drain()
				}
			}
		}
		s.want(t, ulpdus, begins)
	})
}
