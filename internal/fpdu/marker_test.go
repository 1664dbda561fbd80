package fpdu

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/mpa"
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
	stream := appendAll(NewSender(mpa.Agreement{TxMarkers: true}), bytes.Repeat([]byte{0xff}, 2994))
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
