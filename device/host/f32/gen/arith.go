package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Arithmetic on one register, with the operands in the order of the formula. Products and sums are rounded
// separately: unlike the micro-kernels, these routines give the same bits on the portable path.

func (r routine) add(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual) { r.file.VADDPS(b, a, dst) }
func (r routine) sub(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual) { r.file.VSUBPS(b, a, dst) }
func (r routine) mul(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual) { r.file.VMULPS(b, a, dst) }
func (r routine) div(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual) { r.file.VDIVPS(b, a, dst) }

// max is a > b ? a : b.
func (r routine) max(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual) { r.file.VMAXPS(b, a, dst) }

// min is a < b ? a : b.
func (r routine) min(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual) { r.file.VMINPS(b, a, dst) }

func (r routine) and(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual) { r.file.VANDPS(b, a, dst) }
func (r routine) or(a reg.VecVirtual, b operand.Op, dst reg.VecVirtual)  { r.file.VORPS(b, a, dst) }

// constant loads a constant into a register.
func (r routine) constant(m operand.Mem) reg.VecVirtual {
	v := r.vec()
	r.file.VMOVUPS(m, v)
	return v
}

// Comparison predicates.
const (
	notLess = 0x15 // true for NaN
	less    = 0x11 // false for NaN, as the next two
	greater = 0x1e
	equal   = 0x00
)

// compare returns a mask of the lanes where a PREDICATE b holds.
func (r routine) compare(predicate int, a reg.VecVirtual, b operand.Op) operand.Op {
	if r.lanes == 16 {
		k := r.file.K()
		r.file.VCMPPS(operand.U8(predicate), b, a, k)
		return k
	}
	v := r.vec()
	r.file.VCMPPS(operand.U8(predicate), b, a, v)
	return v
}

// only zeroes the lanes of v outside the mask.
func (r routine) only(mask operand.Op, v reg.VecVirtual) {
	if r.lanes == 16 {
		r.file.VMOVAPS_Z(v, mask, v)
	} else {
		r.file.VANDPS(mask, v, v)
	}
}

// pick is mask ? a : b.
func (r routine) pick(mask operand.Op, a, b, dst reg.VecVirtual) {
	if r.lanes == 16 {
		r.file.VBLENDMPS(a, b, mask, dst)
	} else {
		r.file.VBLENDVPS(mask, a, b, dst)
	}
}

// join reduces a block to one value in every lane: op of lanes l and l+8, then l and l+4, l+2, l+1.
func (r routine) join(b []reg.VecVirtual, op func(a, b, dst operand.Op)) reg.VecVirtual {
	y := r.file.YMM()
	if r.lanes == 16 {
		r.file.VEXTRACTF64X4(operand.U8(1), b[0], y)
		op(b[0].AsY(), y, y)
	} else {
		op(b[0], b[1], y)
	}
	x := r.file.XMM()
	r.file.VEXTRACTF128(operand.U8(1), y, x)
	op(y.AsX(), x, x)
	t := r.file.XMM()
	r.file.VPERMILPS(operand.U8(0x0e), x, t) // lanes 2 and 3
	op(x, t, x)
	r.file.VPERMILPS(operand.U8(0x01), x, t) // lane 1
	op(x, t, x)
	out := r.vec()
	r.file.VBROADCASTSS(x, out)
	return out
}

func (r routine) joinSum(b []reg.VecVirtual) reg.VecVirtual {
	return r.join(b, func(a, b, dst operand.Op) { r.file.VADDPS(b, a, dst) })
}

func (r routine) joinMax(b []reg.VecVirtual) reg.VecVirtual {
	return r.join(b, func(a, b, dst operand.Op) { r.file.VMAXPS(b, a, dst) })
}

// toFloat returns an integer as a float32 in every lane.
func (r routine) toFloat(n reg.Register) reg.VecVirtual {
	x := r.file.XMM()
	r.file.VXORPS(x, x, x)
	r.file.VCVTSI2SSQ(n, x, x)
	out := r.vec()
	r.file.VBROADCASTSS(x, out)
	return out
}

// rowLoop emits body rows times; body must advance the pointers.
func (r routine) rowLoop(rows reg.Register, body func()) {
	loop, done := r.label("row"), r.label("rows")
	r.file.Label(loop)
	r.file.TESTQ(rows, rows)
	r.file.JZ(operand.LabelRef(done))
	body()
	r.file.DECQ(rows)
	r.file.JMP(operand.LabelRef(loop))
	r.file.Label(done)
}

// advance moves a pointer by n float32 values.
func (r routine) advance(p, n reg.Register) {
	r.file.LEAQ(operand.Mem{Base: p, Index: n, Scale: 4}, p)
}
