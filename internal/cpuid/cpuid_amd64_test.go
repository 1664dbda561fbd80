package cpuid

import (
	"encoding/binary"
	"testing"
)

// TestMaker reads the maker's name as the manuals write it. IsIntel must use the registers in the
// order of the name.
func TestMaker(t *testing.T) {
	highest, b, c, d := ID(0, 0)
	var name []byte
	for _, r := range []uint32{b, d, c} {
		name = binary.LittleEndian.AppendUint32(name, r)
	}
	t.Logf("%s, leaves up to %d", name, highest)
	if got, want := IsIntel(), string(name) == "GenuineIntel"; got != want {
		t.Errorf("IsIntel() = %v for a CPU of %q", got, name)
	}
	if highest < 1 {
		t.Errorf("the highest leaf is %d, want at least 1", highest)
	}
}

// TestFeatures checks leaf 1 for SSE2, which every amd64 CPU has.
func TestFeatures(t *testing.T) {
	if _, _, _, d := ID(1, 0); d>>26&1 != 1 {
		t.Errorf("EDX of leaf 1 is %#x, without SSE2", d)
	}
}
