package mpa

import (
	"testing"
)

// "MULPDU = EMSS - (6 + 4 * Ceiling(EMSS / 512) + EMSS mod 4)"
// "MULPDU = EMSS - (6 + EMSS mod 4)"
// MPA-5044-4.5-1, MPA-5044-4.5-2, MPA-5044-5.1-1
func TestRFC5044_4_5_MULPDU(t *testing.T) {
	tests := []struct{ emss, plain, marked int }{
		{140, 134, 130},
		{512, 506, 502},
		{513, 506, 498},
		{536, 530, 522},
		{1024, 1018, 1010},
		{1440, 1434, 1422},
		{1448, 1442, 1430},
		{1460, 1454, 1442},
		{1461, 1454, 1442},
		{8948, 8942, 8870},
	}
	for _, tt := range tests {
		if got := MULPDU(tt.emss, false); got != tt.plain {
			t.Errorf("MULPDU(%d, false) = %d, want %d", tt.emss, got, tt.plain)
		}
		if got := MULPDU(tt.emss, true); got != tt.marked {
			t.Errorf("MULPDU(%d, true) = %d, want %d", tt.emss, got, tt.marked)
		}
	}
}

// "The range of MULPDU values MUST be between 128 octets and 64768 octets, inclusive."
// "the MPA on TCP sender MUST NOT shrink the MULPDU below 128 octets"
// MPA-5044-3-4, MPA-5044-4.5-7, MPA-5044-4.5-9
func TestRFC5044_3_MULPDURange(t *testing.T) {
	tests := []struct{ emss, want int }{
		{-1 << 31, 128}, {-1, 128}, {0, 128}, {64, 128}, {128, 128},
		{65483, 64768}, {1 << 20, 64768}, {1<<31 - 1, 64768},
	}
	for _, tt := range tests {
		for _, markers := range []bool{false, true} {
			if got := MULPDU(tt.emss, markers); got != tt.want {
				t.Errorf("MULPDU(%d, %v) = %d, want %d", tt.emss, markers, got, tt.want)
			}
		}
	}
}

// TestMULPDUFits checks that an FPDU of the maximum length fits one TCP segment, wherever the FPDU
// begins.
func TestMULPDUFits(t *testing.T) {
	for emss := 148; emss < 3000; emss++ {
		if got := fpduLen(MULPDU(emss, false)); got > emss || got < emss-3 {
			t.Errorf("EMSS %d: FPDU of %d octets", emss, got)
		}
		n := fpduLen(MULPDU(emss, true))
		for off := uint64(0); off < markerInterval; off += 4 {
			if got := n + markerSize*markersIn(off, n); got > emss {
				t.Errorf("EMSS %d: FPDU of %d octets at %d", emss, got, off)
			}
		}
	}
}

func TestFPDULen(t *testing.T) {
	for n := range maxLength + 1 {
		got := fpduLen(n)
		if pad := got - n - 6; got%4 != 0 || pad < 0 || pad > 3 || pad != padLen(n) {
			t.Errorf("fpduLen(%d) = %d, pad %d", n, got, padLen(n))
		}
	}
}

// TestLongestFPDU checks that the buffers are made for exactly the longest FPDU.
// MPA-5044-A.5.2-1
func TestLongestFPDU(t *testing.T) {
	if got := fpduLen(128) + markerSize*markersIn(0, fpduLen(128)); got != 140 {
		t.Errorf("an FPDU of MULPDU 128 has %d octets with its Marker, want 140", got)
	}
	sent, received := 0, 0
	for off := uint64(0); off < markerInterval; off += 4 {
		n := fpduLen(MaxULPDU)
		sent = max(sent, n+markerSize*markersIn(off, n))
		n = fpduLen(maxLength)
		received = max(received, n+markerSize*markersIn(off, n))
	}
	if sent != maxSent || received != maxReceived {
		t.Errorf("longest FPDUs are %d and %d octets, want %d and %d", sent, received, maxSent, maxReceived)
	}
	// Both FPDUs begin with a Marker. A Receiver with a buffer of MinBuffer bytes accepts the first
	// FPDU. It refuses the second one because the distance to the last Marker is more than FPDUPTR
	// can express.
	for n, want := range map[int]int{MaxULPDU: maxSent, maxLength: maxReceived} {
		r, whole := NewReceiver(Agreement{CRC: true, RxMarkers: true}), refFPDU(counting(0, n), 0, true, true)
		r.SetBuffer(make([]byte, MinBuffer))
		r.Fill(0, copy(r.Free(), whole))
		if taken := r.Next(); len(whole) != want || taken != (n == MaxULPDU) {
			t.Errorf("an FPDU of %d octets is taken: %v, Err %v", len(whole), taken, r.Err())
		} else if !taken {
			wantCode(t, r.Err(), CodeMarker)
		}
	}
}

func TestParseFPDUNeedsItsLength(t *testing.T) {
	for _, off := range []uint64{0, 4} {
		b := refFPDU(figure5, int(off), true, true)
		need := 2
		if off == 0 {
			need = 6
		}
		for n := range need {
			if f, ok := parseFPDU(b[:n], off, true); ok {
				t.Errorf("parseFPDU of %d octets at %d = %+v", n, off, f)
			}
		}
		if f, ok := parseFPDU(b[:need], off, true); !ok || f.size != len(b) || f.n != len(figure5) {
			t.Errorf("parseFPDU at %d = %+v, %v, want %d octets", off, f, ok, len(b))
		}
	}
}
