#include "textflag.h"
#include "fold_amd64.h"

// All three kernels have the same shape:
//
//   - The CRC register is added (XOR) to the first bytes of the data.
//   - Four accumulators hold the remainder of the data so far. They lie over the last bytes that
//     were taken. To take more, the kernel folds each accumulator over the bytes between, and adds
//     the new bytes to it.
//   - While there are enough data, the kernel takes them in blocks. The accumulators take the first
//     part of a block, in two rounds. The CRC32 instruction takes the last 240 bytes meanwhile, as
//     three CRCs of 80 bytes each: most CPUs have a unit for this instruction beside the one that
//     multiplies. Then the accumulators are folded over these 240 bytes to the next block. A CRC is
//     added to the first bytes after its data, so each of the three, as a lane of its own, is
//     folded over the CRCs that follow it, to the first bytes of the next block.
//   - At the end the accumulators are folded into one, and its lanes into one lane of 128 bits. The
//     CRC32 instruction makes it the CRC register, and takes the bytes that are left.
//
// R11 tells whether to prefetch, and R8, R9 and R10 are the three CRCs.

// AHEAD is how many bytes ahead of cold data a kernel prefetches. This may be behind the end of the
// data, where a prefetch does no harm.
#define AHEAD 1024

// BEGIN loads the arguments.
#define BEGIN                                   \
	MOVL crc+0(FP), AX                      \
	NOTL AX                                 \
	MOVQ p_base+8(FP), SI                   \
	MOVQ p_len+16(FP), CX                   \
	MOVBLZX cold+32(FP), R11

// REST takes the last CX bytes, at SI, and returns the CRC.
#define REST                                    \
	SUBQ   $8, CX                           \
	JB     bytes                            \
words:                                          \
	CRC32Q (SI), AX                         \
	ADDQ   $8, SI                           \
	SUBQ   $8, CX                           \
	JAE    words                            \
bytes:                                          \
	TESTB  $4, CX                           \
	JZ     two                              \
	CRC32L (SI), AX                         \
	ADDQ   $4, SI                           \
two:                                            \
	TESTB  $2, CX                           \
	JZ     last                             \
	CRC32W (SI), AX                         \
	ADDQ   $2, SI                           \
last:                                           \
	TESTB  $1, CX                           \
	JZ     done                             \
	CRC32B (SI), AX                         \
done:                                           \
	NOTL   AX                               \
	MOVL   AX, ret+40(FP)                   \
	RET

// FOLDX folds acc by the row in k, and adds the bytes at data. All registers have 128 bits.
#define FOLDX(k, acc, t, data)                  \
	MOVO acc, t                             \
	PCLMULQDQ $0x11, k, t                   \
	PCLMULQDQ $0x00, k, acc                 \
	PXOR t, acc                             \
	MOVOU data, t                           \
	PXOR t, acc

// MERGEX folds acc by the row in X0 into the register into.
#define MERGEX(acc, t, into)                    \
	MOVO acc, t                             \
	PCLMULQDQ $0x11, X0, t                  \
	PCLMULQDQ $0x00, X0, acc                \
	PXOR t, into                            \
	PXOR acc, into

// START clears the three CRCs.
#define START                                   \
	XORL R8, R8                             \
	XORL R9, R9                             \
	XORL R10, R10

// STEP adds 8 bytes to each of the three CRCs: those at SI+off, SI+off+80 and SI+off+160.
#define STEP(off)                               \
	CRC32Q (off+0)(SI), R8                  \
	CRC32Q (off+80)(SI), R9                 \
	CRC32Q (off+160)(SI), R10

// func updateAVX512(crc uint32, p []byte, cold bool) uint32
TEXT ·updateAVX512(SB), NOSPLIT, $0-44
	BEGIN
	CMPQ CX, $64
	JB rest
	VMOVD AX, X1
	VPXORD (SI), Z1, Z1
	CMPQ CX, $512
	JB one
	VMOVDQU64 64(SI), Z2
	VMOVDQU64 128(SI), Z3
	VMOVDQU64 192(SI), Z4
	VBROADCASTI32X4 ·fold+ROW2048(SB), Z0
	CMPQ CX, $(752+256)
	JB short
	VBROADCASTI32X4 ·fold+ROW3968(SB), Z9
	VMOVDQU ·fold+ROW1280(SB), X10
	VMOVDQU ·fold+ROW640(SB), X11
block:
	START
	TESTB R11, R11
	JZ hot
	PREFETCHT0 (AHEAD+0)(SI)
	PREFETCHT0 (AHEAD+64)(SI)
	PREFETCHT0 (AHEAD+128)(SI)
	PREFETCHT0 (AHEAD+192)(SI)
	PREFETCHT0 (AHEAD+256)(SI)
	PREFETCHT0 (AHEAD+320)(SI)
	PREFETCHT0 (AHEAD+384)(SI)
	PREFETCHT0 (AHEAD+448)(SI)
	PREFETCHT0 (AHEAD+512)(SI)
	PREFETCHT0 (AHEAD+576)(SI)
	PREFETCHT0 (AHEAD+640)(SI)
	PREFETCHT0 (AHEAD+704)(SI)
hot:
	FOLDZ(Z0, Z1, Z5, 256(SI))
	STEP(512)
	STEP(520)
	FOLDZ(Z0, Z2, Z6, 320(SI))
	STEP(528)
	STEP(536)
	FOLDZ(Z0, Z3, Z7, 384(SI))
	STEP(544)
	STEP(552)
	FOLDZ(Z0, Z4, Z8, 448(SI))
	STEP(560)
	STEP(568)
	FOLDZ(Z9, Z1, Z5, 752(SI))
	STEP(576)
	FOLDZ(Z9, Z2, Z6, 816(SI))
	STEP(584)
	FOLDZ(Z9, Z3, Z7, 880(SI))
	FOLDZ(Z9, Z4, Z8, 944(SI))
	VMOVD R8, X5
	VMOVD R9, X6
	VMOVD R10, X7
	VPCLMULQDQ $0x00, X10, X5, X5
	VPCLMULQDQ $0x00, X11, X6, X6
	VPTERNLOGD $0x96, X5, X6, X7
	VPXORQ Z7, Z1, Z1
	ADDQ $752, SI
	SUBQ $752, CX
	CMPQ CX, $(752+256)
	JAE block
short:
	ADDQ $256, SI
	SUBQ $256, CX
	CMPQ CX, $256
	JB merge
four:
	FOLDZ(Z0, Z1, Z5, 0(SI))
	FOLDZ(Z0, Z2, Z6, 64(SI))
	FOLDZ(Z0, Z3, Z7, 128(SI))
	FOLDZ(Z0, Z4, Z8, 192(SI))
	ADDQ $256, SI
	SUBQ $256, CX
	CMPQ CX, $256
	JAE four
merge:
	MERGEZ
	JMP few
one:
	VBROADCASTI32X4 ·fold+ROW512(SB), Z0
	ADDQ $64, SI
	SUBQ $64, CX
few:
	CMPQ CX, $64
	JB lanes
	FOLDZ(Z0, Z1, Z5, 0(SI))
	ADDQ $64, SI
	SUBQ $64, CX
	JMP few
lanes:
	LANESZ
rest:
	REST

// func updateAVX2(crc uint32, p []byte, cold bool) uint32
TEXT ·updateAVX2(SB), NOSPLIT, $0-44
	BEGIN
	CMPQ CX, $64
	JB rest
	VMOVD AX, X1
	VPXOR (SI), Y1, Y1
	CMPQ CX, $256
	JB one
	VMOVDQU 32(SI), Y2
	VMOVDQU 64(SI), Y3
	VMOVDQU 96(SI), Y4
	VBROADCASTI128 ·fold+ROW1024(SB), Y0
	CMPQ CX, $(496+128)
	JB short
	VBROADCASTI128 ·fold+ROW2944(SB), Y9
	VMOVDQU ·fold+ROW1280(SB), X10
	VMOVDQU ·fold+ROW640(SB), X11
block:
	START
	TESTB R11, R11
	JZ hot
	PREFETCHT0 (AHEAD+0)(SI)
	PREFETCHT0 (AHEAD+64)(SI)
	PREFETCHT0 (AHEAD+128)(SI)
	PREFETCHT0 (AHEAD+192)(SI)
	PREFETCHT0 (AHEAD+256)(SI)
	PREFETCHT0 (AHEAD+320)(SI)
	PREFETCHT0 (AHEAD+384)(SI)
	PREFETCHT0 (AHEAD+448)(SI)
hot:
	FOLDY(Y0, Y1, Y5, 128(SI))
	STEP(256)
	STEP(264)
	FOLDY(Y0, Y2, Y6, 160(SI))
	STEP(272)
	STEP(280)
	FOLDY(Y0, Y3, Y7, 192(SI))
	STEP(288)
	STEP(296)
	FOLDY(Y0, Y4, Y8, 224(SI))
	STEP(304)
	STEP(312)
	FOLDY(Y9, Y1, Y5, 496(SI))
	STEP(320)
	FOLDY(Y9, Y2, Y6, 528(SI))
	STEP(328)
	FOLDY(Y9, Y3, Y7, 560(SI))
	FOLDY(Y9, Y4, Y8, 592(SI))
	VMOVD R8, X5
	VMOVD R9, X6
	VMOVD R10, X7
	VPCLMULQDQ $0x00, X10, X5, X5
	VPCLMULQDQ $0x00, X11, X6, X6
	VPXOR X5, X6, X6
	VPXOR X6, X7, X7
	VPXOR Y7, Y1, Y1
	ADDQ $496, SI
	SUBQ $496, CX
	CMPQ CX, $(496+128)
	JAE block
short:
	ADDQ $128, SI
	SUBQ $128, CX
	CMPQ CX, $128
	JB merge
four:
	FOLDY(Y0, Y1, Y5, 0(SI))
	FOLDY(Y0, Y2, Y6, 32(SI))
	FOLDY(Y0, Y3, Y7, 64(SI))
	FOLDY(Y0, Y4, Y8, 96(SI))
	ADDQ $128, SI
	SUBQ $128, CX
	CMPQ CX, $128
	JAE four
merge:
	MERGEY
	JMP few
one:
	VBROADCASTI128 ·fold+ROW256(SB), Y0
	ADDQ $32, SI
	SUBQ $32, CX
few:
	CMPQ CX, $32
	JB lanes
	FOLDY(Y0, Y1, Y5, 0(SI))
	ADDQ $32, SI
	SUBQ $32, CX
	JMP few
lanes:
	LANESY
rest:
	REST

// func updateSSE(crc uint32, p []byte, cold bool) uint32
TEXT ·updateSSE(SB), NOSPLIT, $0-44
	BEGIN
	CMPQ CX, $256
	JB rest
	MOVL AX, X0
	MOVOU 0(SI), X1
	MOVOU 16(SI), X2
	MOVOU 32(SI), X3
	MOVOU 48(SI), X4
	PXOR X0, X1
	MOVOU ·fold+ROW512(SB), X0
	CMPQ CX, $(368+64)
	JB short
	MOVOU ·fold+ROW2432(SB), X9
	MOVOU ·fold+ROW1280(SB), X10
	MOVOU ·fold+ROW640(SB), X11
block:
	START
	TESTB R11, R11
	JZ hot
	PREFETCHT0 (AHEAD+0)(SI)
	PREFETCHT0 (AHEAD+64)(SI)
	PREFETCHT0 (AHEAD+128)(SI)
	PREFETCHT0 (AHEAD+192)(SI)
	PREFETCHT0 (AHEAD+256)(SI)
	PREFETCHT0 (AHEAD+320)(SI)
hot:
	FOLDX(X0, X1, X5, 64(SI))
	STEP(128)
	STEP(136)
	FOLDX(X0, X2, X6, 80(SI))
	STEP(144)
	STEP(152)
	FOLDX(X0, X3, X7, 96(SI))
	STEP(160)
	STEP(168)
	FOLDX(X0, X4, X8, 112(SI))
	STEP(176)
	STEP(184)
	FOLDX(X9, X1, X5, 368(SI))
	STEP(192)
	FOLDX(X9, X2, X6, 384(SI))
	STEP(200)
	FOLDX(X9, X3, X7, 400(SI))
	FOLDX(X9, X4, X8, 416(SI))
	MOVL R8, X5
	MOVL R9, X6
	MOVL R10, X7
	PCLMULQDQ $0x00, X10, X5
	PCLMULQDQ $0x00, X11, X6
	PXOR X5, X7
	PXOR X6, X7
	PXOR X7, X1
	ADDQ $368, SI
	SUBQ $368, CX
	CMPQ CX, $(368+64)
	JAE block
short:
	ADDQ $64, SI
	SUBQ $64, CX
	CMPQ CX, $64
	JB merge
four:
	FOLDX(X0, X1, X5, 0(SI))
	FOLDX(X0, X2, X6, 16(SI))
	FOLDX(X0, X3, X7, 32(SI))
	FOLDX(X0, X4, X8, 48(SI))
	ADDQ $64, SI
	SUBQ $64, CX
	CMPQ CX, $64
	JAE four
merge:
	MOVOU ·fold+ROW384(SB), X0
	MERGEX(X1, X5, X4)
	MOVOU ·fold+ROW256(SB), X0
	MERGEX(X2, X6, X4)
	MOVOU ·fold+ROW128(SB), X0
	MERGEX(X3, X7, X4)
	MOVQ X4, R8
	PEXTRQ $1, X4, R9
	XORL AX, AX
	CRC32Q R8, AX
	CRC32Q R9, AX
rest:
	REST
