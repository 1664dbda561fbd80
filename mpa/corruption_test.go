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

// A corruption is an FPDU with a good one before it and plenty behind it, and a Receiver that gets all of it
// again and again, each time with other bits flipped.
type corruption struct {
	t      testing.TB
	stream []byte
	from   int // where the FPDU begins
	size   int
	buf    []byte
	shown  int // ULPDUs that must not have been
}

// newCorruption makes an FPDU of 1500 octets: ULPDU_Length, 1494 octets, CRC.
func newCorruption(t testing.TB) *corruption {
	first, bad := counting(1, 40), counting(7, 1494)
	c := &corruption{t: t, stream: refFPDU(first, 0, false, true), size: 1500}
	c.from = len(c.stream)
	c.stream = append(c.stream, refFPDU(bad, c.from, false, true)...)
	if len(c.stream) != c.from+c.size {
		t.Fatalf("FPDU of %d octets", len(c.stream)-c.from)
	}
	for len(c.stream) < c.from+70000 { // wherever a changed length points to there are octets
		c.stream = append(c.stream, refFPDU(counting(len(c.stream), 1000), len(c.stream), false, true)...)
	}
	c.buf = make([]byte, len(c.stream)+MinBuffer)
	return c
}

func (c *corruption) flip(bit int) { c.stream[c.from+bit/8] ^= 1 << (bit % 8) }

// caught has the Receiver judge the stream with these bits of the FPDU flipped, and puts them back. Only as much
// of the stream is given to it as the FPDU has by its length.
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

// syndromes returns what flipping each bit of the FPDU does to "CRC of the octets, xor the CRC field". CRC32C is
// linear, so that flipping several does the xor of it; the length stays as it is.
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

// TestCorruptionOneBit flips each bit of an FPDU of 1500 octets: the Receiver refuses it, and shows neither
// it nor anything behind it.
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

// good reports whether the first two FPDUs are shown as they are.
func (c *corruption) good(n int) bool {
	r := Receiver{crc: true, buf: c.stream[:n], w: n}
	shown := 0
	for r.Next() {
		shown++
	}
	return shown == 2 && r.Err() == nil
}

// TestCorruptionTwoBits proves the same for every pair of bits: outside of ULPDU_Length by the linearity of
// the CRC, since all syndromes differ and none is 0, with the Receiver's own verdict for a sample; where a bit
// of ULPDU_Length is flipped the CRC is over other octets, and the Receiver judges all the pairs.
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
	// The syndromes are those of the Receiver: a sample of pairs, all of which it has to refuse.
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

// TestCorruptionWithMarkers does the one-bit errors where there are Markers: those are under the CRC as well.
func TestCorruptionWithMarkers(t *testing.T) {
	ulpdu := counting(7, 1460)
	const begin = 480 // the first Marker stands 32 octets behind the beginning
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
