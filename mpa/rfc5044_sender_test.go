package mpa

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// This file tests the requirements on a Sender. Its own parser finds the FPDUs and Markers of a
// stream.

// A sent is one FPDU found in a stream. plain is the FPDU without Markers, whole the FPDU with
// them.
type sent struct {
	begin, header int
	plain, whole  []byte
	markers       map[int]int // FPDUPTR by position in the stream
}

// walk parses a stream that begins at offset 0.
func walk(t *testing.T, stream []byte, markers bool) []sent {
	t.Helper()
	var all []sent
	for pos := 0; pos < len(stream); {
		f := sent{begin: pos, header: -1, markers: make(map[int]int)}
		want := 2
		for len(f.plain) < want {
			if pos >= len(stream) {
				t.Fatalf("the stream ends inside the FPDU at %d", f.begin)
			}
			if markers && pos%512 == 0 {
				if stream[pos] != 0 || stream[pos+1] != 0 {
					t.Errorf("Marker at %d: reserved field is %x", pos, stream[pos:pos+2])
				}
				f.markers[pos] = int(binary.BigEndian.Uint16(stream[pos+2:]))
				pos += 4
				continue
			}
			if f.header < 0 {
				f.header = pos
			}
			f.plain = append(f.plain, stream[pos])
			pos++
			if len(f.plain) == 2 {
				n := 2 + int(binary.BigEndian.Uint16(f.plain))
				want = (n+3)/4*4 + 4
			}
		}
		f.whole = stream[f.begin:pos]
		all = append(all, f)
	}
	return all
}

// "MPA MUST encapsulate the ULPDU such that there is exactly one ULPDU contained in one FPDU." "The
// format of an FPDU shown below MUST be used for all MPA FPDUs." "The pad data MUST be set to zero
// by the sender" "When sending an FPDU, the sender MUST include a CRC field." MPA-5044-3-1,
// MPA-5044-4.1-1, MPA-5044-4.1-2, MPA-5044-4.1-3, MPA-5044-4.1-4, MPA-5044-4.1-5, MPA-5044-4.1-7,
// MPA-5044-4.1-8, MPA-5044-4.4-11, MPA-5044-3-6, MPA-5044-4.4-18, MPA-5044-7.1.1-13,
// MPA-5044-4.4-1, MPA-5044-4.4-12, MPA-5044-4.4-15
func TestRFC5044_4_1_FPDUFormat(t *testing.T) {
	ulpdus := ofLengths(1, 2, 3, 4, 5, 6, 7, 8, 23, 42, 128, 505, 1442, 20000, MaxULPDU)
	for _, crc := range []bool{false, true} {
		bothWays(t, func(t *testing.T, markers bool) {
			got := walk(t, appendAll(NewSender(Agreement{CRC: crc, TxMarkers: markers}), ulpdus...), markers)
			if len(got) != len(ulpdus) {
				t.Fatalf("%d FPDUs, want %d", len(got), len(ulpdus))
			}
			for i, u := range ulpdus {
				f := got[i]
				want := append([]byte{byte(len(u) >> 8), byte(len(u))}, u...)
				want = append(want, make([]byte, []int{2, 1, 0, 3}[len(u)%4])...)
				if !bytes.Equal(f.plain[:len(f.plain)-4], want) {
					t.Errorf("FPDU %d is %.40x, want %.40x and a CRC", i, f.plain, want)
				}
				wantCRC := uint32(0)
				if crc {
					wantCRC = refCRC(f.whole[:len(f.whole)-4])
				}
				if got := binary.LittleEndian.Uint32(f.plain[len(f.plain)-4:]); got != wantCRC {
					t.Errorf("FPDU %d has CRC %08x, want %08x", i, got, wantCRC)
				}
			}
		})
	}
}

// "When Markers are enabled, MPA senders MUST insert a Marker into the data stream at a 512-octet
// periodic interval" "FPDUPTR MUST contain the number of octets in the TCP stream from the
// beginning of the ULPDU Length field to the first octet of the Marker, unless the Marker falls
// between FPDUs." "The least significant two bits MUST always be set to zero at the transmitter"
// "they MUST all point to the same point" "the Marker MUST point to the start of the ULPDU Length
// field for the FPDU containing the Marker unless the Marker falls between FPDUs, in which case the
// Marker MUST be zero." MPA-5044-2-2, MPA-5044-4.2-1, MPA-5044-4.2-2, MPA-5044-4.2-4,
// MPA-5044-4.2-5, MPA-5044-4.3-1, MPA-5044-4.3-2, MPA-5044-4.3-3, MPA-5044-4.3-4, MPA-5044-4.3-6,
// MPA-5044-4.3-9, MPA-5044-4.3-14, MPA-5044-4.3-15, MPA-5044-4.3-16
func TestRFC5044_4_3_MarkerEvery512(t *testing.T) {
	ulpdus := append(worked(), ofLengths(3000, 1, 1, 1, 450, 900, 20000, 7, 7, MaxULPDU)...)
	stream := appendAll(NewSender(Agreement{CRC: true, TxMarkers: true}), ulpdus...)
	seen, several, between := 0, 0, 0
	for i, f := range walk(t, stream, true) {
		for at, distance := range f.markers {
			want := at - f.header
			if at == f.begin {
				want = 0
				between++
			}
			if distance != want || distance%4 != 0 {
				t.Errorf("FPDU %d: Marker at %d has FPDUPTR %d, want %d", i, at, distance, want)
			}
		}
		if seen += len(f.markers); len(f.markers) > 1 {
			several++
		}
	}
	if seen != (len(stream)+511)/512 || several == 0 || between < 2 {
		t.Errorf("%d Markers in %d octets; %d FPDUs with several, %d Markers between FPDUs", seen, len(stream), several, between)
	}
}

// "the first octets sent are the special Marker 0x00000000, followed by the start of the FPDU" "the
// MPA Markers MUST be inserted immediately preceding the first FPDU of Full Operation Phase, and at
// every 512th octet of the TCP octet stream thereafter."
// MPA-5044-4.3-9, MPA-5044-4.3-10, MPA-5044-7.1.1-9, MPA-5044-7.1.1-10, MPA-5044-7.1.2-20
func TestRFC5044_4_3_FirstMarker(t *testing.T) {
	if got := appendAll(NewSender(Agreement{CRC: true, TxMarkers: true}), figure5); !bytes.Equal(got[:6], unhex("00000000 002a")) {
		t.Errorf("with Markers the stream begins %x", got[:6])
	}
	if got := appendAll(NewSender(Agreement{CRC: true}), figure5); !bytes.Equal(got[:4], unhex("002a 4143")) {
		t.Errorf("without Markers the stream begins %x", got[:4])
	}
}

// TestMarkerComesWithTheNextFPDU: "the Marker is considered to be contained in the following FPDU",
// so an FPDU that ends where a Marker is due does not contain that Marker.
// MPA-5044-4.3-22
func TestMarkerComesWithTheNextFPDU(t *testing.T) {
	s := NewSender(Agreement{CRC: true, TxMarkers: true})
	if got := appendAll(s, worked()[:2]...); len(got) != 512 || s.Off() != 512 {
		t.Errorf("A and B have %d octets, Off is %d, want 512", len(got), s.Off())
	}
	if got := appendAll(s, worked()[2]); !bytes.Equal(got[:6], unhex("00000000 01f9")) {
		t.Errorf("C begins %x, want the Marker and its length", got[:6])
	}
}

// "1) If a Marker does not immediately precede the ULPDU Length field, the CRC-32c is calculated
// from the first octet of the ULPDU Length field [...] If there is a Marker immediately following
// the PAD, the Marker is included in the CRC calculation for this FPDU. 2) If a Marker immediately
// precedes the first octet of the ULPDU Length field of the FPDU [...] the CRC-32c is calculated
// from the first octet of the Marker" "the Marker MUST be included in the CRC calculation of the
// FPDU following the Marker"
// MPA-5044-4.4-15, MPA-5044-4.4-16, MPA-5044-4.4-17, MPA-5044-4.3-7, MPA-5044-4.3-19
func TestRFC5044_4_4_CRCCoverage(t *testing.T) {
	stream := appendAll(NewSender(Agreement{CRC: true, TxMarkers: true}), worked()...)
	tests := []struct {
		desc      string
		from, to  int
		wire      string
		ownMarker int
	}{
		{"A: the Marker before it", 0, 48, "52239983", 0},
		{"B: not the Marker behind it", 52, 508, "3ff4d194", -1},
		{"C: Markers before it and before its CRC", 512, 1028, "9cbbd163", 1024},
		{"D: two Markers inside it", 1032, 2484, "47b9f49d", 1536},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			if got := stream[tt.to : tt.to+4]; !bytes.Equal(got, unhex(tt.wire)) {
				t.Errorf("CRC is %x, want %s", got, tt.wire)
			}
			if got := refCRC(stream[tt.from:tt.to]); got != binary.LittleEndian.Uint32(unhex(tt.wire)) {
				t.Errorf("the octets from %d to %d have CRC %08x, want %s", tt.from, tt.to, got, tt.wire)
			}
			if tt.ownMarker < 0 {
				return
			}
			changed := bytes.Clone(stream[tt.from:tt.to])
			changed[tt.ownMarker-tt.from] ^= 1
			if refCRC(changed) == refCRC(stream[tt.from:tt.to]) {
				t.Error("the Marker is not covered")
			}
		})
	}
}

// "The sending DDP MUST NOT post a ULPDU larger than 64768 octets to MPA. DDP MAY post a ULPDU of
// any size between one and 64768 octets"
// MPA-5044-3-5, MPA-5044-3-6, MPA-5044-3-7, MPA-5044-3-8
func TestRFC5044_3_ULPDULimits(t *testing.T) {
	for _, n := range []int{0, MaxULPDU + 1, maxLength + 1} {
		b, s := NewBatch(scratchLen), NewSender(Agreement{CRC: true})
		wantPanic(t, func() { s.Append(b, false, nil, make([]byte, n)) })
		if b.Len() != 0 || s.Off() != 0 {
			t.Errorf("%d octets: %d octets were written", n, b.Len())
		}
	}
	largest := counting(0, MaxULPDU)
	for off := 0; off < markerInterval; off += 4 {
		s := NewSender(Agreement{CRC: true, TxMarkers: true})
		s.off = uint64(off)
		got := appendAll(s, largest)
		f, _ := parseFPDU(got, uint64(off), true)
		last := (off+len(got)-1)/512*512 - off
		if len(got) > 65288 || fpduptr(got[last:]) > 65280 || fpduptr(got[last:]) != last-f.lead {
			t.Errorf("at %d: %d octets, last FPDUPTR %d", off, len(got), fpduptr(got[last:]))
		}
		newSink(true, true).at(uint64(off)).feed(got, 0).want(t, [][]byte{largest}, []uint64{uint64(off)})
	}
}

// "Note that this computation MUST take into account that the TCP sequence number could have
// wrapped between the Marker and the header." Offsets have 64 bits here and do not wrap; where 32
// bits would is a place like any other.
// MPA-5044-4.3-5, MPA-5044-4.3-13
func TestRFC5044_4_3_SequenceNumberWraps(t *testing.T) {
	want, _ := refStream(worked(), true, true)
	for _, start := range []uint64{1<<32 - 512, 1<<32 - 1024, 1<<32 - 2048} {
		s := NewSender(Agreement{CRC: true, TxMarkers: true})
		s.off = start
		got := appendAll(s, worked()...)
		if !bytes.Equal(got, want) {
			t.Errorf("from %x: the octets differ", start)
		}
		r := newSink(true, true).at(start).feed(got, 100)
		if len(r.got) != len(worked()) || r.Err() != nil || r.Edge() != start+uint64(len(want)) {
			t.Errorf("from %x: %d ULPDUs, Err %v, Edge %x", start, len(r.got), r.Err(), r.Edge())
		}
	}
}
