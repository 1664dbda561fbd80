package mpa

import (
	"bytes"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

const scratchLen = 512 << 10 // bytes of a large Batch

// TestBatchJoinsNeighbors checks that neighboring bytes of scratch are one entry of the vector.
func TestBatchJoinsNeighbors(t *testing.T) {
	b, s := NewBatch(scratchLen), NewSender(Agreement{CRC: true})
	for range 10 {
		s.Append(b, false, figure5)
	}
	if n := len(b.Bufs()); n != 1 {
		t.Errorf("10 short FPDUs are %d entries, want 1", n)
	}
	long := make([]byte, byReference)
	for range 10 {
		s.Append(b, false, figure5, long)
	}
	// First the short FPDUs, which Bufs has returned already; then header, payload, trailer and
	// header, payload, …
	if n := len(b.Bufs()); n != 1+2*10+1 {
		t.Errorf("with 10 long FPDUs there are %d entries, want 22", n)
	}
	if got := len(bytes.Join(b.Bufs(), nil)); got != b.Len() || uint64(got) != s.Off() {
		t.Errorf("the vector has %d octets, Len is %d, Off %d", got, b.Len(), s.Off())
	}
}

// TestBatchFull checks that the longest FPDU fits while Full returns false, both by bytes and by
// entries.
func TestBatchFull(t *testing.T) {
	long := make([]byte, MaxULPDU)
	pieces := make([][]byte, 0, 64)
	for left := long; len(left) > 0; {
		n := min(byReference, len(left))
		pieces = append(pieces, left[:n:n])
		left = left[n:]
	}
	tests := []struct {
		desc              string
		snapshot, markers bool
		payload           [][]byte
		least             int // bytes
	}{
		{"short, copied", false, false, [][]byte{figure5}, scratchLen - 2*maxSent},
		{"long, copied", true, false, [][]byte{long}, scratchLen - 2*maxSent},
		{"long, with Markers", false, true, [][]byte{long}, scratchLen - 2*maxSent},
		{"long, referred", false, false, [][]byte{long}, fullLen},
		{"long, referred in pieces", false, false, pieces, fullLen},
		{"as many entries as can be", false, false, [][]byte{long[:byReference]}, fullLen},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			b, s := NewBatch(scratchLen), NewSender(Agreement{TxMarkers: tt.markers})
			before := &b.Bufs()[:1][0]
			for !b.Full() {
				s.Append(b, tt.snapshot, nil, tt.payload...)
			}
			if b.Len() < tt.least || b.Len() > fullLen+maxSent {
				t.Errorf("full with %d octets, want at least %d", b.Len(), tt.least)
			}
			if n := len(b.Bufs()); n > maxBufs || &b.Bufs()[0] != before {
				t.Errorf("%d entries, or they were moved", n)
			}
			if got := len(bytes.Join(b.Bufs(), nil)); got != b.Len() {
				t.Errorf("the vector has %d octets, Len is %d", got, b.Len())
			}
			wantPanic(t, func() { s.Append(b, false, figure5) })
			b.Reset()
			if b.Len() != 0 || b.Full() || len(b.Bufs()) != 0 {
				t.Errorf("after Reset: %d octets, full %v, %d entries", b.Len(), b.Full(), len(b.Bufs()))
			}
			for i, p := range b.Bufs()[:maxBufs] {
				if p != nil {
					t.Errorf("after Reset entry %d still refers to payload", i)
				}
			}
		})
	}
}

// TestBatchFullByEntries checks the limit of entries by itself, with short pieces. Pieces of 8 KiB
// reach the limit of a mebibyte before they fill the vector.
func TestBatchFullByEntries(t *testing.T) {
	b := NewBatch(scratchLen)
	for !b.Full() {
		b.refer(figure5)
	}
	if got := len(b.Bufs()); got != maxBufs-bufsPerFPDU+1 {
		t.Errorf("full with %d entries, want %d", got, maxBufs-bufsPerFPDU+1)
	}
}

// TestBatchOfLeastMemory checks that the longest FPDU fits a Batch of MinBuffer bytes, whether its
// payload is copied or referred to in as many pieces as possible.
func TestBatchOfLeastMemory(t *testing.T) {
	long := make([]byte, MaxULPDU-1)
	for _, snapshot := range []bool{false, true} {
		b, s := NewBatch(MinBuffer), NewSender(Agreement{CRC: true, TxMarkers: snapshot})
		bufs := cap(b.bufs)
		if b.Full() {
			t.Fatal("full when it is empty")
		}
		s.Append(b, snapshot, []byte{1}, slices.Collect(slices.Chunk(long, byReference))...)
		if got := len(bytes.Join(b.Bufs(), nil)); got != b.Len() || got < MaxULPDU || snapshot && !b.Full() {
			t.Errorf("snapshot %v: %d bytes, Len is %d, full %v", snapshot, got, b.Len(), b.Full())
		}
		if cap(b.bufs) != bufs {
			t.Errorf("snapshot %v: the vector was moved", snapshot)
		}
	}
	wantPanic(t, func() { NewBatch(MinBuffer - 1) })
}

// TestBatchApart: each FPDU is one entry of the vector, and the bytes are those of another Batch.
func TestBatchApart(t *testing.T) {
	header := bytes.Repeat([]byte{1}, 18)
	for _, markers := range []bool{false, true} {
		a := Agreement{CRC: true, TxMarkers: markers}
		apart, together := NewBatch(512<<10), NewBatch(512<<10)
		apart.Apart = true
		x, y := NewSender(a), NewSender(a)
		var lens []int
		for _, n := range []int{1, 700, 1400, 9000, 40000} {
			payload := bytes.Repeat([]byte{byte(n)}, n)
			before := x.Off()
			x.Append(apart, false, header, payload[:n/2], payload[n/2:])
			y.Append(together, false, header, payload[:n/2], payload[n/2:])
			lens = append(lens, int(x.Off()-before))
		}
		bufs := apart.Bufs()
		if len(bufs) != len(lens) {
			t.Fatalf("markers %t: %d entries for %d FPDUs", markers, len(bufs), len(lens))
		}
		for i, b := range bufs {
			if len(b) != lens[i] {
				t.Errorf("markers %t: entry %d has %d bytes, the FPDU %d", markers, i, len(b), lens[i])
			}
		}
		if !bytes.Equal(bytes.Join(bufs, nil), bytes.Join(together.Bufs(), nil)) {
			t.Errorf("markers %t: the bytes differ", markers)
		}
	}
}

// TestDetach: wherever TCP has stopped, Detach moves the remaining bytes, unchanged, to memory that
// does not belong to the owner of the payload.
func TestDetach(t *testing.T) {
	random := prototest.Seeded(t)
	b := NewBatch(scratchLen)
	for range testmode.Rounds(2000, 200) {
		s := NewSender(Agreement{CRC: random.IntN(2) == 0})
		var payloads [][]byte
		for range 1 + random.IntN(5) {
			n := 1 + random.IntN(300)
			if random.IntN(2) == 0 {
				n = byReference + random.IntN(3*byReference)
			}
			p := counting(random.IntN(256), n)
			payloads = append(payloads, p)
			s.Append(b, false, figure5[:18], p)
		}
		all := slices.Concat(b.Bufs()...)
		taken := random.IntN(len(all) + 1)
		first := random.IntN(taken + 1) // in two steps, as TCP has room
		b.Take(first)
		b.Take(taken - first)
		b.Detach()
		for _, p := range payloads {
			clear(p) // it belongs to its owner
		}
		if got := slices.Concat(b.Bufs()...); !bytes.Equal(got, all[taken:]) {
			t.Fatalf("%d bytes are left after %d of %d, or they are wrong", len(got), taken, len(all))
		}
		b.Reset()
	}
}

// TestDetachInTheBatch: as long as Spare has room for what is referred to, Detach copies what has
// not been taken to the Batch's own memory, whatever has been taken.
func TestDetachInTheBatch(t *testing.T) {
	for _, size := range []int{MinBuffer, 512 << 10} {
		b, s := NewBatch(size), NewSender(Agreement{})
		header, payload := make([]byte, 32), make([]byte, 50_000) // so that the last piece fills the Batch
		fill := func() {
			clear(payload)
			s.Append(b, true, header, payload[:100])
			for n := len(payload); !b.Full(); {
				if n = min(n, b.Spare()); n < byReference {
					break
				}
				s.Append(b, false, header, payload[:n])
			}
		}
		fill()
		whole := bytes.Join(b.Bufs(), nil)
		if len(b.Bufs()) < 3 {
			t.Fatalf("Batch of %d bytes: nothing is referred to", size)
		}
		for _, taken := range []int{0, 1, 20, 150, len(whole) / 2, len(whole) - 1, len(whole)} {
			b.Reset()
			n := testing.AllocsPerRun(1, func() {
				b.Reset()
				fill()
				b.Take(taken)
				b.Detach()
			})
			for i := range payload {
				payload[i] = 1
			}
			if got := bytes.Join(b.Bufs(), nil); !bytes.Equal(got, whole[taken:]) {
				t.Errorf("Batch of %d bytes, %d taken: other bytes than before", size, taken)
			}
			if n != 0 && !testmode.Race {
				t.Errorf("Batch of %d bytes, %d taken: %v allocations", size, taken, n)
			}
		}
	}
}
