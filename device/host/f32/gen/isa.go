package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is one instruction set that routines are emitted for.
type isa struct {
	*build.Context
	suffix string // appended to function names
	lanes  int    // float32 lanes of a register: 4, 8 or 16
}

// isas returns the instruction sets with a fused multiply-add, emitting into c.
func isas(c *build.Context) []isa {
	return []isa{{c, "AVX2", 8}, {c, "AVX512", 16}}
}

// baseline returns the instruction set that every amd64 CPU has. It is used for the micro-kernels only.
func baseline(c *build.Context) isa { return isa{c, "SSE", 4} }

// bytes is the size of a register.
func (g isa) bytes() int { return 4 * g.lanes }

// vec returns a fresh register of the set's full width.
func (g isa) vec() reg.VecVirtual {
	switch g.lanes {
	case 16:
		return g.ZMM()
	case 8:
		return g.YMM()
	}
	return g.XMM()
}

// clear sets r to zero.
func (g isa) clear(r reg.VecVirtual) {
	switch g.lanes {
	case 16:
		g.VPXORD(r, r, r)
	case 8:
		g.VXORPS(r, r, r)
	default:
		g.XORPS(r, r)
	}
}

// move loads or stores a whole register.
func (g isa) move(from, to operand.Op) {
	if g.lanes == 4 {
		g.MOVUPS(from, to)
	} else {
		g.VMOVUPS(from, to)
	}
}

// broadcast sets every lane of r to the value at m.
func (g isa) broadcast(m operand.Mem, r reg.VecVirtual) {
	if g.lanes == 4 {
		g.MOVSS(m, r)
		g.SHUFPS(operand.U8(0), r, r)
	} else {
		g.VBROADCASTSS(m, r)
	}
}

// mulAdd is acc += a*b, rounded once where the set has a fused multiply-add and twice where not.
func (g isa) mulAdd(a, b, acc reg.VecVirtual) {
	if g.lanes == 4 {
		t := g.vec()
		g.MOVAPS(a, t)
		g.MULPS(b, t)
		g.ADDPS(t, acc)
	} else {
		g.VFMADD231PS(a, b, acc)
	}
}

// accumulate is acc += x.
func (g isa) accumulate(x, acc reg.VecVirtual) {
	if g.lanes == 4 {
		g.ADDPS(x, acc)
	} else {
		g.VADDPS(x, acc, acc)
	}
}

// relu is x = 0 > x ? 0 : x, so that a NaN and a negative zero stay.
func (g isa) relu(zero, x reg.VecVirtual) {
	if g.lanes == 4 {
		t := g.vec()
		g.MOVAPS(zero, t)
		g.MAXPS(x, t)
		g.MOVAPS(t, x)
	} else {
		g.VMAXPS(x, zero, x)
	}
}

// leave returns from the routine.
func (g isa) leave() {
	if g.lanes > 4 {
		g.VZEROUPPER()
	}
	g.RET()
}
