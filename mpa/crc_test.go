package mpa

import (
	"bytes"
	"testing"
)

// "the CRC field in the MPA FPDU MUST be computed using the CRC32c polynomial in the manner
// described in the iSCSI Protocol [iSCSI] document for Header and Data Digests."
// MPA-5044-4.4-12, MPA-5044-4.4-13, MPA-5044-4.4-14, MPA-5044-4.4-18
func TestRFC5044_4_4_CRC32C(t *testing.T) {
	down := make([]byte, 32)
	for i := range down {
		down[i] = byte(31 - i)
	}
	tests := []struct {
		desc  string
		input []byte
		value uint32
		wire  string
	}{
		{"nothing", nil, 0, "00000000"},
		{"check value", []byte("123456789"), 0xE3069283, "839206e3"},
		{"a Marker between FPDUs", make([]byte, 4), 0x48674BC7, "c74b6748"},
		{"RFC 3720: zeros", make([]byte, 32), 0x8A9136AA, "aa36918a"},
		{"RFC 3720: ones", bytes.Repeat([]byte{0xff}, 32), 0x62A8AB43, "43aba862"},
		{"RFC 3720: incrementing", counting(0, 32), 0x46DD794E, "4e79dd46"},
		{"RFC 3720: decrementing", down, 0x113FDB5C, "5cdb3f11"},
		{"RFC 3720: Read(10)", unhex("01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018 28000000 00000000 02000000 00000000"), 0xD9963A56, "563a96d9"},
		{"RFC 5044 figure 5", append(unhex("00000000 002a"), figure5...), 0x83992352, "52239983"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			if got := updateCRC(0, tt.input); got != tt.value {
				t.Errorf("updateCRC(0, %x) = %08x, want %08x", tt.input, got, tt.value)
			}
			if got := refCRC(tt.input); got != tt.value {
				t.Errorf("refCRC(%x) = %08x, want %08x", tt.input, got, tt.value)
			}
			var wire [4]byte
			putCRC(wire[:], tt.value)
			if want := unhex(tt.wire); !bytes.Equal(wire[:], want) || getCRC(want) != tt.value {
				t.Errorf("on the wire %x, read back %08x, want %x", wire, getCRC(want), want)
			}
			for i := range tt.input {
				if got := updateCRC(updateCRC(0, tt.input[:i]), tt.input[i:]); got != tt.value {
					t.Errorf("in two parts of %d octets and the rest: %08x, want %08x", i, got, tt.value)
				}
			}
			// "After calculating the CRC-32c, the resultant value is placed into the CRC field":
			// the CRC of an FPDU with its CRC field is a constant.
			if got := updateCRC(0, append(bytes.Clone(tt.input), wire[:]...)); got != 0x48674BC7 {
				t.Errorf("over input and field: %08x, want 48674bc7", got)
			}
		})
	}
}
