package crc32c

import "unsafe"

// align returns the index of the first byte of p whose address is a multiple of 64.
func align(p []byte) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(p))) & 63)
}
