package mpa

import (
	"bytes"
	"testing"
)

// TestDestination checks that Next calls Destination once for each long ULPDU, with the whole
// ULPDU, and for no other. Next does not change the destination, whatever its length, and still
// finds a wrong CRC.
func TestDestination(t *testing.T) {
	short, long := patternULPDU(aheadFrom-lengthLen-100), patternULPDU(aheadFrom+1001)
	for _, room := range []int{0, 1, 4096, len(long), 2 * len(long)} {
		bothWays(t, func(t *testing.T, markers bool) {
			var asked [][]byte
			memory := make([]byte, room)
			destination := func(ulpdu []byte) []byte {
				asked = append(asked, bytes.Clone(ulpdu))
				return memory
			}
			stream, begins := refStream([][]byte{short, long, short}, markers, true)
			s := newSink(true, markers)
			s.Destination = destination
			s.feed(stream, 0).want(t, [][]byte{short, long, short}, begins)
			want := [][]byte{long}
			if markers {
				want = nil // the ULPDU is not in one piece yet
			}
			if len(asked) != len(want) || len(want) > 0 && !bytes.Equal(asked[0], want[0]) {
				t.Errorf("asked for the destination of %d ULPDUs, want that of the long one: %v", len(asked), !markers)
			}
			if !bytes.Equal(memory, make([]byte, room)) {
				t.Errorf("the destination of %d bytes has changed", room)
			}
			stream[begins[2]-1] ^= 1 // in the CRC field of the long one
			s = newSink(true, markers)
			s.Destination = destination
			s.feed(stream, 0).want(t, [][]byte{short}, begins)
			wantCode(t, s.Err(), CodeCRC)
		})
	}
	stream, begins := refStream([][]byte{long}, false, false)
	s := newSink(false, false)
	s.Destination = func([]byte) []byte {
		t.Error("asked for a destination without CRC")
		return nil
	}
	s.feed(stream, 0).want(t, [][]byte{long}, begins)
}

// patternULPDU returns n bytes that do not repeat soon.
func patternULPDU(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}
