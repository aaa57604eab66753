#include "textflag.h"

// The bytes of two floats of eight bytes each, turned around.
DATA turned<>+0(SB)/8, $0x0001020304050607
DATA turned<>+8(SB)/8, $0x08090a0b0c0d0e0f
DATA turned<>+16(SB)/8, $0x0001020304050607
DATA turned<>+24(SB)/8, $0x08090a0b0c0d0e0f
GLOBL turned<>(SB), RODATA|NOPTR, $32

// The first bytes of two elements of nine bytes each, and a mask of them.
DATA firsts<>+0(SB)/8, $0x00000000000000fb
DATA firsts<>+8(SB)/8, $0x000000000000fb00
GLOBL firsts<>(SB), RODATA|NOPTR, $16
DATA onlyFirsts<>+0(SB)/8, $0x00000000000000ff
DATA onlyFirsts<>+8(SB)/8, $0x000000000000ff00
GLOBL onlyFirsts<>(SB), RODATA|NOPTR, $16

// FOUR reads the next four elements at SI into Y1, and gathers in X13 how their first bytes differ from those of
// floats. Nothing behind the 36 bytes is read. What lies a page of the store ahead is fetched meanwhile: a scan measures
// it soon, and a processor does not go on fetching across pages by itself. An address that is not mapped does no harm.
#define FOUR \
	PREFETCHT0  4096(SI)             \
	VMOVQ       1(SI), X1            \
	VPINSRQ     $1, 10(SI), X1, X1   \
	VMOVQ       19(SI), X2           \
	VPINSRQ     $1, 28(SI), X2, X2   \
	VINSERTI128 $1, X2, Y1, Y1       \
	VPSHUFB     Y15, Y1, Y1          \
	VPXOR       (SI), X14, X3        \
	VPXOR       18(SI), X14, X4      \
	VPOR        X3, X13, X13         \
	VPOR        X4, X13, X13

// func squaresAVX2(sums *[4]float64, packed *byte, query *float64, turns int) (other uint64)
//
// A product and a sum stay two roundings, and each sum takes the elements that it takes in squares, in the same order:
// the bits are those that the Go code gives.
TEXT ·squaresAVX2(SB), NOSPLIT, $0-40
	MOVQ    sums+0(FP), AX
	MOVQ    packed+8(FP), SI
	MOVQ    query+16(FP), DI
	MOVQ    turns+24(FP), CX
	VMOVDQU turned<>(SB), Y15
	VMOVDQU firsts<>(SB), X14
	VPXOR   X13, X13, X13
	VXORPD  Y0, Y0, Y0

squares:
	FOUR
	VSUBPD (DI), Y1, Y1
	VMULPD Y1, Y1, Y1
	VADDPD Y1, Y0, Y0
	ADDQ   $36, SI
	ADDQ   $32, DI
	DECQ   CX
	JNZ    squares

	VMOVUPD Y0, (AX)
	VPAND   onlyFirsts<>(SB), X13, X13
	VPSRLDQ $8, X13, X3
	VPOR    X3, X13, X13
	VMOVQ   X13, AX
	MOVQ    AX, other+32(FP)
	VZEROUPPER
	RET

// func productsAVX2(both, own *[4]float64, packed *byte, query *float64, turns int) (other uint64)
//
// The bits are those that products gives, as above.
TEXT ·productsAVX2(SB), NOSPLIT, $0-48
	MOVQ    both+0(FP), AX
	MOVQ    own+8(FP), BX
	MOVQ    packed+16(FP), SI
	MOVQ    query+24(FP), DI
	MOVQ    turns+32(FP), CX
	VMOVDQU turned<>(SB), Y15
	VMOVDQU firsts<>(SB), X14
	VPXOR   X13, X13, X13
	VXORPD  Y0, Y0, Y0
	VXORPD  Y5, Y5, Y5

products:
	FOUR
	VMULPD (DI), Y1, Y6
	VMULPD Y1, Y1, Y1
	VADDPD Y6, Y0, Y0
	VADDPD Y1, Y5, Y5
	ADDQ   $36, SI
	ADDQ   $32, DI
	DECQ   CX
	JNZ    products

	VMOVUPD Y0, (AX)
	VMOVUPD Y5, (BX)
	VPAND   onlyFirsts<>(SB), X13, X13
	VPSRLDQ $8, X13, X3
	VPOR    X3, X13, X13
	VMOVQ   X13, AX
	MOVQ    AX, other+40(FP)
	VZEROUPPER
	RET
