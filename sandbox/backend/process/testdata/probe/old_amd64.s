#include "textflag.h"

// func oldCall(number int64) int64
TEXT ·oldCall(SB), NOSPLIT, $0-16
	MOVQ	number+0(FP), AX
	XORQ	BX, BX
	XORQ	CX, CX
	XORQ	DX, DX
	INT	$0x80
	MOVLQSX	AX, AX
	MOVQ	AX, ret+8(FP)
	RET
