#include "textflag.h"

// func fetchAhead(p *byte, n uint64)
//
// A cache line has 64 bytes. An address that is not mapped, or cannot be read, does no harm.
TEXT ·fetchAhead(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
	SHRQ $6, CX
	JZ   done

line:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	DECQ       CX
	JNZ        line

done:
	RET
