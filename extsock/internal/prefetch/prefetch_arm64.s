#include "textflag.h"

// func Lines(p unsafe.Pointer, n uintptr)
TEXT ·Lines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R0, R1
	AND  $~63, R0

lines:
	CMP  R1, R0
	BHS  done
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	B    lines

done:
	RET

// func Stack(n uintptr)
TEXT ·Stack(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R2
	MOVD RSP, R3
	SUB  R2, R3, R0
	ADD  R2, R3, R1

lines:
	CMP  R1, R0
	BHS  done
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	B    lines

done:
	RET
