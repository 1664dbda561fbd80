package kvcache

import (
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
)

// The table is an array of buckets, a bucket an array of slots. A key is in the bucket that its
// hash says, in any slot, and a slot is, in network byte order:
//
//	  0  Version   8 bytes; odd while the slot is being written, 0 while it never was
//	  8  Checksum  4 bytes: CRC32C of bytes 12 to the end, including the second Version
//	 12  Key Len   2 bytes
//	 14  Value Len 2 bytes
//	 16  Key       40 bytes
//	 56  Value     192 bytes
//	248  Version   8 bytes, the same again
const (
	checksumAt = 8
	lengthsAt  = 12
	keyAt      = 16
	valueAt    = 56
	tailAt     = 248
	slotLen    = 256
	slots      = 4 // in a bucket
	bucketLen  = slots * slotLen

	// MaxKey and MaxValue are the maximum lengths of a key and a value in bytes.
	MaxKey   = valueAt - keyAt
	MaxValue = tailAt - valueAt
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bucketOf returns the offset of a key's bucket in a table of n bytes.
func bucketOf(key string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(key))
	return int(h.Sum64()%uint64(n/bucketLen)) * bucketLen
}

// putSlot fills s, which has slotLen bytes, with an entry.
func putSlot(s []byte, version uint64, key string, value []byte) {
	clear(s)
	binary.BigEndian.PutUint64(s, version)
	binary.BigEndian.PutUint16(s[lengthsAt:], uint16(len(key)))
	binary.BigEndian.PutUint16(s[lengthsAt+2:], uint16(len(value)))
	copy(s[keyAt:], key)
	copy(s[valueAt:], value)
	binary.BigEndian.PutUint64(s[tailAt:], version)
	binary.BigEndian.PutUint32(s[checksumAt:], crc32.Checksum(s[lengthsAt:], castagnoli))
}

// getSlot returns the entry in s; key and value alias s. whole is false if s was read while the
// slot was being written.
func getSlot(s []byte) (version uint64, key, value []byte, whole bool) {
	version = binary.BigEndian.Uint64(s)
	if version == 0 {
		return 0, nil, nil, true
	}
	if version%2 == 1 || version != binary.BigEndian.Uint64(s[tailAt:]) ||
		binary.BigEndian.Uint32(s[checksumAt:]) != crc32.Checksum(s[lengthsAt:slotLen], castagnoli) {
		return version, nil, nil, false
	}
	k, v := int(binary.BigEndian.Uint16(s[lengthsAt:])), int(binary.BigEndian.Uint16(s[lengthsAt+2:]))
	if k > MaxKey || v > MaxValue {
		return version, nil, nil, false
	}
	return version, s[keyAt:][:k], s[valueAt:][:v], true
}

// find looks for a key in a bucket that was read. If no complete slot contains the key, whole
// reports whether all slots are complete, so that the key is in none of them.
func find(bucket []byte, key string) (value []byte, found, whole bool) {
	whole = true
	for s := bucket; len(s) > 0; s = s[slotLen:] {
		version, k, v, ok := getSlot(s)
		switch {
		case !ok:
			whole = false
		case version != 0 && string(k) == key:
			return v, true, true
		}
	}
	return nil, false, whole
}
