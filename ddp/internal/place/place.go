// Package place copies payload to its destination. Package ddp's placement is its only user.
//
// Before a CPU writes a part of a cache line that it does not have, it reads the line from memory.
// A copy to memory that is not in the cache therefore reads as much as it writes, for nothing. REP
// MOVSB, in assembly for amd64, tells the CPU in advance how much it will write, so the CPU may
// leave the reading out. The data go through the cache as with any copy.
//
// REP MOVSB is for long payload only. All other payload, other CPUs, and programs under the race
// detector, which does not see what assembly writes, use Go's copy.
//
// The package does not use stores that bypass the cache. In a ring of 16 MiB they place 64 KiB at
// 34 GB/s instead of 17, but in a ring of 1 MiB placing and reading at once falls from 17 to 11
// GB/s, and only the program knows which of the two it has. The package also does not use AVX-512
// stores (within 5 % of 16-byte ones), PREFETCHW ahead of a copy (no gain in cold memory) or CLZERO
// (traps under a hypervisor). All figures are from Zen 4.
package place

import (
	"fmt"
	"unsafe"
)

// A kernel is one way to copy. Each architecture has constants for its own kernels.
type kernel int

// plain is Go's copy. It works on every machine.
const plain kernel = 0

const (
	// least is the length in bytes of the shortest payload for which Copy uses another kernel than
	// plain. Below it, the other kernel gains little in memory that is not in the cache, and loses
	// much in memory that is.
	least = 16 << 10

	// line is the length of a cache line in bytes. The kernel in assembly copies whole lines.
	line = 64
)

// Copy copies src to the beginning of dst, through the cache. When it returns, other goroutines may
// see the copy in the same way as after Go's copy. dst must be at least as long as src, and must
// not overlap it.
func Copy(dst, src []byte) { cached.copy(dst, src) }

// copy copies with kernel k if src is long, and otherwise with plain.
func (k kernel) copy(dst, src []byte) {
	if len(dst) < len(src) {
		panic(fmt.Sprintf("BUG: %d bytes copied to %d", len(src), len(dst)))
	}
	if race || k == plain || len(src) < least {
		copy(dst, src)
		return
	}
	k.copyLines(dst[:len(src)], src)
}

// copyLines copies with kernel k the lines of dst that src fills wholly, and with plain the bytes
// before the first and after the last of these lines.
func (k kernel) copyLines(dst, src []byte) {
	if n := copy(dst[:min(align(dst), len(dst))], src); n > 0 {
		dst, src = dst[n:], src[n:]
	}
	n := len(src) &^ (line - 1)
	if n > 0 {
		k.move(dst[:n], src[:n])
	}
	copy(dst[n:], src[n:])
}

// align returns the index of the first byte of p whose address is a multiple of line.
func align(p []byte) int { return int(-uintptr(unsafe.Pointer(unsafe.SliceData(p))) & (line - 1)) }
