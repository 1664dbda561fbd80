package mpa

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/internal/testmode"
)

// A corruption is an FPDU with a valid FPDU before it and many bytes after it. Its Receiver gets
// the stream again and again, each time with other bits of the FPDU flipped.
type corruption struct {
	t      testing.TB
	stream []byte
	from   int // where the FPDU begins
	size   int
	buf    []byte
	shown  int // ULPDUs that the Receiver must not have returned
}

// newCorruption makes an FPDU of 1500 bytes: ULPDU_Length, 1494 bytes of ULPDU, CRC.
func newCorruption(t testing.TB) *corruption {
	first, bad := counting(1, 40), counting(7, 1494)
	c := &corruption{t: t, stream: refFPDU(first, 0, false, true), size: 1500}
	c.from = len(c.stream)
	c.stream = append(c.stream, refFPDU(bad, c.from, false, true)...)
	if len(c.stream) != c.from+c.size {
		t.Fatalf("FPDU of %d octets", len(c.stream)-c.from)
	}
	for len(c.stream) < c.from+70000 { // so that a changed length never points beyond the stream
		c.stream = append(c.stream, refFPDU(counting(len(c.stream), 1000), len(c.stream), false, true)...)
	}
	c.buf = make([]byte, len(c.stream)+MinBuffer)
	return c
}

func (c *corruption) flip(bit int) { c.stream[c.from+bit/8] ^= 1 << (bit % 8) }

// caught reports whether the Receiver refuses the stream with these bits of the FPDU flipped, and
// restores the bits. The Receiver gets only as many bytes as the FPDU has by its length.
func (c *corruption) caught(bits ...int) bool {
	for _, bit := range bits {
		c.flip(bit)
	}
	n := c.from + fpduLen(int(binary.BigEndian.Uint16(c.stream[c.from:])))
	r := Receiver{crc: true, buf: c.stream[:max(n, c.from+c.size)], w: n}
	shown := 0
	for r.Next() {
		shown++
	}
	var e *Error
	ok := shown == 1 && errors.As(r.Err(), &e) && e.Code == CodeCRC && e.Off == uint64(c.from) && !r.Next()
	for _, bit := range bits {
		c.flip(bit)
	}
	if !ok {
		c.shown++
		c.t.Errorf("bits %v flipped: %d ULPDUs shown, error %v", bits, shown, r.Err())
	}
	return ok
}

// syndromes returns how flipping each bit of the FPDU changes "CRC of the bytes, xor the CRC
// field". CRC32C is linear, so flipping several bits changes it by the xor of their syndromes, as
// long as the length stays the same.
func (c *corruption) syndromes() []uint32 {
	fpdu := bytes.Clone(c.stream[c.from : c.from+c.size])
	body := c.size - crcLen
	all := make([]uint32, 8*c.size)
	for bit := range all {
		fpdu[bit/8] ^= 1 << (bit % 8)
		all[bit] = updateCRC(0, fpdu[:body]) ^ getCRC(fpdu[body:])
		fpdu[bit/8] ^= 1 << (bit % 8)
	}
	return all
}

// TestCorruptionOneBit flips each bit of an FPDU of 1500 bytes. The Receiver must refuse the FPDU,
// and must return neither it nor anything after it.
//
// MPA-5044-4.4-19, MPA-5044-4.4-20, MPA-5044-6-1, MPA-5044-6-3
func TestCorruptionOneBit(t *testing.T) {
	c := newCorruption(t)
	if n := c.from + c.size; !c.good(n) {
		t.Fatal("the FPDU is refused as it is")
	}
	for bit := range 8 * c.size {
		if !c.caught(bit) && c.shown > 5 {
			return
		}
	}
	t.Logf("%d of %d one-bit errors caught, 0 ULPDUs shown", 8*c.size-c.shown, 8*c.size)
}

// good reports whether the Receiver returns the first two FPDUs unchanged.
func (c *corruption) good(n int) bool {
	r := Receiver{crc: true, buf: c.stream[:n], w: n}
	shown := 0
	for r.Next() {
		shown++
	}
	return shown == 2 && r.Err() == nil
}

// TestCorruptionTwoBits proves the same for every pair of bits. Outside ULPDU_Length it uses the
// linearity of the CRC: all syndromes differ and none is 0. The Receiver itself judges a sample of
// these pairs. If a bit of ULPDU_Length is flipped, the CRC covers other bytes, so the Receiver
// judges all of these pairs.
//
// MPA-5044-4.4-19, MPA-5044-4.4-20, MPA-5044-6-1, MPA-5044-6-3
func TestCorruptionTwoBits(t *testing.T) {
	c := newCorruption(t)
	all := c.syndromes()
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	pairs := len(all) * (len(all) - 1) / 2
	if sorted[0] == 0 {
		t.Error("an error of one bit has syndrome 0")
	}
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			t.Fatalf("two bits have the syndrome %08x: flipping both is not noticed", sorted[i])
		}
	}
	rnd := seeded(t)
	// A sample of pairs shows that the Receiver agrees with the syndromes: it must refuse each
	// pair.
	judged := 0
	sample := testmode.Cases(5_000_000)
	for range sample {
		a, b := 16+rnd.IntN(len(all)-16), 16+rnd.IntN(len(all)-16)
		if a != b {
			judged++
			if !c.caught(a, b) && c.shown > 5 {
				return
			}
		}
	}
	lengths := 0
	step := 1
	if !testmode.Full {
		step = 97
	}
	for a := range 16 {
		for b := a + 1; b < len(all); b += 1 + rnd.IntN(step) {
			lengths++
			if !c.caught(a, b) && c.shown > 5 {
				return
			}
		}
	}
	t.Logf("%d two-bit errors proven by %d different syndromes; %d of them judged by the Receiver, %d more with the length changed: all caught, 0 ULPDUs shown",
		pairs, len(all), judged, lengths)
}

// TestCorruptionWithMarkers checks one-bit errors in an FPDU with Markers, which the CRC covers as
// well.
func TestCorruptionWithMarkers(t *testing.T) {
	ulpdu := counting(7, 1460)
	const begin = 480 // the first Marker is 32 bytes after the beginning
	fpdu := refFPDU(ulpdu, begin, true, true)
	tail := make([]byte, 70000)
	caught, step := 0, 1
	if !testmode.Full {
		step = 13
	}
	for bit := 0; bit < 8*len(fpdu); bit += step {
		s := newSink(true, true).at(begin)
		bad := bytes.Clone(fpdu)
		bad[bit/8] ^= 1 << (bit % 8)
		s.feed(bad, 0)
		s.feed(tail, 0)
		var e *Error
		if len(s.got) > 0 || !errors.As(s.Err(), &e) || e.Code != CodeCRC {
			t.Fatalf("bit %d: %d ULPDUs, error %v", bit, len(s.got), s.Err())
		}
		caught++
	}
	t.Logf("%d one-bit errors in an FPDU of %d octets with Markers caught", caught, len(fpdu))
}

var seeded = prototest.Seeded
