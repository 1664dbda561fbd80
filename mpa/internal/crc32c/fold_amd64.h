// This file has what the kernels for amd64 share. All of them use these registers:
//
//	AX  CRC register, which is the inverted CRC
//	SI  next byte
//	CX  number of bytes left

#include "fold.h"

// FOLDY folds the 256-bit register acc by the rows in k, and adds the bytes at data.
#define FOLDY(k, acc, t, data)                  \
	VPCLMULQDQ $0x11, k, acc, t             \
	VPCLMULQDQ $0x00, k, acc, acc           \
	VPXOR data, t, t                        \
	VPXOR t, acc, acc

// FOLDZ folds the 512-bit register acc by the rows in k, and adds the bytes at data.
#define FOLDZ(k, acc, t, data)                  \
	VPCLMULQDQ $0x11, k, acc, t             \
	VPCLMULQDQ $0x00, k, acc, acc           \
	VPTERNLOGD $0x96, data, t, acc

// MERGEY folds Y1, Y2, Y3 and Y4, which hold 128 bytes in this order, into Y1. It leaves row 256 in
// Y0.
#define MERGEY                                  \
	VBROADCASTI128 ·fold+ROW768(SB), Y0     \
	FOLDY(Y0, Y1, Y5, Y4)                   \
	VBROADCASTI128 ·fold+ROW512(SB), Y0     \
	FOLDY(Y0, Y2, Y6, Y1)                   \
	VBROADCASTI128 ·fold+ROW256(SB), Y0     \
	FOLDY(Y0, Y3, Y7, Y2)                   \
	VMOVDQA Y3, Y1

// MERGEZ folds Z1, Z2, Z3 and Z4, which hold 256 bytes in this order, into Z1. It leaves row 512 in
// Z0.
#define MERGEZ                                  \
	VBROADCASTI32X4 ·fold+ROW1536(SB), Z0   \
	FOLDZ(Z0, Z1, Z5, Z4)                   \
	VBROADCASTI32X4 ·fold+ROW1024(SB), Z0   \
	FOLDZ(Z0, Z2, Z6, Z1)                   \
	VBROADCASTI32X4 ·fold+ROW512(SB), Z0    \
	FOLDZ(Z0, Z3, Z7, Z2)                   \
	VMOVDQA64 Z3, Z1

// LANESY sets AX to the CRC register after the lanes of Y1.
#define LANESY                                  \
	VMOVDQU ·fold+ROW128(SB), Y0            \
	VEXTRACTI128 $1, Y1, X2                 \
	FOLDY(Y0, Y1, Y3, Y2)                   \
	LAST

// LANESZ sets AX to the CRC register after the lanes of Z1. The row of the last lane is zero.
#define LANESZ                                  \
	VMOVDQU64 ·fold+ROW384(SB), Z0          \
	VEXTRACTI32X4 $3, Z1, X2                \
	VPCLMULQDQ $0x11, Z0, Z1, Z3            \
	VPCLMULQDQ $0x00, Z0, Z1, Z1            \
	VPXORQ Z3, Z1, Z1                       \
	VEXTRACTI64X4 $1, Z1, Y3                \
	VPXOR Y3, Y1, Y1                        \
	VEXTRACTI128 $1, Y1, X3                 \
	VPTERNLOGD $0x96, X3, X2, X1            \
	LAST

// LAST sets AX to the CRC register after the lane X1.
#define LAST                                    \
	VMOVQ X1, R8                            \
	VPEXTRQ $1, X1, R9                      \
	XORL AX, AX                             \
	CRC32Q R8, AX                           \
	CRC32Q R9, AX                           \
	VZEROUPPER
