package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// emitTranspose emits the packing of eight rows of a transposed B: four columns of them a turn, rows 0 to 3 in the
// lower halves of the registers and rows 4 to 7 in the upper ones.
func emitTranspose(c *build.Context) {
	c.Function("transpose8AVX")
	c.Attributes(attr.NOSPLIT)
	c.Doc("transpose8AVX sets dst[p*ldd+c] to src[c*lds+p] for c < 8 and p < k; k is a multiple of 4.")
	c.SignatureExpr("func(dst []float32, ldd int, src []float32, lds, k int)")
	src := steps(c, "src", "lds")
	dst := steps(c, "dst", "ldd")
	upper := c.GP64()
	c.LEAQ(operand.Mem{Base: src.base, Index: src.one, Scale: 4}, upper)
	k := c.Load(c.Param("k"), c.GP64())
	c.Label("loop")
	c.SUBQ(operand.U8(4), k)
	c.JLT(operand.LabelRef("done"))
	var rows [4]reg.VecVirtual
	for i := range rows {
		rows[i] = c.YMM()
		c.VMOVUPS(src.at(src.base, i), rows[i].AsX())
		c.VINSERTF128(operand.U8(1), src.at(upper, i), rows[i], rows[i])
	}
	var pairs [4]reg.VecVirtual // elements 0 and 1 of rows 0 and 1, 2 and 3 of these, and the same of rows 2 and 3
	for i := range pairs {
		pairs[i] = c.YMM()
	}
	for i := range 2 {
		c.VUNPCKLPS(rows[2*i+1], rows[2*i], pairs[2*i])
		c.VUNPCKHPS(rows[2*i+1], rows[2*i], pairs[2*i+1])
	}
	for p := range 4 {
		out := c.YMM()
		if p%2 == 0 {
			c.VUNPCKLPD(pairs[2+p/2], pairs[p/2], out)
		} else {
			c.VUNPCKHPD(pairs[2+p/2], pairs[p/2], out)
		}
		c.VMOVUPS(out, dst.at(dst.base, p))
	}
	c.ADDQ(operand.U8(16), src.base)
	c.ADDQ(operand.U8(16), upper)
	c.LEAQ(operand.Mem{Base: dst.base, Index: dst.one, Scale: 4}, dst.base)
	c.JMP(operand.LabelRef("loop"))
	c.Label("done")
	c.VZEROUPPER()
	c.RET()
}

// stride reaches four rows from a pointer.
type stride struct{ base, one, three reg.Register }

// steps loads a slice argument and the distance between its rows.
func steps(c *build.Context, slice, ld string) stride {
	s := stride{c.Load(c.Param(slice).Base(), c.GP64()), c.Load(c.Param(ld), c.GP64()), c.GP64()}
	c.SHLQ(operand.U8(2), s.one)
	c.LEAQ(operand.Mem{Base: s.one, Index: s.one, Scale: 2}, s.three)
	return s
}

// at is the address i rows, at most three, from p.
func (s stride) at(p reg.Register, i int) operand.Mem {
	switch i {
	case 0:
		return operand.Mem{Base: p}
	case 3:
		return operand.Mem{Base: p, Index: s.three, Scale: 1}
	}
	return operand.Mem{Base: p, Index: s.one, Scale: uint8(i)}
}
