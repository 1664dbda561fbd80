package fpdu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/internal/testmode"
	"github.com/rddp/rddp/mpa"
)

// forms are the forms that an engine may ask for.
var forms = []Form{FormFPDU, FormUnsummed, FormULPDU}

// someULPDUs returns n ULPDUs, some of them longer than what Append copies.
func someULPDUs(random *rand.Rand, n int) (list [][]byte) {
	for range n {
		length := 1 + random.IntN(300)
		if random.IntN(4) == 0 {
			length = byReference + random.IntN(3*byReference)
		}
		list = append(list, counting(random.IntN(256), length))
	}
	return list
}

// appendTo appends each ULPDU, in two pieces.
func appendTo(s *Sender, b *Batch, ulpdus [][]byte) {
	for _, u := range ulpdus {
		cut := min(18, len(u))
		s.Append(b, false, u[:cut], u[cut:])
	}
}

// inForm returns the FPDUs of ulpdus, which begin at stream offset pos, in form f, and the offset
// in the result at which each of them ends.
func inForm(f Form, ulpdus [][]byte, pos int, crc, markers bool) (all []byte, ends []int) {
	for _, u := range ulpdus {
		switch f {
		case FormULPDU:
			all = append(append(all, byte(len(u)>>8), byte(len(u))), u...)
			pos += len(refFPDU(u, pos, markers, crc))
		default:
			fpdu := refFPDU(u, pos, markers, crc && f == FormFPDU)
			all = append(all, fpdu...)
			pos += len(fpdu)
		}
		ends = append(ends, len(all))
	}
	return all, ends
}

// TestSenderForms: Append makes each form, and counts the offsets of the stream in each.
func TestSenderForms(t *testing.T) {
	for _, f := range forms {
		for _, a := range agreements {
			t.Run(fmt.Sprintf("form %d, CRC %t, Markers %t", f, a.CRC, a.TxMarkers), func(t *testing.T) {
				random := prototest.Seeded(t)
				s, b := NewSender(a), NewBatch(4*MinBuffer)
				s.SetForm(f)
				ulpdus := someULPDUs(random, 8)
				appendTo(s, b, ulpdus)
				want, _ := inForm(f, ulpdus, 0, a.CRC, a.TxMarkers)
				if got := slices.Concat(b.Bufs()...); !bytes.Equal(got, want) {
					t.Errorf("got %d bytes, want %d, or their contents differ", len(got), len(want))
				}
				wire, _ := inForm(FormFPDU, ulpdus, 0, a.CRC, a.TxMarkers)
				if s.Off() != uint64(len(wire)) {
					t.Errorf("Off = %d, want %d", s.Off(), len(wire))
				}
			})
		}
	}
}

var agreements = []mpa.Agreement{{}, {CRC: true, RxMarkers: false}, {TxMarkers: true, RxMarkers: true}, {CRC: true, TxMarkers: true, RxMarkers: true}}

// TestRevert: wherever an engine stops, TCP gets each byte of the FPDUs once.
func TestRevert(t *testing.T) {
	random := prototest.Seeded(t)
	for range testmode.Rounds(3000, 300) {
		a, f, detach := agreements[random.IntN(len(agreements))], forms[random.IntN(len(forms))], random.IntN(2) == 0
		s, b := NewSender(a), NewBatch(4*MinBuffer)
		s.SetForm(f)
		before := someULPDUs(random, random.IntN(2)) // of an earlier Batch
		appendTo(s, b, before)
		b.Reset()
		start := s.Off()
		ulpdus := someULPDUs(random, 1+random.IntN(5))
		appendTo(s, b, ulpdus)
		wire, ends := inForm(FormFPDU, ulpdus, int(start), a.CRC, a.TxMarkers)
		formed, formedEnds := inForm(f, ulpdus, int(start), a.CRC, a.TxMarkers)

		// The engine stops in FPDU i: TCP has all FPDUs before it and a part of it.
		i := random.IntN(len(ulpdus))
		wireFrom, formedFrom := 0, 0
		if i > 0 {
			wireFrom, formedFrom = ends[i-1], formedEnds[i-1]
		}
		has := wireFrom + random.IntN(ends[i]-wireFrom+1)
		taken := formedFrom + random.IntN(formedEnds[i]-formedFrom)
		first := random.IntN(taken + 1) // in two steps, as TCP has room
		b.Take(first)
		if detach {
			b.Detach()
			for _, u := range ulpdus {
				clear(u) // it belongs to its owner
			}
		}
		b.Take(taken - first)
		if got := slices.Concat(b.Bufs()...); !bytes.Equal(got, formed[taken:]) {
			t.Fatalf("form %d, detached %t: %d bytes are left after %d of %d, or they are wrong", f, detach, len(got), taken, len(formed))
		}
		if f == FormFPDU && detach {
			continue // nothing stops, and Detach keeps no FPDU that has begun
		}
		if !s.Revert(b, start+uint64(has)) {
			t.Fatalf("Revert to %d fails; the Batch has %d bytes from %d", start+uint64(has), len(wire), start)
		}
		if got := slices.Concat(b.Bufs()...); !bytes.Equal(got, wire[has:]) {
			t.Fatalf("form %d, CRC %t, Markers %t, detached %t: after %d bytes of %d TCP gets %d, or wrong ones",
				f, a.CRC, a.TxMarkers, detach, has, len(wire), len(got))
		}
		b.Reset()
		appendTo(s, b, before)
		if want, _ := inForm(FormFPDU, before, int(start)+len(wire), a.CRC, a.TxMarkers); !bytes.Equal(slices.Concat(b.Bufs()...), want) {
			t.Fatal("the next FPDUs are wrong")
		}
	}
}

func TestRevertRefusesForeignOffsets(t *testing.T) {
	s, b := NewSender(mpa.Agreement{}), NewBatch(MinBuffer)
	s.SetForm(FormULPDU)
	appendTo(s, b, [][]byte{{1, 2, 3}})
	b.Reset()
	appendTo(s, b, [][]byte{{4, 5, 6}})
	for _, off := range []uint64{0, 11, 25} { // the Batch has the bytes from 12 to 24
		if s.Revert(b, off) {
			t.Errorf("Revert to %d succeeds", off)
		}
	}
}

// TestRevertOfAnEmptyBatch: the engine has sent everything, and the Batch has been in use
// elsewhere, further on in a stream.
func TestRevertOfAnEmptyBatch(t *testing.T) {
	b, far := NewBatch(MinBuffer), NewSender(mpa.Agreement{CRC: true})
	for range 3 {
		b.Reset()
		far.Append(b, false, make([]byte, 1000))
	}
	b.Reset()
	s := NewSender(mpa.Agreement{CRC: true})
	s.SetForm(FormULPDU)
	if !s.Revert(b, 0) {
		t.Error("Revert refuses the offset at which the Sender is")
	}
	if s.Revert(b, 1) {
		t.Error("Revert takes an offset beyond the Sender's")
	}
}

// TestReceiverForms: the ULPDUs are the same in each form, and so is the Edge, also after the
// engine has stopped.
func TestReceiverForms(t *testing.T) {
	random := prototest.Seeded(t)
	for range 300 {
		a, f := agreements[random.IntN(len(agreements))], forms[random.IntN(len(forms))]
		ulpdus := someULPDUs(random, 6)
		wire, ends := inForm(FormFPDU, ulpdus, 0, a.CRC, a.RxMarkers)
		formed, formedEnds := inForm(f, ulpdus, 0, a.CRC, a.RxMarkers)
		r := NewReceiver(a)
		r.SetBuffer(make([]byte, 4*MinBuffer))
		r.SetForm(f)
		var got [][]byte
		next := func() {
			for r.Next() {
				if want := uint64(len(wire[:endOf(ends, len(got)-1)])); r.ULPDU().Off != want {
					t.Fatalf("form %d: ULPDU %d is at %d, want %d", f, len(got), r.ULPDU().Off, want)
				}
				got = append(got, bytes.Clone(r.ULPDU().Data))
			}
			if r.Err() != nil {
				t.Fatalf("form %d, CRC %t, Markers %t: %v", f, a.CRC, a.RxMarkers, r.Err())
			}
		}
		stop := random.IntN(len(ulpdus) + 1)
		for i := 0; i < stop; {
			n := min(1+random.IntN(3), stop-i)
			from, to := endOf(formedEnds, i-1), endOf(formedEnds, i+n-1)
			copy(r.Free(), formed[from:to])
			r.Fill(uint64(endOf(ends, i-1)), to-from)
			i += n
			next()
		}
		r.SetForm(FormFPDU)
		for pos := endOf(ends, stop-1); pos < len(wire); {
			n := min(1+random.IntN(5000), len(wire)-pos)
			copy(r.Free(), wire[pos:pos+n])
			r.Fill(uint64(pos), n)
			pos += n
			next()
		}
		if len(got) != len(ulpdus) || r.Edge() != uint64(len(wire)) {
			t.Fatalf("form %d: %d ULPDUs of %d, Edge %d of %d", f, len(got), len(ulpdus), r.Edge(), len(wire))
		}
		for i := range got {
			if !bytes.Equal(got[i], ulpdus[i]) {
				t.Fatalf("form %d: ULPDU %d is wrong", f, i)
			}
		}
	}
}

func endOf(ends []int, i int) int {
	if i < 0 {
		return 0
	}
	return ends[i]
}

// TestPlaced: a ULPDU that an engine has placed is skipped, in its turn or before it, and arrives a
// second time only if the engine has stopped meanwhile.
func TestPlaced(t *testing.T) {
	ulpdus := [][]byte{{1, 2}, {3, 4}, {5, 6}} // FPDUs of 8 bytes
	formed, ends := inForm(FormULPDU, ulpdus, 0, true, false)
	r := NewReceiver(mpa.Agreement{CRC: true})
	r.SetBuffer(make([]byte, MinBuffer))
	r.SetForm(FormULPDU)
	if !r.Placed(8, 8) || r.Placed(12, 8) || !r.Placed(0, 8) {
		t.Fatal("Placed records the wrong FPDUs")
	}
	if r.Next() || r.Edge() != 16 {
		t.Fatalf("Edge = %d, want 16", r.Edge())
	}
	if r.Placed(8, 8) {
		t.Error("Placed records an FPDU that has been passed")
	}
	if !r.Placed(24, 8) {
		t.Error("Placed does not record an early FPDU")
	}
	copy(r.Free(), formed[ends[1]:])
	r.Fill(16, ends[2]-ends[1])
	if !r.Next() || !bytes.Equal(r.ULPDU().Data, ulpdus[2]) || r.Next() || r.Edge() != 32 {
		t.Fatalf("Edge = %d, want 32", r.Edge())
	}

	// The engine places one more FPDU before its turn, and stops.
	if !r.Placed(40, 8) {
		t.Error("Placed does not record an early FPDU")
	}
	r.SetForm(FormFPDU)
	wire, _ := inForm(FormFPDU, ulpdus, 32, true, false)
	copy(r.Free(), wire)
	r.Fill(32, len(wire))
	var offs []uint64
	for r.Next() {
		offs = append(offs, r.ULPDU().Off)
	}
	if !slices.Equal(offs, []uint64{32, 48}) || r.Edge() != 56 || r.Err() != nil {
		t.Errorf("ULPDUs at %v, Edge %d, %v", offs, r.Edge(), r.Err())
	}
}

// TestFormULPDUErrors: an engine that contradicts itself ends the direction.
func TestFormULPDUErrors(t *testing.T) {
	for name, f := range map[string]func(r *Receiver){
		"a gap": func(r *Receiver) { r.Fill(4, 4) },
		"an FPDU over one that was placed": func(r *Receiver) {
			r.Placed(4, 8)
			copy(r.Free(), []byte{0, 2, 1, 2})
			r.Fill(0, 4)
		},
	} {
		r := NewReceiver(mpa.Agreement{})
		r.SetBuffer(make([]byte, MinBuffer))
		r.SetForm(FormULPDU)
		f(r)
		if r.Next() || r.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
