package bytestream

import (
	"bytes"
	"errors"
	"testing"
)

// TestHeaderBytes: the layout on the wire.
func TestHeaderBytes(t *testing.T) {
	for _, tt := range []struct {
		h    Header
		want []byte
	}{
		{Header{}, []byte{0, 0, 0, 0}},
		{Header{FIN: true, Credits: 1}, []byte{0, 1, 0, 1}},
		{Header{Kind: Offer, Credits: 0x1234}, []byte{1, 0, 0x12, 0x34}},
		{Header{Kind: Grant}, []byte{2, 0, 0, 0}},
		{Header{Kind: Done, Credits: 0xffff}, []byte{3, 0, 0xff, 0xff}},
		{Header{Kind: Cancel}, []byte{4, 0, 0, 0}},
	} {
		b := tt.h.AppendTo([]byte{9})
		if !bytes.Equal(b[1:], tt.want) || b[0] != 9 {
			t.Errorf("%+v = %x, want %x", tt.h, b[1:], tt.want)
		}
		h, rest, err := ParseHeader(append(tt.want, 7))
		if h != tt.h || len(rest) != 1 || err != nil {
			t.Errorf("%x = %+v, %x, %v", tt.want, h, rest, err)
		}
	}
}

// TestHeaderBad: headers that no correct end sends are errors.
func TestHeaderBad(t *testing.T) {
	for _, b := range [][]byte{nil, {0, 0, 0}, {5, 0, 0, 0}, {255, 0, 0, 0}, {0, 2, 0, 0}, {0, 0x81, 0, 0}, {1, 1, 0, 0}, {4, 1, 0, 0}} {
		if _, _, err := ParseHeader(b); !errors.Is(err, ErrStream) {
			t.Errorf("%x: %v, want ErrStream", b, err)
		}
	}
}

func TestIsData(t *testing.T) {
	for m, want := range map[string]bool{"": false, "\x00\x00\x00\x00": false, "\x00\x00\x00\x00x": true, "\x01\x00\x00\x00\x00\x00\x00\x01": false} {
		if IsData([]byte(m)) != want {
			t.Errorf("%x: %t, want %t", m, !want, want)
		}
	}
}

func TestKindString(t *testing.T) {
	if Done.String() != "done" || Kind(9).String() != "kind 9" {
		t.Errorf("%v, %v", Done, Kind(9))
	}
}
