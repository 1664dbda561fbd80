// Package place copies payload to the memory that it is for. Package ddp's placement is its only
// user.
//
// Before a CPU writes a part of a cache line that it does not have, it reads the line from memory.
// A copy to memory that is not in the cache therefore reads as much as it writes, for nothing. The
// package has two ways around that, in assembly for amd64:
//
//   - REP MOVSB tells the CPU in advance how much it will write, so the CPU may leave the reading
//     out. The data go through the cache as with any copy.
//   - Non-temporal stores write whole lines to memory past the cache. The data are then not in the
//     cache, and lines of the destination that were in it are dropped.
//
// Both are for long payload only. All other payload, other CPUs, and programs under the race
// detector, which does not see what assembly writes, use Go's copy.
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
	// least is the length in bytes of the shortest payload for which Copy and CopyPastCache use
	// another kernel than plain. Below it, the other kernels gain little in memory that is not in
	// the cache, and lose much in memory that is.
	least = 16 << 10

	// line is the length of a cache line in bytes. The kernels in assembly copy whole lines.
	line = 64
)

// Copy copies src to the beginning of dst, through the cache. When it returns, other goroutines may
// see the copy in the same way as after Go's copy. dst must be at least as long as src, and must
// not overlap it.
func Copy(dst, src []byte) { cached.copy(dst, src) }

// CopyPastCache is Copy for data that nothing reads soon. If src is long, its copy is in memory
// afterwards and not in the cache.
func CopyPastCache(dst, src []byte) { pastCache.copy(dst, src) }

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
