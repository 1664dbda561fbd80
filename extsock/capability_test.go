package extsock

import (
	"bytes"
	"testing"
)

// The record on the wire, by hand: magic, version 1, length 16, all flags, 64 KiB, 32 credits.
var capabilityVector = []byte{'r', 'd', 'd', 'p', 1, 16, 0, 7, 0, 1, 0, 0, 0, 32, 0, 0}

func TestCapabilityRecord(t *testing.T) {
	c := capabilities{extensions: true, largeFPDU: true, maxMessage: 1 << 16, byteStream: true, credits: 32}
	if got := c.appendTo(nil); !bytes.Equal(got, capabilityVector) {
		t.Errorf("%+v.appendTo = %x, want %x", c, got, capabilityVector)
	}
	got, rest, ok := parseCapabilities(append(bytes.Clone(capabilityVector), "rest"...))
	if !ok || got != c || string(rest) != "rest" {
		t.Errorf("parseCapabilities(%x) = %+v, %q, %v, want %+v", capabilityVector, got, rest, ok, c)
	}
}

func TestCapabilityOfALaterVersion(t *testing.T) {
	b := append(bytes.Clone(capabilityVector), 0xff, 0xff, 'a')
	b[4], b[5] = 9, 18
	if _, rest, ok := parseCapabilities(b); !ok || string(rest) != "a" {
		t.Errorf("parseCapabilities(%x): rest %q, %v, want the octets behind the longer record", b, rest, ok)
	}
}

func TestForeignPrivateDataIsNoCapability(t *testing.T) {
	tests := []struct {
		desc   string
		change func(b []byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"other magic", func(b []byte) []byte { b[3] = 'q'; return b }},
		{"version 0", func(b []byte) []byte { b[4] = 0; return b }},
		{"length shorter than the record", func(b []byte) []byte { b[5] = 15; return b }},
		{"length beyond the data", func(b []byte) []byte { b[5] = 17; return b }},
		{"cut", func(b []byte) []byte { return b[:15] }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			b := tt.change(bytes.Clone(capabilityVector))
			c, rest, ok := parseCapabilities(b)
			if ok || c != (capabilities{}) || !bytes.Equal(rest, b) {
				t.Errorf("parseCapabilities(%x) = %+v, %x, %v, want all of it left alone", b, c, rest, ok)
			}
		})
	}
}

func FuzzCapabilities(f *testing.F) {
	f.Add(capabilityVector)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, rest, ok := parseCapabilities(b)
		if !ok {
			if !bytes.Equal(rest, b) {
				t.Errorf("parseCapabilities(%x) took octets without a record", b)
			}
			return
		}
		if again, _, ok := parseCapabilities(c.appendTo(nil)); !ok || again != c {
			t.Errorf("%+v does not survive a round trip: %+v, %v", c, again, ok)
		}
	})
}
