#include "textflag.h"
#include "fold.h"

// The kernel has the shape of those in update_amd64.s, without the three CRCs beside the folding.
// It uses these registers:
//
//	R0  CRC register, which is the inverted CRC
//	R1  next byte
//	R2  number of bytes left
//	R4  fold
//	V0  a row of fold

// FOLD folds acc by V0 and adds data.
#define FOLD(acc, t, data)                      \
	VPMULL2 V0.D2, acc.D2, t.Q1             \
	VPMULL  V0.D1, acc.D1, acc.Q1           \
	VEOR    data.B16, t.B16, t.B16          \
	VEOR    t.B16, acc.B16, acc.B16

// ROW loads the row of fold at that offset.
#define ROW(offset)                             \
	ADD  $offset, R4, R5                    \
	VLD1 (R5), [V0.B16]

// func updatePMULL(crc uint32, p []byte) uint32
TEXT ·updatePMULL(SB), NOSPLIT, $0-36
	MOVWU  crc+0(FP), R0
	MVNW   R0, R0
	MOVD   p_base+8(FP), R1
	MOVD   p_len+16(FP), R2
	CMP    $256, R2
	BLO    rest
	MOVD   $·fold(SB), R4
	VLD1.P 64(R1), [V1.B16, V2.B16, V3.B16, V4.B16]
	VLD1.P 64(R1), [V5.B16, V6.B16, V7.B16, V8.B16]
	VEOR   V9.B16, V9.B16, V9.B16
	VMOV   R0, V9.S[0]
	VEOR   V9.B16, V1.B16, V1.B16
	ROW(ROW1024)
	SUB    $128, R2, R2
eight:
	VLD1.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1.P 64(R1), [V20.B16, V21.B16, V22.B16, V23.B16]
	FOLD(V1, V24, V16)
	FOLD(V2, V25, V17)
	FOLD(V3, V26, V18)
	FOLD(V4, V27, V19)
	FOLD(V5, V28, V20)
	FOLD(V6, V29, V21)
	FOLD(V7, V30, V22)
	FOLD(V8, V31, V23)
	SUB    $128, R2, R2
	CMP    $128, R2
	BHS    eight

	ROW(ROW512)
	FOLD(V1, V24, V5)
	FOLD(V2, V25, V6)
	FOLD(V3, V26, V7)
	FOLD(V4, V27, V8)
	ROW(ROW384)
	FOLD(V1, V24, V4)
	ROW(ROW256)
	FOLD(V2, V25, V1)
	ROW(ROW128)
	FOLD(V3, V26, V2)
	VMOV   V3.D[0], R5
	VMOV   V3.D[1], R6
	MOVW   ZR, R0
	CRC32CX R5, R0
	CRC32CX R6, R0
rest:
	SUBS   $8, R2, R2
	BLO    bytes
words:
	MOVD.P 8(R1), R5
	CRC32CX R5, R0
	SUBS   $8, R2, R2
	BHS    words
bytes:
	TBZ    $2, R2, two
	MOVWU.P 4(R1), R5
	CRC32CW R5, R0
two:
	TBZ    $1, R2, last
	MOVHU.P 2(R1), R5
	CRC32CH R5, R0
last:
	TBZ    $0, R2, done
	MOVBU  (R1), R5
	CRC32CB R5, R0
done:
	MVNW   R0, R0
	MOVW   R0, ret+32(FP)
	RET
