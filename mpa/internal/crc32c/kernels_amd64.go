package crc32c

import (
	"golang.org/x/sys/cpu"

	"github.com/rddp/rddp/internal/cpuid"
)

const (
	sse    kernel = 1 + iota // PCLMULQDQ: 4 lanes of 128 bits
	avx2                     // VPCLMULQDQ on 256-bit registers: 8 lanes
	avx512                   // VPCLMULQDQ on 512-bit registers: 16 lanes
)

func (k kernel) String() string { return [...]string{"portable", "sse", "avx2", "avx512"}[k] }

// kernels returns the kernels that work on this CPU, the fastest first.
func kernels() []kernel {
	ks := []kernel{portable}
	// The kernels need the CRC32 instruction (SSE4.2) for the last bytes.
	if !cpu.X86.HasPCLMULQDQ || !cpu.X86.HasSSE42 {
		return ks
	}
	ks = append([]kernel{sse}, ks...)
	// x/sys/cpu reports VPCLMULQDQ only if AVX-512 works, but the 256-bit form does not need
	// AVX-512. HasAVX2 means that the operating system saves the 256-bit registers.
	if cpu.X86.HasAVX2 && hasVPCLMULQDQ() {
		ks = append([]kernel{avx2}, ks...)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPCLMULQDQ {
		ks = append([]kernel{avx512}, ks...)
	}
	return ks
}

// hasVPCLMULQDQ returns bit 10 of ECX in CPUID leaf 7. The CPU must have that leaf. Every CPU with
// AVX2 has it.
func hasVPCLMULQDQ() bool {
	_, _, c, _ := cpuid.ID(7, 0)
	return c>>10&1 == 1
}

// prefetch reports whether UpdateCold prefetches. On an Intel CPU (Sapphire Rapids) that made cold
// data faster. On an AMD CPU (Zen 4) it made them slower.
var prefetch = cpuid.IsIntel()

func (k kernel) update(crc uint32, p []byte, cold bool) uint32 {
	switch k {
	case avx512:
		return updateAVX512(crc, p, cold)
	case avx2:
		return updateAVX2(crc, p, cold)
	case sse:
		return updateSSE(crc, p, cold)
	}
	return updatePortable(crc, p)
}

// copy copies the first n bytes of src to dst, and updates the CRC with them. It chooses n: 0 if
// src is short or k does not copy, and otherwise the largest multiple of 64 in len(src).
func (k kernel) copy(crc uint32, dst, src []byte) (sum uint32, n int) {
	const least = 256 // bytes; copyAVX512 needs at least this many
	if len(src) < least {
		return crc, 0
	}
	n = len(src) &^ 63
	switch k {
	case avx512:
		return copyAVX512(crc, &dst[0], &src[0], n), n
	case avx2:
		return copyAVX2(crc, &dst[0], &src[0], n), n
	}
	return crc, 0
}

// The update kernels take p of any length.
//
//go:noescape
func updateAVX512(crc uint32, p []byte, cold bool) uint32

//go:noescape
func updateAVX2(crc uint32, p []byte, cold bool) uint32

//go:noescape
func updateSSE(crc uint32, p []byte, cold bool) uint32

// The copy kernels copy n bytes, at least 256 and a multiple of 64.
//
//go:noescape
func copyAVX512(crc uint32, dst, src *byte, n int) uint32

//go:noescape
func copyAVX2(crc uint32, dst, src *byte, n int) uint32
