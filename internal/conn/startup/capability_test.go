package startup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/rddp/rddp/mpa"
)

// The record on the wire, by hand: magic, version 2, length 20, all flags, 64 KiB, 32 credits, and
// the CRC, which a bitwise calculation in another language has given.
var capabilityVector = []byte{'r', 'd', 'd', 'p', 2, 20, 0, 7, 0, 1, 0, 0, 0, 32, 0, 0, 0x96, 0x9a, 0xa2, 0x6c}

// behindCapabilities is the same with private data behind it.
var behindCapabilities = append(slices.Concat(capabilityVector[:16], []byte{0x5c, 0x52, 0x44, 0x40}), "rest"...)

func TestCapabilityRecord(t *testing.T) {
	c := Capabilities{Extensions: true, LargeFPDU: true, MaxMessage: 1 << 16, ByteStream: true, Credits: 32}
	if got := c.WithPrivateData(nil); !bytes.Equal(got, capabilityVector) {
		t.Errorf("%+v.WithPrivateData = %x, want %x", c, got, capabilityVector)
	}
	if got := c.WithPrivateData([]byte("rest")); !bytes.Equal(got, behindCapabilities) {
		t.Errorf("%+v.WithPrivateData = %x, want %x", c, got, behindCapabilities)
	}
	got, rest, ok, err := ParseCapabilities(behindCapabilities)
	if !ok || got != c || string(rest) != "rest" || err != nil {
		t.Errorf("ParseCapabilities(%x) = %+v, %q, %v, %v, want %+v", behindCapabilities, got, rest, ok, err, c)
	}
}

func TestCapabilityOfALaterVersion(t *testing.T) {
	b := append(bytes.Clone(capabilityVector), 0xff, 0xff, 'a')
	b[4], b[5] = 9, 22
	binary.BigEndian.PutUint32(b[capabilityCRC:], privateDataCRC(b[:6], b))
	if _, rest, ok, err := ParseCapabilities(b); !ok || string(rest) != "a" || err != nil {
		t.Errorf("ParseCapabilities(%x): rest %q, %v, %v, want the octets behind the longer record", b, rest, ok, err)
	}
}

// TestChangedCapabilities: if one or two bits of a record, or of the private data behind it, are
// changed, it is taken neither for a good record nor for a foreign application's private data.
func TestChangedCapabilities(t *testing.T) {
	changed := func(bits ...int) {
		b := bytes.Clone(behindCapabilities)
		for _, bit := range bits {
			b[bit/8] ^= 1 << (bit % 8)
		}
		c, rest, ok, err := ParseCapabilities(b)
		if e := (*mpa.Error)(nil); ok || !errors.As(err, &e) || e.Code != mpa.CodeFrame {
			t.Errorf("bits %v changed: ParseCapabilities = %+v, %q, %v, %v", bits, c, rest, ok, err)
		}
	}
	for i := range 8 * len(behindCapabilities) {
		changed(i)
		for j := range i {
			begin := j < 48 // one bit in the octets that identify a record and one behind them: that can be a foreign application's data
			if begin == (i < 48) {
				changed(i, j)
			}
		}
	}
}

func TestForeignPrivateDataIsNoCapability(t *testing.T) {
	tests := []struct {
		desc   string
		change func(b []byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"other magic", func(b []byte) []byte { b[3] = 'q'; return b }},
		{"version 1", func(b []byte) []byte { b[4] = 1; return b }},
		{"length shorter than the record", func(b []byte) []byte { b[5] = 19; return b }},
		{"length beyond the data", func(b []byte) []byte { b[5] = 21; return b }},
		{"cut", func(b []byte) []byte { return b[:19] }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			b := bytes.Clone(capabilityVector)
			b[capabilityCRC]++ // otherwise it would be a damaged record
			b = tt.change(b)
			c, rest, ok, err := ParseCapabilities(b)
			if ok || c != (Capabilities{}) || !bytes.Equal(rest, b) || err != nil {
				t.Errorf("ParseCapabilities(%x) = %+v, %x, %v, %v, want all of it left alone", b, c, rest, ok, err)
			}
		})
	}
}

func FuzzCapabilities(f *testing.F) {
	f.Add(capabilityVector, false)
	f.Add(behindCapabilities, true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix && len(b) >= capabilityLen {
			binary.BigEndian.PutUint32(b[capabilityCRC:], privateDataCRC(b[:6], b))
		}
		c, rest, ok, err := ParseCapabilities(b)
		if err != nil {
			if ok {
				t.Errorf("ParseCapabilities(%x) is good, with %v", b, err)
			}
			return
		}
		if !ok {
			if !bytes.Equal(rest, b) {
				t.Errorf("ParseCapabilities(%x) took octets without a record", b)
			}
			return
		}
		if again, tail, ok, err := ParseCapabilities(c.WithPrivateData(rest)); !ok || again != c || !bytes.Equal(tail, rest) || err != nil {
			t.Errorf("%+v does not survive a round trip: %+v, %q, %v, %v", c, again, tail, ok, err)
		}
	})
}
