#include "go_asm.h"
#include "textflag.h"

// func framePCs(pcs *[maxFrames]uintptr)
//
// It is all in assembly, and calls nothing, so that the stack cannot move
// meanwhile. A frame pointer that does not lead upwards, or leads far, is the
// end: C called Go there, or there is no more.
TEXT ·framePCs(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ pcs+0(FP), DI
	MOVQ SP, BX
	LEAQ 262144(BX), DX
	MOVQ BP, SI
	XORQ CX, CX

next:
	CMPQ CX, $const_maxFrames
	JGE  done
	CMPQ SI, BX
	JLS  done
	CMPQ SI, DX
	JHI  done
	MOVQ 8(SI), AX
	MOVQ AX, (DI)(CX*8)
	INCQ CX
	MOVQ SI, BX
	MOVQ (SI), SI
	JMP  next

done:
	RET
