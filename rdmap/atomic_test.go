package rdmap

import (
	"testing"

	"pgregory.net/rapid"
)

// bitSerialAdd is the pseudocode of RFC 7306 §5.1.1, bit by bit.
func bitSerialAdd(orig, add, mask uint64) uint64 {
	var sum, carry uint64
	for bit := range 64 {
		s := carry + orig>>bit&1 + add>>bit&1
		sum |= s & 1 << bit
		carry = s >> 1 &^ (mask >> bit & 1)
	}
	return sum
}

// "causing any carry out of that bit position to be discarded when the addition is performed"
// RDMAPX-7306-5-4, RDMAPX-7306-5.1.1-1 to RDMAPX-7306-5.1.1-4
func TestRFC7306_5_1_1_FetchAdd(t *testing.T) {
	for _, tt := range []struct {
		desc                  string
		orig, add, mask, want uint64
	}{
		{"one field", 41, 1, 0, 42},
		{"wraps at 64 bits", ^uint64(0), 1, 0, 0},
		{"top bit marked is the same", ^uint64(0), 1, 1 << 63, 0},
		{"adding nothing probes", 41, 0, 0, 41},
		{"two fields of 32 bits", 0x00000001_FFFFFFFF, 0x00000001_00000001, 0x80000000_80000000, 0x00000002_00000000},
		{"unmarked, the carry goes on", 0x00000001_FFFFFFFF, 0x00000001_00000001, 0, 0x00000003_00000000},
		{"all ones: every bit is a field", 0b1100, 0b1010, ^uint64(0), 0b0110},
		{"fields of 4, 12 and 48 bits", 0x0000_0000_0001_FFFF, 0x0000_0000_0000_1001, 0x8000_0000_0000_8008, 0x0000_0000_0001_0FF0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			if got := FetchAdd(tt.orig, tt.add, tt.mask); got != tt.want {
				t.Errorf("FetchAdd(%#x, %#x, %#x) = %#x, want %#x", tt.orig, tt.add, tt.mask, got, tt.want)
			}
			if got := bitSerialAdd(tt.orig, tt.add, tt.mask); got != tt.want {
				t.Errorf("the model gives %#x, want %#x", got, tt.want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		orig, add, mask := rapid.Uint64().Draw(t, "orig"), rapid.Uint64().Draw(t, "add"), rapid.Uint64().Draw(t, "mask")
		if got, want := FetchAdd(orig, add, mask), bitSerialAdd(orig, add, mask); got != want {
			t.Errorf("FetchAdd(%#x, %#x, %#x) = %#x, want %#x", orig, add, mask, got, want)
		}
	})
}

// bitwiseSwap is RFC 7306 §5.1.2, bit by bit.
func bitwiseSwap(orig, compare, cmask, swap, smask uint64) uint64 {
	result := orig
	for bit := range 64 {
		b := uint64(1) << bit
		if cmask&b != 0 && orig&b != compare&b {
			return orig
		}
		if smask&b != 0 {
			result = result&^b | swap&b
		}
	}
	return result
}

// "the remote data Buffer MUST contain the "Original Remote Data Value" (if comparison did not match) or
// the masked "Swap Data" (if the comparison did match)" RDMAPX-7306-5.1.2-1 to RDMAPX-7306-5.1.2-5
func TestRFC7306_5_1_2_CmpSwap(t *testing.T) {
	const all = ^uint64(0)
	for _, tt := range []struct {
		desc                                    string
		orig, compare, cmask, swap, smask, want uint64
	}{
		{"match", 42, 42, all, 7, all, 7},
		{"no match", 41, 42, all, 7, all, 41},
		{"match in the compared bits only", 0x1F2A, 0x002A, 0x00FF, 0x7777, all, 0x7777},
		{"mismatch in a compared bit", 0x1F2A, 0x002A, 0x01FF, 0x7777, all, 0x1F2A},
		{"some bits are swapped", 0xABCD, 0xABCD, all, 0x1234, 0x0F0F, 0xA2C4},
		{"nothing compared: a plain swap", 0xABCD, 0, 0, 0x1234, all, 0x1234},
		{"nothing swapped", 0xABCD, 0xABCD, all, 0x1234, 0, 0xABCD},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			if got := CmpSwap(tt.orig, tt.compare, tt.cmask, tt.swap, tt.smask); got != tt.want {
				t.Errorf("CmpSwap gives %#x, want %#x", got, tt.want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		// Few bits, so that comparisons succeed now and then.
		draw := func(name string) uint64 { return rapid.Uint64Range(0, 15).Draw(t, name) * 0x1001 }
		orig, compare, cmask, swap, smask := draw("orig"), draw("compare"), draw("cmask"), draw("swap"), draw("smask")
		if got, want := CmpSwap(orig, compare, cmask, swap, smask), bitwiseSwap(orig, compare, cmask, swap, smask); got != want {
			t.Errorf("CmpSwap(%#x, %#x, %#x, %#x, %#x) = %#x, want %#x", orig, compare, cmask, swap, smask, got, want)
		}
	})
}
