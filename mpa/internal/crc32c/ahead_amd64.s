#include "textflag.h"

// The assembler has no PREFETCHW. Its code is 0F 0D /1, here with the address in DI.
//
// func prefetchWrite(p *byte, lines int)
TEXT ·prefetchWrite(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), DI
	MOVQ lines+8(FP), CX
line:
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0f
	ADDQ $64, DI
	DECQ CX
	JNZ line
	RET
