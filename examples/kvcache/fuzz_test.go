package kvcache

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// FuzzGetSlot: whatever the peer's memory contains, an entry that getSlot returns is within its
// slot. With fix the slot has correct versions and a correct checksum, so that the code after these
// checks is reached.
func FuzzGetSlot(f *testing.F) {
	s := make([]byte, slotLen)
	putSlot(s, 2, "key", []byte("value"))
	f.Add(s, false)
	f.Add(s, true)
	f.Add(bytes.Repeat([]byte{0xff}, slotLen), true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		s := make([]byte, slotLen)
		copy(s, b)
		if fix {
			copy(s[tailAt:tailAt+8], s[:8])
			binary.BigEndian.PutUint32(s[checksumAt:], crc32.Checksum(s[lengthsAt:slotLen], castagnoli))
		}
		version, key, value, whole := getSlot(s)
		if !whole && (key != nil || value != nil) || len(key) > MaxKey || len(value) > MaxValue {
			t.Errorf("getSlot(%x) = %d, %q, %q, %t", s, version, key, value, whole)
		}
	})
}
