#include "textflag.h"

// func squaresAVX(sums *[4][4]float32, v *float32, at *[4]*float32, from, turns int)
//
// A product and a sum stay two roundings, and each sum takes the elements that it takes in euclidean, in the same
// order: the bits are those that the Go code gives. Four vectors at once keep the adders busy, where one has to wait for
// each sum.
TEXT ·squaresAVX(SB), NOSPLIT, $0-40
	MOVQ    sums+0(FP), AX
	MOVQ    v+8(FP), SI
	MOVQ    at+16(FP), BX
	MOVQ    from+24(FP), DX
	MOVQ    turns+32(FP), CX
	SHLQ    $2, DX
	MOVQ    (BX), R8
	MOVQ    8(BX), R9
	MOVQ    16(BX), R10
	MOVQ    24(BX), R11
	VMOVUPS (AX), X0
	VMOVUPS 16(AX), X1
	VMOVUPS 32(AX), X2
	VMOVUPS 48(AX), X3

squares:
	VMOVUPS (SI)(DX*1), X4
	VSUBPS  (R8)(DX*1), X4, X5
	VSUBPS  (R9)(DX*1), X4, X6
	VSUBPS  (R10)(DX*1), X4, X7
	VSUBPS  (R11)(DX*1), X4, X8
	VMULPS  X5, X5, X5
	VMULPS  X6, X6, X6
	VMULPS  X7, X7, X7
	VMULPS  X8, X8, X8
	VADDPS  X5, X0, X0
	VADDPS  X6, X1, X1
	VADDPS  X7, X2, X2
	VADDPS  X8, X3, X3
	ADDQ    $16, DX
	DECQ    CX
	JNZ     squares

	VMOVUPS X0, (AX)
	VMOVUPS X1, 16(AX)
	VMOVUPS X2, 32(AX)
	VMOVUPS X3, 48(AX)
	RET

// func productsAVX(sums *[4][4]float32, v *float32, at *[4]*float32, from, turns int)
//
// The bits are those that dot gives, as above.
TEXT ·productsAVX(SB), NOSPLIT, $0-40
	MOVQ    sums+0(FP), AX
	MOVQ    v+8(FP), SI
	MOVQ    at+16(FP), BX
	MOVQ    from+24(FP), DX
	MOVQ    turns+32(FP), CX
	SHLQ    $2, DX
	MOVQ    (BX), R8
	MOVQ    8(BX), R9
	MOVQ    16(BX), R10
	MOVQ    24(BX), R11
	VMOVUPS (AX), X0
	VMOVUPS 16(AX), X1
	VMOVUPS 32(AX), X2
	VMOVUPS 48(AX), X3

products:
	VMOVUPS (SI)(DX*1), X4
	VMULPS  (R8)(DX*1), X4, X5
	VMULPS  (R9)(DX*1), X4, X6
	VMULPS  (R10)(DX*1), X4, X7
	VMULPS  (R11)(DX*1), X4, X8
	VADDPS  X5, X0, X0
	VADDPS  X6, X1, X1
	VADDPS  X7, X2, X2
	VADDPS  X8, X3, X3
	ADDQ    $16, DX
	DECQ    CX
	JNZ     products

	VMOVUPS X0, (AX)
	VMOVUPS X1, 16(AX)
	VMOVUPS X2, 32(AX)
	VMOVUPS X3, 48(AX)
	RET

// func fetch(v *float32, lines int)
TEXT ·fetch(SB), NOSPLIT, $0-16
	MOVQ v+0(FP), SI
	MOVQ lines+8(FP), CX

lines:
	PREFETCHT0 (SI)
	ADDQ       $64, SI
	DECQ       CX
	JNZ        lines
	RET
