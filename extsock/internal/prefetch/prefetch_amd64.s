#include "textflag.h"

// func Lines(p unsafe.Pointer, n uintptr)
TEXT ·Lines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
	ADDQ AX, CX
	ANDQ $~63, AX

lines:
	CMPQ AX, CX
	JAE  done
	PREFETCHT0 (AX)
	ADDQ $64, AX
	JMP  lines

done:
	RET

// func Stack(n uintptr)
TEXT ·Stack(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), DX
	MOVQ SP, AX
	MOVQ SP, CX
	SUBQ DX, AX
	ADDQ DX, CX

lines:
	CMPQ AX, CX
	JAE  done
	PREFETCHT0 (AX)
	ADDQ $64, AX
	JMP  lines

done:
	RET
