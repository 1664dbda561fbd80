#include "textflag.h"

// func moveRep(dst, src *byte, n int)
TEXT ·moveRep(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	REP; MOVSB
	RET

// The CPU collects the four stores to a line, and writes the line as a whole. Other CPUs may see
// such stores later than stores that come after them. SFENCE ends that: whoever sees a store from
// after it, such as that of an unlock, sees the copy too.
//
// func moveNonTemporal(dst, src *byte, n int)
TEXT ·moveNonTemporal(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
lines:
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	MOVNTO X0, (DI)
	MOVNTO X1, 16(DI)
	MOVNTO X2, 32(DI)
	MOVNTO X3, 48(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $64, CX
	JNZ lines
	SFENCE
	RET
