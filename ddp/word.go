package ddp

import (
	"sync/atomic"
	"unsafe"
)

// This file alone looks at registered memory as other than a []byte.

const wordLen = 8 // octets of the words that Atomic Operations work on

// word returns the first 8 octets of b as a word that sync/atomic can work on. It must be aligned to
// 8 octets, on 32-bit machines too, where a Go uint64 needs only 4.
func word(b []byte) (*uint64, error) {
	if misalignment(b) != 0 {
		return nil, ErrMisaligned
	}
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(b[:wordLen]))), nil
}

// misalignment returns how many octets the address of b is beyond a multiple of 8.
func misalignment(b []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) % wordLen
}

// updateWord replaces the word at the front of b by f of it and returns what it was.
func updateWord(b []byte, f func(uint64) uint64) (old uint64, err error) {
	w, err := word(b)
	if err != nil {
		return 0, err
	}
	for {
		old = atomic.LoadUint64(w)
		v := f(old)
		if v == old || atomic.CompareAndSwapUint64(w, old, v) {
			return old, nil
		}
	}
}
