package mpa

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// This file tests the requirements on a Receiver.

// "The pad data MUST be [...] ignored by the receiver (except for CRC checking)." "The Reserved
// field MUST be [...] ignored on receive (except for CRC calculation)." "the receivers MUST always
// treat these as zero for calculations"
// MPA-5044-4.1-6, MPA-5044-4.2-3, MPA-5044-4.2-6, MPA-5044-4.3-8
func TestRFC5044_4_Ignored(t *testing.T) {
	tests := []struct {
		desc   string
		off    int
		ulpdu  []byte
		change func(b []byte)
	}{
		{"pad of ones", 4, counting(0, 24), func(b []byte) { b[26], b[27] = 0xff, 0xff }},
		{"reserved field of the Marker in front", 0, figure5, func(b []byte) { b[0], b[1] = 0xff, 0xff }},
		{"reserved field of a Marker inside", 492, figure6, func(b []byte) { b[20], b[21] = 0xff, 0xff }},
		{"low bits of FPDUPTR in front", 0, figure5, func(b []byte) { b[3] |= 3 }},
		{"low bits of FPDUPTR inside", 492, figure6, func(b []byte) { b[23] |= 3 }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			b := refFPDU(tt.ulpdu, tt.off, true, true)
			before := bytes.Clone(b)
			tt.change(b)
			if bytes.Equal(b, before) {
				t.Fatal("nothing was changed")
			}
			wantCode(t, newSink(true, true).at(uint64(tt.off)).feed(b, 0).Err(), CodeCRC)
			tt.change(b)
			newSink(true, true).at(uint64(tt.off)).feed(seal(b), 0).want(t, [][]byte{tt.ulpdu}, []uint64{uint64(tt.off)})
		})
	}
	for n := 1; n <= 4; n++ { // a PAD of each length, also without Markers and CRCs
		ulpdu := counting(0, n)
		bothWays(t, func(t *testing.T, markers bool) {
			b := refFPDU(ulpdu, 4, markers, true)
			for i := 2 + n; i < len(b)-4; i++ {
				b[i] = 0xff
			}
			newSink(false, markers).at(4).feed(b, 0).want(t, [][]byte{ulpdu}, []uint64{4})
			newSink(true, markers).at(4).feed(seal(b), 0).want(t, [][]byte{ulpdu}, []uint64{4})
		})
	}
	// They do not keep a Receiver from finding an FPDU after a gap by its Markers either.
	stream, begins := refStream(worked(), true, true)
	run := stream[begins[2]:begins[3]]
	for _, at := range []int{0, 512} {
		run[at], run[at+1], run[at+3] = 0xff, 0xff, run[at+3]|3
	}
	s := newSink(true, true)
	s.show(begins[2], seal(run), never)
	if len(s.got) != 1 || !s.got[0].Early || !bytes.Equal(s.got[0].Data, worked()[2]) {
		t.Errorf("behind a gap, with reserved bits and low bits of FPDUPTR set: %d ULPDUs", len(s.got))
	}
}

// "the ULPDU Length field in the current FPDU when FPDU has a valid CRC, can be used to identify
// the beginning of the next FPDU": after an invalid FPDU the Receiver shows no early FPDU, although
// FPDUs begin where its length says.
// MPA-5044-6-4
func TestRFC5044_6_LengthOfAnInvalidFPDU(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	bad := bytes.Clone(stream)
	bad[begins[3]+20] ^= 1
	s := newSink(true, true)
	s.show(begins[2], bad[begins[2]:begins[6]], never)
	if len(s.got) != 1 || s.got[0].Off != begins[2] || s.Err() != nil {
		t.Errorf("%d ULPDUs are shown early, Err %v, want the one before the bad FPDU", len(s.got), s.Err())
	}
	s.got = nil
	s.feed(stream, 0)
	if len(s.got) != len(worked())-1 || s.Err() != nil {
		t.Errorf("%d ULPDUs come in order, Err %v", len(s.got), s.Err())
	}
}

// "When CRCs are not enabled, this field is still present, may contain any value, and MUST NOT be
// checked." "the CRC field MUST be considered valid for FPDU checking regardless of its contents."
// MPA-5044-4.1-9, MPA-5044-4.1-10, MPA-5044-4.4-9, MPA-5044-7.1.1-12, MPA-5044-7.1.1-17
func TestRFC5044_4_1_CRCNotChecked(t *testing.T) {
	bothWays(t, func(t *testing.T, markers bool) {
		for _, field := range []string{"deadbeef", "ffffffff", "00000000"} {
			b := refFPDU(figure5, 0, markers, true)
			copy(b[len(b)-4:], unhex(field))
			newSink(false, markers).feed(b, 0).want(t, [][]byte{figure5}, []uint64{0})
			wantCode(t, newSink(true, markers).feed(b, 0).Err(), CodeCRC)
		}
	})
}

// "On receive, MPA MUST pass each ULPDU with its length to DDP when it has been validated." "MPA
// Receivers MUST preserve ULPDU boundaries when passing data to DDP. MPA Receivers MUST pass the
// ULPDU data and the ULPDU Length to DDP and not the Markers, headers, and CRC." "MPA receivers are
// REQUIRED to be able to operate correctly even if alignment is lost" "The receivers MUST identify
// FPDU boundaries by using the ULPDU_LENGTH field"
// MPA-5044-3-9, MPA-5044-4.3-17, MPA-5044-4.3-18, MPA-5044-5.1-6, MPA-5044-5.2-1, MPA-5044-A.4-1,
// MPA-5044-1.2-3, MPA-5044-5.1-5
func TestRFC5044_5_1_AnyAlignment(t *testing.T) {
	const seed = 4
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 5044))
	lengths := rnd.Perm(2000)
	for i := range lengths {
		lengths[i]++
	}
	ulpdus := ofLengths(lengths[:300]...)
	bothWays(t, func(t *testing.T, markers bool) {
		stream, begins := refStream(ulpdus, markers, true)
		for _, chunk := range []int{1, 2, 3, 5, 7, 511, 512, 513, 0} {
			newSink(true, markers).feed(stream, chunk).want(t, ulpdus, begins)
		}
		s := newSink(true, markers)
		for rest := stream; len(rest) > 0; {
			n := min(1+rnd.IntN(3000), len(rest))
			s.feed(rest[:n], 0)
			rest = rest[n:]
		}
		s.want(t, ulpdus, begins)
	})
}

// "An MPA receiver MUST first verify the FPDU before passing the ULPDU to DDP." "verify its CRC (if
// CRC checking is enabled)" "If not, the receiver MUST treat the FPDU as an invalid FPDU." Error 2:
// "Received MPA CRC does not match the calculated value for the FPDU."
// MPA-5044-4.4-1, MPA-5044-4.4-19, MPA-5044-4.4-20, MPA-5044-6-1, MPA-5044-6-3, MPA-5044-8-2
func TestRFC5044_6_EachBitCounts(t *testing.T) {
	filler := make([]byte, maxReceived)
	for _, off := range []int{0, 492} {
		good := refFPDU(figure6, off, true, true)
		for bit := range 8 * len(good) {
			b := bytes.Clone(good)
			b[bit/8] ^= 1 << (bit % 8)
			s := newSink(true, true).at(uint64(off)).feed(b, 0)
			if s.Err() == nil { // the length has become greater, so more bytes must arrive
				s.feed(filler, 0)
			}
			wantCode(t, s.Err(), CodeCRC)
			if len(s.got) != 0 || s.Edge() != uint64(off) {
				t.Errorf("bit %d: %d ULPDUs, Edge %d", bit, len(s.got), s.Edge())
			}
		}
	}
}

// "locate the start of the FPDU unambiguously"
// MPA-5044-6-2, MPA-5044-9.1-1
func TestRFC5044_6_ShiftedStream(t *testing.T) {
	filler := make([]byte, maxReceived)
	bothWays(t, func(t *testing.T, markers bool) {
		stream, begins := refStream(worked(), markers, true)
		for shift := uint64(1); shift < begins[2]; shift++ {
			if shift == begins[1] {
				continue // an FPDU does begin there
			}
			s := newSink(true, markers).feed(stream[shift:], 0).feed(filler, 0)
			if len(s.got) != 0 || s.Err() == nil {
				t.Errorf("shifted by %d: %d ULPDUs, Err %v", shift, len(s.got), s.Err())
			}
		}
	})
}

// "Once MPA delivers an error of any type, it MUST NOT pass or deliver any additional FPDUs on that
// half connection."
// MPA-5044-8-12, MPA-5044-6-4
func TestRFC5044_8_NothingAfterAnError(t *testing.T) {
	bothWays(t, func(t *testing.T, markers bool) {
		stream, begins := refStream(worked(), markers, true)
		stream[begins[3]+20] ^= 1
		s := newSink(true, markers).feed(stream, 0)
		s.want(t, worked()[:3], begins)
		wantCode(t, s.Err(), CodeCRC)
		// A run after the gap also contains valid FPDUs.
		if markers {
			s.show(begins[4]+100, stream[begins[4]:], never)
		}
		wantDead(t, s, markers)
	})
}

// Error 3: "In the event that the CRC is valid, received MPA Marker (if enabled) and ULPDU Length
// fields do not agree on the start of an FPDU." This requires a valid CRC. If CRCs are not used,
// the CRC field counts as valid.
// MPA-5044-5.2-2, MPA-5044-8-3, MPA-5044-8-6, MPA-5044-8-8, MPA-5044-8-15
func TestRFC5044_8_MarkerMismatch(t *testing.T) {
	ulpdus := worked()
	stream, begins := refStream(ulpdus, true, true)
	marker := map[int]int{0: 0, 512: 2, 1024: 2, 1536: 3, 2048: 3, 2560: 6} // place: index of its FPDU
	for at, i := range marker {
		end := len(stream)
		if i+1 < len(begins) {
			end = int(begins[i+1])
		}
		for _, octet := range []int{2, 3} {
			for bit := range 8 {
				if octet == 3 && bit < 2 {
					continue // these bits do not matter
				}
				bad := bytes.Clone(stream)
				bad[at+octet] ^= 1 << bit
				both := newSink(true, true).feed(bad, 0)
				wantCode(t, both.Err(), CodeCRC)
				wantCode(t, newSink(false, true).feed(bad, 0).Err(), CodeMarker)
				seal(bad[begins[i]:end])
				s := newSink(true, true).feed(bad, 0)
				s.want(t, ulpdus[:i], begins)
				if e := wantCode(t, s.Err(), CodeMarker); e.Off != begins[i] {
					t.Errorf("Marker at %d: error at %d, want %d", at, e.Off, begins[i])
				}
				wantDead(t, s, true)
			}
		}
	}
}

// "The default configuration for a connection MUST be to use CRCs." The CRC then detects a flipped
// bit.
// MPA-5044-1.2-2, MPA-5044-4.4-2, MPA-5044-4.4-4
func TestRFC5044_4_4_DefaultIsCRC(t *testing.T) {
	for _, ic := range []Config{{}, {Revision: 1}, {NoEnhanced: true}, {PeerToPeer: true}} {
		req, err := ic.Request()
		if err != nil || req.AppendTo(nil)[16]&0x40 == 0 {
			t.Errorf("%+v: Request %+v, %v", ic, req, err)
		}
		reply, a, err := Config{}.Accept(req)
		if err != nil || reply.AppendTo(nil)[16]&0x40 == 0 || !a.CRC {
			t.Errorf("%+v: Reply %+v, %v", ic, reply, err)
		}
		b := refFPDU(figure5, 0, a.RxMarkers, true)
		b[30] ^= 1
		wantCode(t, newSink(a.CRC, a.RxMarkers).feed(b, 0).Err(), CodeCRC)
	}
}

// A receiver that returns early FPDUs SHOULD "Provide an indication to DDP that the TCP has closed
// or has begun to close the connection (e.g., received a FIN)." Early FPDUs do not make an end
// graceful; only the bytes in order do.
// MPA-5044-3-13, MPA-5044-7.2-2
func TestRFC5044_3_EndWithAGap(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	for n := range len(stream) + 1 {
		s := newSink(true, true)
		s.show(begins[2], stream[begins[2]:], never)
		if len(s.got) != 5 {
			t.Fatalf("%d ULPDUs were shown early, want 5", len(s.got))
		}
		s.feed(stream[:n], 0)
		e := wantCode(t, s.EOF(), CodeClosed)
		boundary := n == len(stream) || slices.Contains(begins, uint64(n))
		if e.Graceful != boundary || errors.Is(e, io.ErrUnexpectedEOF) == boundary || e.Off > uint64(n) {
			t.Errorf("FIN behind %d octets: %v, graceful %v", n, e, e.Graceful)
		}
	}
}
