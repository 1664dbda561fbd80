package perf

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// coldMemory returns n bytes in small pages, and n in huge pages, or nil if the system gives none.
func coldMemory(n int) (small, huge []byte, free func()) {
	const private = unix.MAP_PRIVATE | unix.MAP_ANON
	small, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, private)
	if err != nil {
		return nil, nil, nil
	}
	all, err := unix.Mmap(-1, 0, n+hugePage, unix.PROT_READ|unix.PROT_WRITE, private)
	free = func() {
		_ = unix.Munmap(small) // cannot fail, because it was mapped
		if all != nil {
			_ = unix.Munmap(all)
		}
	}
	_ = unix.Madvise(small, unix.MADV_NOHUGEPAGE) // fails if the kernel has no huge pages
	touch(small)
	if err != nil {
		return small, nil, free
	}
	huge = all[-uintptr(unsafe.Pointer(&all[0]))%hugePage:][:n]
	_ = unix.Madvise(huge, unix.MADV_HUGEPAGE) // collapsing makes sure of it
	touch(huge)
	if unix.Madvise(huge, unix.MADV_COLLAPSE) != nil {
		huge = nil
	}
	return small, huge, free
}
