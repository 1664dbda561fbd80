package mpa

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestSplitAnywhere splits a stream in two at every byte, and into single bytes. The ULPDUs must be
// the same.
func TestSplitAnywhere(t *testing.T) {
	bothWays(t, func(t *testing.T, markers bool) {
		stream, begins := refStream(worked(), markers, true)
		for at := range stream {
			newSink(true, markers).feed(stream[:at], 0).feed(stream[at:], 0).want(t, worked(), begins)
		}
		newSink(true, markers).feed(stream, 1).want(t, worked(), begins)
	})
}

// wantDead checks that a failed sink stays failed whatever arrives, and that it gives its buffer
// back.
func wantDead(t *testing.T, s *sink, markers bool) {
	t.Helper()
	before, err := len(s.got), s.Err()
	s.feed(refFPDU(figure5, int(s.in), markers, true), 0)
	s.Fill(s.Edge(), copy(s.Free(), refFPDU(figure5, int(s.Edge()), markers, true)))
	s.drain()
	if len(s.got) != before || s.Err() != err || s.EOF() != err || s.Next() {
		t.Errorf("after %v: %d more ULPDUs, Err %v, EOF %v", err, len(s.got)-before, s.Err(), s.EOF())
	}
	if s.SetBuffer(nil) == nil {
		t.Error("the buffer of a Receiver that has failed cannot be taken")
	}
}

// TestAllLengths sends FPDUs of all sizes through buffers of the minimum length and of a usual
// length, in chunks of many lengths.
func TestAllLengths(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 5044))
	ulpdus := ofLengths(0, MaxULPDU, 1, 2, 3, 4, 0, 128, 65000, 65535-20000, 7, MaxULPDU, MaxULPDU)
	ulpdus = append(ulpdus, randomULPDUs(rnd, 40, 20000)...)
	bothWays(t, func(t *testing.T, markers bool) {
		stream, begins := refStream(ulpdus, markers, true)
		for _, size := range []int{MinBuffer, MinBuffer + 1, 256 << 10} {
			for _, chunk := range []int{511, 1448, 65536, 0} {
				s := &sink{Receiver: NewReceiver(Agreement{CRC: true, RxMarkers: markers})}
				s.SetBuffer(make([]byte, size))
				s.feed(stream, chunk).want(t, ulpdus, begins)
				if s.Edge() != uint64(len(stream)) {
					t.Errorf("Edge = %d, want %d", s.Edge(), len(stream))
				}
			}
		}
	})
}

// TestLongestULPDU checks that a Receiver accepts the longest ULPDU that ULPDU_Length can express,
// if there are no Markers. With Markers, FPDUPTR has too few bits.
func TestLongestULPDU(t *testing.T) {
	ulpdus := ofLengths(maxLength, 1)
	stream, begins := refStream(ulpdus, false, true)
	newSink(true, false).feed(stream, 0).want(t, ulpdus, begins)

	marked, _ := refStream(ulpdus, true, true)
	wantCode(t, newSink(true, true).feed(marked, 0).Err(), CodeMarker)

	// This is the greatest length for which all FPDUPTRs fit, wherever the FPDU begins.
	marked, begins = refStream(ofLengths(MaxULPDU, MaxULPDU, 1), true, true)
	newSink(true, true).feed(marked, 0).want(t, ofLengths(MaxULPDU, MaxULPDU, 1), begins)
}

// TestDuplicates checks that the Receiver skips bytes that arrive again, whether all or some of
// them have arrived before.
func TestDuplicates(t *testing.T) {
	stream, begins := refStream(worked(), true, true)
	for _, back := range []int{1, 4, 100, 3000} {
		s := newSink(true, true)
		for at := 0; at < len(stream); at += 77 {
			from, to := max(0, at-back), min(at+77, len(stream))
			s.Fill(uint64(from), copy(s.Free(), stream[from:to]))
			s.drain()
			s.Fill(0, copy(s.Free(), stream[:at/2])) // contains nothing new
			s.drain()
		}
		s.want(t, worked(), begins)
	}
}

// TestArrived checks that each FPDU becomes whole with exactly one Fill, wherever the stream is
// split.
func TestArrived(t *testing.T) {
	bothWays(t, func(t *testing.T, markers bool) {
		stream, _ := refStream(ofLengths(1, 18, 500, 3, 1400, 478, 40, 6000), markers, true)
		for _, chunk := range []int{1, 3, 7, 100, 512, 1001, len(stream)} {
			r := NewReceiver(Agreement{CRC: true, RxMarkers: markers})
			r.SetBuffer(make([]byte, MinBuffer))
			var whole []byte
			for off := 0; off < len(stream); off += chunk {
				n := copy(r.Free(), stream[off:min(off+chunk, len(stream))])
				r.Fill(uint64(off), n)
				if int(r.Edge()) != len(whole) {
					t.Fatalf("chunks of %d: the edge is %d, whole FPDUs so far %d octets", chunk, r.Edge(), len(whole))
				}
				b, k := r.Arrived()
				if !bytes.Equal(b, stream[r.Edge():off+n]) {
					t.Errorf("chunks of %d, at %d: arrived %d octets, want those from %d", chunk, off, len(b), r.Edge())
				}
				whole = append(whole, b[:k]...)
				for r.Next() {
				}
			}
			if !bytes.Equal(whole, stream) || r.Err() != nil {
				t.Errorf("chunks of %d: %d octets in whole FPDUs, want %d; %v", chunk, len(whole), len(stream), r.Err())
			}
		}
	})
	if b, whole := NewReceiver(Agreement{CRC: true, RxMarkers: true}).Arrived(); len(b) != 0 || whole != 0 {
		t.Errorf("without a buffer %d octets have arrived", len(b))
	}
}

// TestBufferIsLent checks that SetBuffer(nil) takes the buffer back when it contains no bytes that
// are still needed.
func TestBufferIsLent(t *testing.T) {
	fpdu := refFPDU(figure5, 0, false, true)
	r := NewReceiver(Agreement{CRC: true})
	if r.SetBuffer(nil) != nil || len(r.Free()) != 0 || r.Next() {
		t.Error("a new Receiver has a buffer")
	}
	wantPanic(t, func() { r.SetBuffer(make([]byte, MinBuffer-1)) })
	buf := make([]byte, MinBuffer)
	if r.SetBuffer(buf) != nil {
		t.Error("the first buffer replaced another")
	}
	wantPanic(t, func() { r.Fill(0, MinBuffer+1) })
	other := make([]byte, MinBuffer)
	if got := r.SetBuffer(other); &got[0] != &buf[0] {
		t.Error("a buffer with nothing in it was not replaced")
	}
	if got := r.SetBuffer(nil); &got[0] != &other[0] {
		t.Error("a buffer with nothing in it was not given back")
	}
	r.SetBuffer(buf)
	r.Fill(0, copy(r.Free(), fpdu[:3]))
	if b, _ := r.Arrived(); r.Next() || len(b) != 3 {
		t.Errorf("%d bytes are needed, want the 3 of an FPDU that has begun", len(b))
	}
	wantPanic(t, func() { r.SetBuffer(nil) })
	r.Fill(3, copy(r.Free(), fpdu[3:]))
	if b, whole := r.Arrived(); !bytes.Equal(b, fpdu) || whole != len(fpdu) {
		t.Errorf("%d bytes are needed, %d of them whole FPDUs, want the %d of a ULPDU not shown", len(b), whole, len(fpdu))
	}
	wantPanic(t, func() { r.SetBuffer(nil) })
	if !r.Next() || !bytes.Equal(r.ULPDU().Data, figure5) || r.Next() {
		t.Error("the ULPDU was not shown, or not once")
	}
	if got := r.SetBuffer(nil); &got[0] != &buf[0] || r.ULPDU().Data != nil || r.SetBuffer(nil) != nil {
		t.Error("after the last ULPDU the buffer was not given back, or is still referred to")
	}
}

// TestShortBuffer checks that the beginning of an FPDU can wait in a buffer that is just long
// enough, wherever the FPDU was cut, and that the ULPDUs are the same.
func TestShortBuffer(t *testing.T) {
	bothWays(t, func(t *testing.T, markers bool) {
		stream, begins := refStream(worked(), markers, true)
		for at := 0; at < len(stream); at += testmode.Rounds(1, 13) {
			s := newSink(true, markers).feed(stream[:at], 0)
			in, _ := s.Arrived()
			short := make([]byte, len(in))
			whole := s.SetBuffer(short)
			for i := range whole {
				whole[i] = 0xEE
			}
			if in, _ := s.Arrived(); len(in) != len(short) {
				t.Errorf("cut at %d: %d bytes are needed, then %d", at, len(short), len(in))
			}
			s.SetBuffer(whole)
			s.feed(stream[at:], 0).want(t, worked(), begins)
		}
	})
	s := newSink(true, false).feed([]byte{0, 1}, 0)
	wantPanic(t, func() { s.SetBuffer(make([]byte, 1)) })
}

// TestDataHasNoRoom checks that appending to a ULPDU does not overwrite the bytes after it in the
// buffer.
func TestDataHasNoRoom(t *testing.T) {
	bothWays(t, func(t *testing.T, markers bool) {
		stream, _ := refStream(worked(), markers, true)
		r := newSink(true, markers)
		r.Fill(0, copy(r.Free(), stream))
		for i := 0; r.Next(); i++ {
			u := r.ULPDU().Data
			_ = append(u, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee)
			if !bytes.Equal(u, worked()[i]) {
				t.Errorf("ULPDU %d = %x, want %x", i, u, worked()[i])
			}
		}
		if r.Err() != nil || r.Edge() != uint64(len(stream)) {
			t.Errorf("Err %v, Edge %d, want %d", r.Err(), r.Edge(), len(stream))
		}
	})
}

// "A mechanism SHOULD be provided by MPA to DDP for DDP to be made aware that a graceful close of
// the TCP connection has been received by the TCP (e.g., FIN is received)." MPA-5044-7.2-2,
// MPA-5044-8-1 (FIN)
func TestRFC5044_7_2_EOF(t *testing.T) {
	fpdu := refFPDU(figure5, 0, true, true)
	for n := range len(fpdu) + 1 {
		s := newSink(true, true).feed(fpdu[:n], 0)
		e := wantCode(t, s.EOF(), CodeClosed)
		boundary := n == 0 || n == len(fpdu)
		if e.Graceful != boundary || errors.Is(e, io.ErrUnexpectedEOF) == boundary || errors.Is(e, io.EOF) != boundary {
			t.Errorf("FIN after %d of %d octets: %v, graceful %v", n, len(fpdu), e, e.Graceful)
		}
	}
}
