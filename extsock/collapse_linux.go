package extsock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

func collapseHeap(ctx context.Context) (n int64, err error) {
	block := hugePageSize()
	if block == 0 {
		return 0, errors.ErrUnsupported // a kernel without transparent huge pages
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	inRAM := make([]byte, block/uintptr(os.Getpagesize()))
	var failed error
	for _, r := range heapOf(string(maps), uintptr(unsafe.Pointer(&maps[0]))) {
		for at := (r.from + block - 1) &^ (block - 1); at+block <= r.to; at += block {
			if err := ctx.Err(); err != nil {
				return n, err
			}
			if !isHalfInRAM(at, block, inRAM) {
				continue
			}
			if err := collapse(at, block); err != nil {
				failed = err
				continue
			}
			n += int64(block)
		}
	}
	runtime.KeepAlive(maps) // its address was one of the heap
	switch {
	case n > 0:
		return n, nil // some blocks can always fail, such as one that the runtime gives back at the same time
	case errors.Is(failed, syscall.EINVAL):
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, failed)
	}
	return 0, failed
}

// A span is a range of addresses.
type span struct{ from, to uintptr }

// heapOf returns the parts of the heap that may be written, from the text of /proc/self/maps. The
// runtime reserves the heap as ranges that adjoin each other, at a random place, so it is what is
// without a gap around object, an address in it. Other memory of the process is left alone.
func heapOf(maps string, object uintptr) (heap []span) {
	var end uintptr
	found := false
	for line := range strings.Lines(maps) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		a, err := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		isHeap := errors.Join(err, err2) == nil && (len(f) == 5 || strings.HasPrefix(f[5], "[anon")) // of no file
		r := span{uintptr(a), uintptr(b)}
		if !isHeap || r.from != end {
			if found {
				return heap
			}
			heap = nil
		}
		end = r.to
		if !isHeap {
			continue
		}
		if strings.HasPrefix(f[1], "rw") {
			heap = append(heap, r)
		}
		found = found || r.from <= object && object < r.to
	}
	if !found {
		return nil
	}
	return heap
}

// hugePageSize returns the size of a huge page in bytes, or 0 if the kernel has none.
func hugePageSize() uintptr {
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64) // 0 after an error
	if n&(n-1) != 0 {
		return 0
	}
	return uintptr(n)
}

// isHalfInRAM reports whether at least half of the pages of a block are in RAM.
func isHalfInRAM(at, block uintptr, pages []byte) bool {
	if _, _, err := syscall.Syscall(syscall.SYS_MINCORE, at, block, uintptr(unsafe.Pointer(&pages[0]))); err != 0 {
		return false
	}
	n := 0
	for _, p := range pages {
		n += int(p & 1)
	}
	return 2*n >= len(pages)
}

// collapse moves a block into a huge page.
func collapse(at, block uintptr) error {
	const collapse = 25 // MADV_COLLAPSE
	if _, _, err := syscall.Syscall(syscall.SYS_MADVISE, at, block, collapse); err != 0 {
		return os.NewSyscallError("madvise", err)
	}
	return nil
}
