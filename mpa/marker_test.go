package mpa

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// "If the MPA connection is started at TCP sequence number 11, then the 1st Marker will begin at
// 11, and subsequent Markers will begin at 523, 1035, etc." "Note that SeqNum can wrap."
// MPA-5044-4.3-11, MPA-5044-4.3-13, MPA-5044-4.3-24
func TestRFC5044_4_3_MarkerPositions(t *testing.T) {
	const seqStart = uint32(11)
	for seq := range uint32(2000) {
		want := seq >= 11 && (seq-seqStart)%512 == 0
		if got := toMarker(uint64(seq-seqStart)) == 0; seq >= 11 && got != want {
			t.Errorf("Marker at %d: %v, want %v", seq, got, want)
		}
	}
	for _, off := range []uint64{0, 512, 1<<32 - 512, 1 << 32, 1<<32 + 512, 1<<64 - 512} {
		if toMarker(off) != 0 || toMarker(off+1) != 511 || toMarker(off-1) != 1 {
			t.Errorf("at %d: %d, at the octet behind %d, before %d", off, toMarker(off), toMarker(off+1), toMarker(off-1))
		}
	}
	// The Sender writes them there; all other bytes of the stream have the same value.
	stream := appendAll(NewSender(Agreement{TxMarkers: true}), bytes.Repeat([]byte{0xff}, 2994))
	for seq := seqStart; seq+4 <= seqStart+3000; seq += 4 {
		at := stream[seq-seqStart:]
		if isMarker := at[0] == 0 && at[1] == 0; isMarker != ((seq-seqStart)%512 == 0) {
			t.Errorf("at %d: %x", seq, at[:4])
		}
	}
}

// TestLocate calls locate for every run of a stream.
func TestLocate(t *testing.T) {
	stream, begins := refStream(append(worked(), worked()...), true, true)
	isBegin := make(map[int]bool)
	for _, b := range begins {
		isBegin[int(b)] = true
	}
	for from := range stream {
		for _, n := range []int{3, 4, 100, 512, 515, 516, 2000, len(stream)} {
			run := stream[from:min(from+n, len(stream))]
			// The wanted FPDU is the first one that begins in the run and that a Marker in the run
			// points to.
			want := -1
			for m := (from + 511) / 512 * 512; m+4 <= from+len(run) && want < 0; m += 512 {
				b := m
				for !isBegin[b] {
					b--
				}
				if b >= from {
					want = b
				}
			}
			at, ok := locate(run, uint64(from))
			if ok != (want >= 0) || ok && from+at != want {
				t.Errorf("locate(%d octets from %d) = %d, %v, want %d", len(run), from, from+at, ok, want)
			}
		}
	}
}

// sizes returns the ULPDU lengths for a test of all Marker phases.
func sizes() (all []int) {
	for n := 1; n <= 1600; n++ {
		if testmode.Full || n%127 < 2 || n < 8 || n%508 < 2 {
			all = append(all, n)
		}
	}
	return append(all, 4096, 16383, MaxULPDU) // FPDUPTR is too short for longer ULPDUs
}

// phases lists the offsets, modulo 512, where an FPDU can begin.
func phases() (all []int) {
	for at := 0; at < 512; at += 4 {
		all = append(all, at)
	}
	return all
}

// TestMarkersInEveryPhase lets an FPDU of each length begin at each of the 128 possible places
// between two Markers, in one piece and cut around a Marker. The Receiver must return what was
// sent, as it does without Markers.
//
// MPA-5044-4.3-6, MPA-5044-4.3-7, MPA-5044-4.3-17, MPA-5044-4.3-18
func TestMarkersInEveryPhase(t *testing.T) {
	count := 0
	s := newSink(true, true)
	for _, n := range sizes() {
		ulpdu := counting(n, n)
		for _, phase := range phases() {
			fpdu := refFPDU(ulpdu, phase, true, true)
			cuts := []int{0}
			if at := toMarkerRef(phase); at < len(fpdu) && (count%16 == 0 || testmode.Full) {
				cuts = append(cuts, at, at+1, at+2, at+3, at+4) // a Marker across a segment's edge
			}
			for _, cut := range cuts {
				s.restart(uint64(phase))
				s.feed(fpdu[:min(cut, len(fpdu))], 0)
				if len(s.got) > 0 {
					t.Fatalf("%d octets at %d: shown when %d octets were there", n, phase, cut)
				}
				s.feed(fpdu[min(cut, len(fpdu)):], 0)
				if len(s.got) != 1 || !bytes.Equal(s.got[0].Data, ulpdu) || s.Err() != nil || s.Edge() != uint64(phase+len(fpdu)) {
					t.Fatalf("%d octets at %d, cut at %d: %d ULPDUs, error %v", n, phase, cut, len(s.got), s.Err())
				}
				count++
			}
		}
	}
	t.Logf("%d FPDUs: %d lengths in 128 phases, whole and with a Marker cut apart", count, len(sizes()))
}

// toMarkerRef is the distance from a phase to the next Marker.
func toMarkerRef(phase int) int { return (512 - phase) % 512 }

// restart replaces the sink by a new one whose stream begins at off.
func (s *sink) restart(off uint64) {
	buf := s.buf
	s.Receiver = NewReceiver(Agreement{CRC: s.crc, RxMarkers: s.markers})
	s.SetBuffer(buf)
	s.got = s.got[:0]
	s.at(off)
}

// markersOf returns the positions of the Markers in an FPDU that begins at phase.
func markersOf(phase, n int) (all []int) {
	for at := toMarkerRef(phase); at < n; at += 512 {
		all = append(all, at)
	}
	return all
}

// TestMarkersThatAreWrong changes each Marker of FPDUs in every phase, with a correct CRC. A
// pointer to any other place is an error with code 3, and the Receiver returns nothing. The
// reserved bits and the two low bits of the pointer do not matter. A missing Marker, and an
// additional one, are errors.
//
// MPA-5044-4.2-3, MPA-5044-4.2-6, MPA-5044-4.3-8, MPA-5044-8-3, MPA-5044-8-6
func TestMarkersThatAreWrong(t *testing.T) {
	wrong, ignored, missing := 0, 0, 0
	s := newSink(true, true)
	tail := make([]byte, MinBuffer)
	judge := func(fpdu []byte, phase int) error {
		s.restart(uint64(phase))
		s.feed(fpdu, 0)
		if s.Err() == nil && len(s.got) == 0 {
			s.feed(tail, 0) // the length says that more must follow
		}
		return s.Err()
	}
	pointers := []int{4, 8, 12, 16, 20, 64, 508, 512, 516, 1024, 0x7FFC, 0xFFFC}
	for _, n := range []int{1, 2, 30, 470, 509, 1460, 1494} {
		ulpdu := counting(3, n)
		for _, phase := range phases() {
			fpdu := refFPDU(ulpdu, phase, true, true)
			all := markersOf(phase, len(fpdu))
			for _, at := range all {
				right := int(binary.BigEndian.Uint16(fpdu[at+2:]))
				for _, d := range pointers {
					bad := bytes.Clone(fpdu)
					binary.BigEndian.PutUint16(bad[at+2:], uint16(right^d))
					wantCode(t, judge(seal(bad), phase), CodeMarker)
					if len(s.got) > 0 {
						t.Fatalf("ULPDU of %d octets at %d shown with FPDUPTR %d instead of %d", n, phase, right^d, right)
					}
					wrong++
				}
				good := bytes.Clone(fpdu)
				good[at], good[at+1], good[at+3] = 0xFF, 0xFF, good[at+3]|3
				if err := judge(seal(good), phase); err != nil || len(s.got) != 1 || !bytes.Equal(s.got[0].Data, ulpdu) {
					t.Fatalf("ULPDU of %d octets at %d with reserved bits in a Marker: %v", n, phase, err)
				}
				ignored++
				// Without the Marker, everything after it is in the wrong place.
				without := append(bytes.Clone(fpdu[:at]), fpdu[at+4:]...)
				if err := judge(seal(without), phase); err == nil || len(s.got) > 0 {
					t.Fatalf("ULPDU of %d octets at %d without its Marker at %d: shown", n, phase, at)
				}
				missing++
			}
		}
	}
	t.Logf("%d wrong pointers: code 3 each; %d Markers with reserved bits: no difference; %d missing ones: refused", wrong, ignored, missing)
}

// TestEveryULPDULength tries each ULPDU_Length from 0 to 65535. The Receiver must return exactly
// that many bytes when they have all arrived with the right CRC, and not before. If the length is
// wrong, so that the bytes after it belong to another FPDU, the Receiver reports a CRC error when
// they have arrived, and returns nothing.
//
// MPA-5044-6-5, MPA-5044-4.4-20
func TestEveryULPDULength(t *testing.T) {
	truth, lies := 0, 0
	data := make([]byte, 70000)
	for i := range data {
		data[i] = byte(i) ^ byte(i>>8)
	}
	buf := make([]byte, MinBuffer)
	real := refFPDU(data[:100], 0, false, true) // a test sends it with other lengths
	judge := func(n int) (shown []byte, err error) {
		r := Receiver{crc: true, buf: buf}
		r.Fill(0, n-1)
		if r.Next() {
			t.Fatal("an FPDU is shown before its last octet is there")
		}
		r.Fill(uint64(n-1), 1)
		if r.Next() {
			shown = r.ULPDU().Data
		}
		return shown, r.Err()
	}
	step := 1
	if !testmode.Full {
		step = 41
	}
	for n := 0; n <= maxLength; n += step {
		size := fpduLen(n)
		binary.BigEndian.PutUint16(buf, uint16(n))
		copy(buf[2:], data[:n])
		clear(buf[2+n : size])
		putCRC(buf[size-4:], updateCRC(0, buf[:size-4]))
		shown, err := judge(size)
		if err != nil || !bytes.Equal(shown, data[:n]) {
			t.Fatalf("length %d: %d octets shown, error %v", n, len(shown), err)
		}
		truth++
		if n == 100 {
			continue
		}
		copy(buf, data[:size])
		copy(buf, real)
		binary.BigEndian.PutUint16(buf, uint16(n))
		if size <= len(real) {
			copy(buf[size-4:], real[len(real)-4:])
		}
		shown, err = judge(size)
		wantCode(t, err, CodeCRC)
		if shown != nil {
			t.Fatalf("an FPDU of 100 octets that says %d is shown", n)
		}
		lies++
	}
	t.Logf("%d lengths as they are: shown exactly; %d lies: CRC error, 0 octets shown", truth, lies)
}

// TestBatchSendsNothingOld checks that a Batch does not send bytes that it held for another
// connection. Every byte of an FPDU is its own, and pads and Markers are correct.
//
// MPA-5044-4.1-5
func TestBatchSendsNothingOld(t *testing.T) {
	const secret = 0x5E
	b := NewBatch(scratchLen)
	count := 0
	for n := 1; n < 600; n++ {
		for _, markers := range []bool{false, true} {
			dirty := NewSender(Agreement{CRC: true})
			for !b.Full() {
				dirty.Append(b, true, bytes.Repeat([]byte{secret}, 9000))
			}
			b.Reset()
			s := NewSender(Agreement{CRC: true, TxMarkers: markers})
			s.Append(b, false, make([]byte, n))
			got := bytes.Join(b.Bufs(), nil)
			if want := refFPDU(make([]byte, n), 0, markers, true); !bytes.Equal(got, want) {
				t.Fatalf("ULPDU of %d octets: %x", n, got)
			}
			b.Reset()
			count++
			if !testmode.Full && n%10 != 0 {
				break
			}
		}
	}
	t.Logf("%d FPDUs from a used Batch: 0 octets of what was in it", count)
}
