#include "textflag.h"
#include "fold_amd64.h"

// These kernels copy what they fold. They load each byte once, so the CRC is that of the copy even
// if somebody changes the source meanwhile. They have no part for the CRC32 instruction, because it
// would have to load the bytes again.
//
// DI is where the next byte goes.

// BEGIN loads the arguments.
#define BEGIN                                   \
	MOVL crc+0(FP), AX                      \
	NOTL AX                                 \
	MOVQ dst+8(FP), DI                      \
	MOVQ src+16(FP), SI                     \
	MOVQ n+24(FP), CX

// END returns the CRC.
#define END                                     \
	NOTL AX                                 \
	MOVL AX, ret+32(FP)                     \
	RET

// MOVEZ copies 64 bytes and folds acc over them. v holds them.
#define MOVEZ(off, acc, t, v)                   \
	VMOVDQU64 off(SI), v                    \
	VMOVDQU64 v, off(DI)                    \
	FOLDZ(Z0, acc, t, v)

// MOVEY copies 32 bytes and folds acc over them. v holds them.
#define MOVEY(off, acc, t, v)                   \
	VMOVDQU off(SI), v                      \
	VMOVDQU v, off(DI)                      \
	FOLDY(Y0, acc, t, v)

// NEXT moves on by n bytes.
#define NEXT(n)                                 \
	ADDQ $n, SI                             \
	ADDQ $n, DI                             \
	SUBQ $n, CX

// func copyAVX512(crc uint32, dst, src *byte, n int) uint32
TEXT ·copyAVX512(SB), NOSPLIT, $0-36
	BEGIN
	VMOVD AX, X5
	VMOVDQU64 (SI), Z1
	VMOVDQU64 64(SI), Z2
	VMOVDQU64 128(SI), Z3
	VMOVDQU64 192(SI), Z4
	VMOVDQU64 Z1, (DI)
	VMOVDQU64 Z2, 64(DI)
	VMOVDQU64 Z3, 128(DI)
	VMOVDQU64 Z4, 192(DI)
	VPXORQ Z5, Z1, Z1
	VBROADCASTI32X4 ·fold+ROW2048(SB), Z0
	NEXT(256)
	CMPQ CX, $256
	JB merge
four:
	MOVEZ(0, Z1, Z5, Z9)
	MOVEZ(64, Z2, Z6, Z10)
	MOVEZ(128, Z3, Z7, Z11)
	MOVEZ(192, Z4, Z8, Z12)
	NEXT(256)
	CMPQ CX, $256
	JAE four
merge:
	MERGEZ
few:
	CMPQ CX, $64
	JB lanes
	MOVEZ(0, Z1, Z5, Z9)
	NEXT(64)
	JMP few
lanes:
	LANESZ
	END

// func copyAVX2(crc uint32, dst, src *byte, n int) uint32
TEXT ·copyAVX2(SB), NOSPLIT, $0-36
	BEGIN
	VMOVD AX, X5
	VMOVDQU (SI), Y1
	VMOVDQU 32(SI), Y2
	VMOVDQU 64(SI), Y3
	VMOVDQU 96(SI), Y4
	VMOVDQU Y1, (DI)
	VMOVDQU Y2, 32(DI)
	VMOVDQU Y3, 64(DI)
	VMOVDQU Y4, 96(DI)
	VPXOR Y5, Y1, Y1
	VBROADCASTI128 ·fold+ROW1024(SB), Y0
	NEXT(128)
	CMPQ CX, $128
	JB merge
four:
	MOVEY(0, Y1, Y5, Y9)
	MOVEY(32, Y2, Y6, Y10)
	MOVEY(64, Y3, Y7, Y11)
	MOVEY(96, Y4, Y8, Y12)
	NEXT(128)
	CMPQ CX, $128
	JAE four
merge:
	MERGEY
few:
	CMPQ CX, $32
	JB lanes
	MOVEY(0, Y1, Y5, Y9)
	NEXT(32)
	JMP few
lanes:
	LANESY
	END
