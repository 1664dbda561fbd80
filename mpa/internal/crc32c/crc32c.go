// Package crc32c computes the CRC of FPDUs. It is the CRC32C of iSCSI (RFC 5044 §4.4): polynomial
// 0x11EDC6F41, register preset to all ones, bits reflected, result inverted.
//
// On amd64 and arm64 the package has kernels in assembly. A kernel folds: it keeps the remainder of
// the data as several lanes of 128 bits. To take more data, it multiplies each lane by a power of
// x, without carries, which moves the lane to where the new data are, and adds (XOR) the new data.
// The method is described in "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction" (Intel, 2009); fold.go explains the constants. A CPU without these instructions uses
// github.com/klauspost/crc32. The tests compare each kernel with that package.
//
// The multiplication and the CRC32 instruction work side by side, because most CPUs have a unit for
// each. BenchmarkUpdate, in GB/s on one core of an AMD EPYC (Zen 4):
//
//	kernel    CPU                      4 KiB in the cache   64 KiB pieces of 16 MiB
//	avx512    VPCLMULQDQ, AVX-512VL    56                   56
//	avx2      VPCLMULQDQ, AVX2         41                   35
//	sse       PCLMULQDQ, SSE4.2        29                   32
//	portable  any                      26                   7
//
// The kernel pmull (arm64 with PMULL and CRC32) has run under QEMU only. The present kernels have
// not been measured on an Intel CPU.
package crc32c

import (
	"fmt"

	"github.com/klauspost/crc32"
)

// A kernel is one way to compute the CRC. Each architecture has constants for its own kernels.
type kernel int

// portable works on every machine.
const portable kernel = 0

// best is the kernel that the exported functions use.
var best = kernels()[0]

var table = crc32.MakeTable(crc32.Castagnoli)

// Update returns the CRC of the bytes whose CRC is crc, followed by p. The CRC of no bytes is 0.
func Update(crc uint32, p []byte) uint32 { return best.update(crc, p, false) }

// UpdateCold is Update for a p that is probably not in the CPU's cache. It prefetches on CPUs on
// which that helps.
func UpdateCold(crc uint32, p []byte) uint32 { return best.update(crc, p, prefetch) }

// Copy copies src to dst, and returns the CRC of the bytes whose CRC is crc, followed by the copy.
// If src changes meanwhile, the CRC is still that of the copy. dst must be at least as long as src,
// and must not overlap it.
func Copy(crc uint32, dst, src []byte) uint32 { return best.copyAll(crc, dst, src) }

// copyAll is Copy with the kernel k.
func (k kernel) copyAll(crc uint32, dst, src []byte) uint32 {
	if len(dst) < len(src) {
		panic(fmt.Sprintf("BUG: %d bytes copied to %d", len(src), len(dst)))
	}
	n := 0
	if !race {
		crc, n = k.copy(crc, dst, src)
	}
	dst = dst[n:len(src)]
	copy(dst, src[n:])
	return k.update(crc, dst, false)
}

func updatePortable(crc uint32, p []byte) uint32 { return crc32.Update(crc, table, p) }
