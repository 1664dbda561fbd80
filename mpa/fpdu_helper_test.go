package mpa

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
)

// The tests judge the package by their own encoder, which shares no code with the package. The
// golden vectors check that encoder.

// refTable is the CRC32C of each byte, computed from the polynomial.
var refTable = func() (t [256]uint32) {
	for i := range t {
		c := uint32(i)
		for range 8 {
			c = c>>1 ^ c&1*0x82F63B78
		}
		t[i] = c
	}
	return t
}()

func refCRC(b []byte) uint32 {
	c := ^uint32(0)
	for _, x := range b {
		c = c>>8 ^ refTable[byte(c)^x]
	}
	return ^c
}

// refBody returns an FPDU that begins at pos, up to its CRC.
func refBody(ulpdu []byte, pos int, markers bool) []byte {
	body := append([]byte{byte(len(ulpdu) >> 8), byte(len(ulpdu))}, ulpdu...)
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	if !markers {
		return body
	}
	var out []byte
	header := -1
	for {
		if (pos+len(out))%512 == 0 {
			distance := 0
			if header >= 0 {
				distance = pos + len(out) - header
			}
			out = append(out, 0, 0, byte(distance>>8), byte(distance))
		}
		if header < 0 {
			header = pos + len(out)
		}
		if len(body) == 0 {
			return out
		}
		n := min(len(body), 512-(pos+len(out))%512)
		out = append(out, body[:n]...)
		body = body[n:]
	}
}

// refFPDU returns an FPDU that begins at pos.
func refFPDU(ulpdu []byte, pos int, markers, crc bool) []byte {
	body := refBody(ulpdu, pos, markers)
	if !crc {
		return append(body, 0, 0, 0, 0)
	}
	return binary.LittleEndian.AppendUint32(body, refCRC(body))
}

// refStream returns the stream of all ulpdus, and the offset at which each FPDU begins.
func refStream(ulpdus [][]byte, markers, crc bool) (stream []byte, begins []uint64) {
	for _, u := range ulpdus {
		begins = append(begins, uint64(len(stream)))
		stream = append(stream, refFPDU(u, len(stream), markers, crc)...)
	}
	return stream, begins
}

// seal writes the right CRC to an FPDU that a test has changed.
func seal(fpdu []byte) []byte {
	body := len(fpdu) - 4
	binary.LittleEndian.PutUint32(fpdu[body:], refCRC(fpdu[:body]))
	return fpdu
}

// figure5 and figure6 are the ULPDUs of those figures of RFC 5044.
var (
	figure5 = unhex("4143 00000000 00000000 00000001 00000000" + strings.Repeat("00", 24))
	figure6 = unhex("4143 00000000 00000000 00000002 00000000" + strings.Repeat("00", 24))
)

// worked returns seven ULPDUs whose FPDUs have Markers in every possible place: first figure5; then
// byte k of ULPDU i is 16i+k.
func worked() [][]byte {
	us := [][]byte{figure5}
	for i, n := range []int{454, 505, 1442, 1, 54, 23} {
		us = append(us, counting(16*(i+1), n))
	}
	return us
}

// ofLengths returns a ULPDU of each length, all different.
func ofLengths(lengths ...int) [][]byte {
	var us [][]byte
	for i, n := range lengths {
		us = append(us, counting(37*i+1, n))
	}
	return us
}

// randomULPDUs returns n ULPDUs of random bytes and random lengths up to limit.
func randomULPDUs(rnd *rand.Rand, n, limit int) [][]byte {
	us := make([][]byte, n)
	for i := range us {
		us[i] = make([]byte, 1+rnd.IntN(limit))
		for k := range us[i] {
			us[i][k] = byte(rnd.Uint32())
		}
	}
	return us
}

// appendAll returns the bytes that a Sender makes of ulpdus. It passes each ULPDU as DDP does, with
// the header apart from the payload.
func appendAll(s *Sender, ulpdus ...[]byte) []byte {
	var out []byte
	b := NewBatch(scratchLen)
	for _, u := range ulpdus {
		if b.Full() {
			out = append(out, bytes.Join(b.Bufs(), nil)...)
			b.Reset()
		}
		header := min(len(u), 18)
		s.Append(b, false, u[:header], u[header:])
	}
	return append(out, bytes.Join(b.Bufs(), nil)...)
}

// A sink is a Receiver and the ULPDUs that it has returned.
type sink struct {
	*Receiver
	in  uint64 // bytes given to it
	got []ULPDU
}

func newSink(crc, markers bool) *sink {
	s := &sink{Receiver: NewReceiver(Agreement{CRC: crc, RxMarkers: markers})}
	s.SetBuffer(make([]byte, 2*MinBuffer))
	return s
}

// at makes the sink's stream begin at off. Real streams begin at 0; tests of Marker phases use at.
func (s *sink) at(off uint64) *sink {
	s.in, s.off = off, off
	return s
}

// feed gives the sink bytes in order, at most chunk of them at a time; 0 means as many as fit.
func (s *sink) feed(b []byte, chunk int) *sink {
	for len(b) > 0 {
		n := len(b)
		if chunk > 0 {
			n = min(n, chunk)
		}
		n = copy(s.Free(), b[:n])
		s.Fill(s.in, n)
		s.in += uint64(n)
		b = b[n:]
		s.drain()
	}
	return s
}

// drain calls Next until there are no more ULPDUs.
func (s *sink) drain() {
	for s.Next() {
		u := s.ULPDU()
		u.Data = bytes.Clone(u.Data)
		s.got = append(s.got, *u)
	}
}

// want checks that the sink has received exactly these ULPDUs, at these offsets, none of them
// early.
func (s *sink) want(t *testing.T, ulpdus [][]byte, begins []uint64) {
	t.Helper()
	if len(s.got) != len(ulpdus) {
		t.Errorf("got %d ULPDUs, want %d (Err: %v)", len(s.got), len(ulpdus), s.Err())
		return
	}
	for i, u := range s.got {
		if !bytes.Equal(u.Data, ulpdus[i]) || u.Off != begins[i] || u.Early {
			t.Errorf("ULPDU %d is %d octets %.20x at %d, early %v; want %d octets %.20x at %d",
				i, len(u.Data), u.Data, u.Off, u.Early, len(ulpdus[i]), ulpdus[i], begins[i])
			return
		}
	}
}

// bothWays runs f with and without Markers.
func bothWays(t *testing.T, f func(t *testing.T, markers bool)) {
	for _, markers := range []bool{false, true} {
		name := "no Markers"
		if markers {
			name = "Markers"
		}
		t.Run(name, func(t *testing.T) { f(t, markers) })
	}
}
