package ddp

import (
	"sync/atomic"
	"unsafe"
)

// Only this file treats registered memory as anything but a []byte.

const wordLen = 8 // bytes of a word of an Atomic Operation

// word returns the first 8 bytes of b as a word for sync/atomic. The address must be a multiple of
// 8, also on 32-bit machines, where Go aligns a uint64 to 4 only.
func word(b []byte) (*uint64, error) {
	if misalignment(b) != 0 {
		return nil, ErrMisaligned
	}
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(b[:wordLen]))), nil
}

// misalignment returns the remainder of dividing the address of b by 8.
func misalignment(b []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) % wordLen
}

// updateWord replaces the word at the front of b by the result of calling f with it, and returns
// the word from before.
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
