package crc32c

import "github.com/rddp/rddp/internal/cpuid"

// fetchesAhead reports whether UpdateAhead prefetches. It gained on an AMD CPU (Zen 4). On Intel
// CPUs, long payload is copied by REP MOVSB, which need not fetch what it overwrites.
var fetchesAhead = !cpuid.IsIntel() && hasPREFETCHW()

// hasPREFETCHW returns bit 8 of ECX in CPUID leaf 0x80000001, which every amd64 CPU has.
func hasPREFETCHW() bool {
	_, _, c, _ := cpuid.ID(0x80000001, 0)
	return c>>8&1 == 1
}

// prefetchWrite tells the CPU that the program will write the given number of lines of 64 bytes,
// from p on. lines is at least 1.
//
//go:noescape
func prefetchWrite(p *byte, lines int)
