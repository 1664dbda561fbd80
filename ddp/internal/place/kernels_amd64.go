package place

import "github.com/rddp/rddp/internal/cpuid"

const rep kernel = 1 // REP MOVSB

func (k kernel) String() string { return [...]string{"plain", "rep"}[k] }

// kernels returns all kernels. Every amd64 CPU has the instruction; see choose for when it is fast.
func kernels() []kernel { return []kernel{plain, rep} }

// cached is the kernel of Copy.
var cached = choose(cpuid.IsIntel(), hasERMS())

// choose returns the kernel of Copy. REP MOVSB gained on an Intel CPU (Sapphire Rapids) in memory
// that was not in the cache. On an AMD CPU (Zen 4) it was slower than plain or the same, although
// the CPU has ERMS and FSRM.
func choose(intel, erms bool) kernel {
	if intel && erms {
		return rep
	}
	return plain
}

// hasERMS returns bit 9 of EBX in CPUID leaf 7: REP MOVSB is fast. A CPU with FSRM has ERMS too.
func hasERMS() bool {
	if highest, _, _, _ := cpuid.ID(0, 0); highest < 7 {
		return false
	}
	_, b, _, _ := cpuid.ID(7, 0)
	return b>>9&1 == 1
}

// move copies src to dst, which begins at a multiple of line. Both have the same length, a multiple
// of line and not 0.
func (k kernel) move(dst, src []byte) {
	if k == rep {
		moveRep(&dst[0], &src[0], len(src))
	} else {
		copy(dst, src)
	}
}

//go:noescape
func moveRep(dst, src *byte, n int)
