#include "textflag.h"

// func tile8(c0, c1, a, b0, b1 *float32, depth int)
//
// It uses SSE2 alone, which every amd64 processor has. A product and a sum stay two roundings: each element has the bits
// that the Go code gives.
TEXT ·tile8(SB), NOSPLIT, $0-48
	MOVQ c0+0(FP), DI
	MOVQ c1+8(FP), SI
	MOVQ a+16(FP), AX
	MOVQ b0+24(FP), BX
	MOVQ b1+32(FP), CX
	MOVQ depth+40(FP), DX
	MOVUPS (DI), X0
	MOVUPS 16(DI), X1
	MOVUPS (SI), X2
	MOVUPS 16(SI), X3
	TESTQ DX, DX
	JLE  done

loop:
	MOVUPS (BX), X4
	MOVUPS (CX), X5
	MOVSS  (AX), X6
	SHUFPS $0, X6, X6
	MOVSS  4(AX), X7
	SHUFPS $0, X7, X7
	MOVAPS X4, X8
	MOVAPS X5, X9
	MULPS  X6, X8
	MULPS  X6, X9
	MULPS  X7, X4
	MULPS  X7, X5
	ADDPS  X8, X0
	ADDPS  X9, X1
	ADDPS  X4, X2
	ADDPS  X5, X3
	ADDQ   $16, BX
	ADDQ   $16, CX
	ADDQ   $8, AX
	DECQ   DX
	JNE    loop

done:
	MOVUPS X0, (DI)
	MOVUPS X1, 16(DI)
	MOVUPS X2, (SI)
	MOVUPS X3, 16(SI)
	RET
