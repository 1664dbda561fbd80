package mpa

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestBorrow checks that a Receiver returns the same ULPDUs when the ends of some of them are
// borrowed, in whatever pieces the other bytes come.
func TestBorrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 5044))
	ulpdus := append(ofLengths(1, 2, MaxULPDU, 3, 20_000, 14), randomULPDUs(rnd, 60, 9000)...)
	stream, begins := refStream(ulpdus, false, false)
	for range 20 {
		r := NewReceiver(Agreement{})
		r.SetBuffer(make([]byte, MinBuffer))
		at, next, borrowed := 0, 0, 0
		for at < len(stream) {
			begun, n := r.Begun()
			switch {
			case n > 0 && rnd.IntN(2) == 0:
				if !bytes.Equal(begun, ulpdus[next][:len(begun)]) || len(begun)+n != len(ulpdus[next]) {
					t.Fatalf("ULPDU %d: %d bytes have come, %d are missing, of %d", next, len(begun), n, len(ulpdus[next]))
				}
				r.Borrow(stream[at : at+n : at+n])
				borrowed++
				if _, whole := r.Arrived(); !r.IsApart() || whole != 0 || r.Next() {
					t.Fatalf("ULPDU %d is whole without its CRC field", next)
				}
				if _, n := r.Begun(); n != 0 {
					t.Fatalf("%d bytes are missing that were borrowed", n)
				}
				if e, want := r.EOF().(*Error), fmt.Sprintf("%d bytes into the FPDU at stream offset %d", at+n-int(begins[next]), begins[next]); e.Reason != want { //nolint:errorlint // it is documented
					t.Fatalf("EOF: %q, want %q", e.Reason, want)
				}
				at += n
			default:
				n := min(1+rnd.IntN(1+rnd.IntN(9000)), len(stream)-at)
				if rnd.IntN(8) == 0 { // as a driver does that parks the beginning of an FPDU
					b, _ := r.Arrived()
					r.SetBuffer(make([]byte, len(b)))
					r.SetBuffer(make([]byte, MinBuffer))
				}
				n = copy(r.Free(), stream[at:at+n])
				r.Fill(uint64(at), n)
				at += n
			}
			for r.Next() {
				u := r.ULPDU()
				if got := append(bytes.Clone(u.Data), r.Apart()...); !bytes.Equal(got, ulpdus[next]) || u.Off != begins[next] {
					t.Fatalf("ULPDU %d is another one: %d bytes at %d, want %d at %d", next, len(got), u.Off, len(ulpdus[next]), begins[next])
				}
				next++
			}
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
		}
		if next != len(ulpdus) || r.Edge() != uint64(len(stream)) || borrowed == 0 {
			t.Fatalf("%d ULPDUs of %d, and %d borrowed", next, len(ulpdus), borrowed)
		}
	}
}

// TestNothingToBorrow checks when there is no ULPDU whose end may be borrowed, and that other bytes
// are not.
func TestNothingToBorrow(t *testing.T) {
	for _, tt := range []struct {
		desc string
		a    Agreement
		n    int // bytes of the stream
		want int
	}{
		{"no FPDU has begun", Agreement{}, 0, 0},
		{"half of its length", Agreement{}, 1, 0},
		{"only its length", Agreement{}, 2, 100},
		{"half of it", Agreement{}, 52, 50},
		{"all but its padding", Agreement{}, 102, 0},
		{"all of it", Agreement{}, 108, 0},
		{"with CRCs", Agreement{CRC: true}, 52, 0},
		{"with Markers", Agreement{RxMarkers: true}, 52, 0},
	} {
		r := NewReceiver(tt.a)
		r.SetBuffer(make([]byte, MinBuffer))
		stream, _ := refStream(ofLengths(100), tt.a.RxMarkers, tt.a.CRC)
		r.Fill(0, copy(r.Free(), stream[:tt.n]))
		if _, n := r.Begun(); n != tt.want {
			t.Errorf("%s: %d bytes are missing, want %d", tt.desc, n, tt.want)
		}
		for _, wrong := range []int{1, tt.want - 1, tt.want + 1} {
			if wrong > 0 && wrong != tt.want {
				wantPanic(t, func() { r.Borrow(make([]byte, wrong)) })
			}
		}
	}
}

// TestDropBorrowed checks that a Receiver without a buffer refers to nothing.
func TestDropBorrowed(t *testing.T) {
	r := NewReceiver(Agreement{})
	r.SetBuffer(make([]byte, MinBuffer))
	stream, _ := refStream(ofLengths(100), false, false)
	r.Fill(0, copy(r.Free(), stream[:10]))
	r.Borrow(stream[10:102])
	if r.Drop(); r.IsApart() || r.Next() {
		t.Error("a part is still borrowed")
	}
}
