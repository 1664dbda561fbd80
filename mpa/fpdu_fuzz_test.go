package mpa

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzReceiver gives a Receiver arbitrary bytes. With fix, each FPDU gets the right CRC first, so
// that the fuzzer reaches the code after the CRC check. cut determines how the stream is split and
// which parts are shown early.
func FuzzReceiver(f *testing.F) {
	for _, markers := range []bool{false, true} {
		stream, _ := refStream(ofLengths(42, 447, 3, 20, 0, 1), markers, true)
		f.Add(stream, []byte{1, 200, 77, 13}, true, markers, false)
		f.Add(stream, []byte{}, false, markers, true)
		f.Add(make([]byte, 100), []byte{255, 0, 128}, true, markers, true)
	}
	f.Fuzz(func(t *testing.T, stream, cut []byte, crc, markers, fix bool) {
		if fix {
			stream = bytes.Clone(stream)
			fixCRCs(stream, markers)
		}
		whole := newSink(crc, markers).feed(stream, 0)
		split := newSink(crc, markers)
		for i := 0; int(split.in) < len(stream); i++ {
			rest := stream[split.in:]
			n := len(rest)
			if i < len(cut) {
				n = min(n, int(cut[i])*8)
				at := min(len(rest), int(cut[i])*3+1)
				split.show(split.in+uint64(at), rest[at:min(len(rest), at+5000)], func() bool { return cut[i]%3 == 0 })
			}
			split.feed(rest[:n], 0)
		}
		checkSame(t, whole, split)
	})
}

// fixCRCs writes the right CRC to each whole FPDU of a stream.
func fixCRCs(stream []byte, markers bool) {
	for off := 0; ; {
		f, ok := parseFPDU(stream[off:], uint64(off), markers)
		if !ok || off+f.size > len(stream) {
			return
		}
		seal(stream[off : off+f.size])
		off += f.size
	}
}

// checkSame checks the result of a stream in one piece, and that the stream has the same result in
// pieces and with early runs. If an error ends the stream, an FPDU after the error may have been
// shown early.
func checkSame(t *testing.T, whole, split *sink) {
	t.Helper()
	end := uint64(0)
	for _, u := range whole.got {
		if u.Off < end || u.Early {
			t.Fatalf("ULPDU at %d, early %v, after the FPDU that ends at %d", u.Off, u.Early, end)
		}
		end = u.Off + uint64(fpduLen(len(u.Data)))
	}
	if err := whole.Err(); err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeCRC && e.Code != CodeMarker || e.Off != whole.Edge() {
			t.Fatalf("Err %v at Edge %d", err, whole.Edge())
		}
	}
	if whole.Edge() != split.Edge() || (whole.Err() == nil) != (split.Err() == nil) {
		t.Fatalf("Edge %d, Err %v; in pieces Edge %d, Err %v", whole.Edge(), whole.Err(), split.Edge(), split.Err())
	}
	at := make(map[uint64][]byte)
	for _, u := range split.got {
		if _, twice := at[u.Off]; twice {
			t.Fatalf("the ULPDU at %d was shown twice", u.Off)
		}
		at[u.Off] = u.Data
	}
	for _, u := range whole.got {
		if data, ok := at[u.Off]; !ok || !bytes.Equal(data, u.Data) {
			t.Fatalf("in pieces the ULPDU at %d is %x, %v, want %x", u.Off, data, ok, u.Data)
		}
		delete(at, u.Off)
	}
	for off := range at {
		if off < whole.Edge() {
			t.Fatalf("in pieces there is a ULPDU at %d", off)
		}
	}
}

// FuzzRoundTrip checks that the Receiver returns what was sent, for any lengths, pieces and splits,
// and that the sent bytes are those of the tests' own encoder. Each two bytes of lengths are the
// length of a ULPDU, and of a piece that arrives.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{0, 42, 1, 198, 1, 249, 5, 162, 0, 1, 0, 54, 0, 23}, true, true, true)
	f.Add([]byte{0xfd, 0, 0x20, 0, 0x1f, 0xff}, false, true, false)
	f.Add([]byte{0x60, 0, 0, 1, 0xff, 0xff}, true, false, false)
	f.Fuzz(func(t *testing.T, lengths []byte, crc, markers, snapshot bool) {
		s, b := NewSender(Agreement{CRC: crc, TxMarkers: markers}), NewBatch(scratchLen)
		var ulpdus [][]byte
		for i := 0; i+1 < len(lengths) && !b.Full(); i += 2 {
			n := 1 + (int(lengths[i])<<8+int(lengths[i+1]))%MaxULPDU
			u := counting(i, n)
			ulpdus = append(ulpdus, u)
			s.Append(b, snapshot, u[:n/3], u[n/3:n/2], nil, u[n/2:])
		}
		got := bytes.Join(b.Bufs(), nil)
		want, begins := refStream(ulpdus, markers, crc)
		if !bytes.Equal(got, want) || s.Off() != uint64(len(want)) || b.Len() != len(want) {
			t.Fatalf("sent %x (Off %d, Len %d), want %x", got, s.Off(), b.Len(), want)
		}
		r := newSink(crc, markers)
		for i := 0; int(r.in) < len(got); i += 2 {
			n := len(got)
			if i+1 < len(lengths) {
				n = 1 + int(lengths[i])/3<<8 + int(lengths[i+1])
			}
			r.feed(got[r.in:min(len(got), int(r.in)+n)], 0)
		}
		r.want(t, ulpdus, begins)
	})
}
