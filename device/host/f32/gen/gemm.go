package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Bits of the mode argument; package f32 declares the same.
const (
	modeLoad = 1 << iota
	modeBias
	modeReLU
)

// A shape is one size of register tile: rows by vecs registers.
type shape struct {
	rows, vecs int
}

// tiles lists the register tiles of a set. The first of each width is the main one; the others finish the last rows.
func tiles(g isa) []shape {
	if g.lanes == 16 {
		return []shape{
			{14, 2}, {8, 2}, {4, 2}, {2, 2}, {1, 2},
			{14, 1}, {8, 1}, {4, 1}, {3, 1}, {2, 1}, {1, 1},
		}
	}
	return []shape{{6, 2}, {4, 2}, {3, 2}, {2, 2}, {1, 2}}
}

func emitGemm(c *build.Context) {
	for _, g := range append(isas(c), baseline(c)) {
		for _, s := range tiles(g) {
			gemm{isa: g, shape: s, col: false}.emit()
			gemm{isa: g, shape: s, col: true}.emit()
		}
	}
}

// gemm is one micro-kernel.
type gemm struct {
	isa
	shape
	col bool // element (i, p) of A is at a[p*lda+i] instead of a[i*lda+p]
}

const rowsPerBase = 3 // rows one pointer reaches: base, base+lda, base+2*lda

func (g gemm) emit() {
	layout, index := "Row", "a[i*lda+p]"
	if g.col {
		layout, index = "Col", "a[p*lda+i]"
	}
	name := fmt.Sprintf("gemm%s%dx%d%s", layout, g.rows, g.vecs*g.lanes, g.suffix)
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.Doc(fmt.Sprintf("%s updates a %dx%d tile of C: see gemmFunc; A(i,p) is %s.", name, g.rows, g.vecs*g.lanes, index))
	g.SignatureExpr("func(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int)")
	acc := make([][]reg.VecVirtual, g.rows)
	for i := range acc {
		for range g.vecs {
			acc[i] = append(acc[i], g.vec())
		}
	}
	g.begin(acc)
	g.loop(acc)
	g.finish(acc)
	g.leave()
}

// begin sets the tile to C's old values, or to zero.
func (g gemm) begin(acc [][]reg.VecVirtual) {
	mode := g.Load(g.Param("mode"), g.GP64())
	g.TESTQ(operand.U32(modeLoad), mode)
	g.JZ(operand.LabelRef("zero"))
	g.eachRow(func(i int, row reg.Register) {
		for v, r := range acc[i] {
			g.move(operand.Mem{Base: row, Disp: v * g.bytes()}, r)
		}
	})
	g.JMP(operand.LabelRef("start"))
	g.Label("zero")
	for _, row := range acc {
		for _, r := range row {
			g.clear(r)
		}
	}
	g.Label("start")
}

// eachRow walks the rows of the tile in C.
func (g gemm) eachRow(visit func(i int, row reg.Register)) {
	row := g.Load(g.Param("c").Base(), g.GP64())
	ldc := g.Load(g.Param("ldc"), g.GP64())
	for i := range g.rows {
		visit(i, row)
		if i+1 < g.rows {
			g.LEAQ(operand.Mem{Base: row, Index: ldc, Scale: 4}, row)
		}
	}
}

// loop adds the k products, one multiply-add an element and step.
func (g gemm) loop(acc [][]reg.VecVirtual) {
	k := g.Load(g.Param("k"), g.GP64())
	g.TESTQ(k, k)
	g.JZ(operand.LabelRef("done"))
	lda := g.Load(g.Param("lda"), g.GP64())
	g.SHLQ(operand.U8(2), lda)
	ldb := g.Load(g.Param("ldb"), g.GP64())
	g.SHLQ(operand.U8(2), ldb)
	bases := g.bases(lda)
	b := g.Load(g.Param("b").Base(), g.GP64())
	g.Label("loop")
	bv := make([]reg.VecVirtual, g.vecs)
	for v := range bv {
		bv[v] = g.vec()
		g.move(operand.Mem{Base: b, Disp: v * g.bytes()}, bv[v])
	}
	if g.col && g.lanes > 4 {
		g.prefetch(bases[0], lda, b, ldb)
	}
	av := g.vec()
	for i := range acc {
		g.broadcast(g.element(bases, lda, i), av)
		for v, r := range acc[i] {
			g.mulAdd(bv[v], av, r)
		}
	}
	g.ADDQ(ldb, b)
	for _, base := range bases {
		if g.col {
			g.ADDQ(lda, base)
		} else {
			g.ADDQ(operand.U8(4), base)
		}
	}
	g.DECQ(k)
	g.JNZ(operand.LabelRef("loop"))
	g.Label("done")
}

// prefetch asks for the lines of A and B of the eighth step from here. A col kernel walks both by rows, too far apart
// for the CPU to foresee.
func (g gemm) prefetch(a, lda, b, ldb reg.Register) {
	g.PREFETCHT0(operand.Mem{Base: a, Index: lda, Scale: 8})
	for v := range (g.vecs*g.bytes() + 63) / 64 {
		g.PREFETCHT0(operand.Mem{Base: b, Index: ldb, Scale: 8, Disp: 64 * v})
	}
}

// bases returns the pointers from which element reaches every row of A.
func (g gemm) bases(lda reg.Register) []reg.Register {
	list := []reg.Register{g.Load(g.Param("a").Base(), g.GP64())}
	if g.col {
		return list
	}
	for i := rowsPerBase; i < g.rows; i += rowsPerBase {
		next := g.GP64()
		g.LEAQ(operand.Mem{Base: list[len(list)-1], Index: lda, Scale: 2}, next)
		g.ADDQ(lda, next)
		list = append(list, next)
	}
	return list
}

// element is the address of A(i, p) at the current p.
func (g gemm) element(bases []reg.Register, lda reg.Register, i int) operand.Mem {
	if g.col {
		return operand.Mem{Base: bases[0], Disp: 4 * i}
	}
	m := operand.Mem{Base: bases[i/rowsPerBase]}
	if s := i % rowsPerBase; s > 0 {
		m.Index, m.Scale = lda, uint8(s)
	}
	return m
}

// finish adds the bias, applies ReLU and stores the tile.
func (g gemm) finish(acc [][]reg.VecVirtual) {
	mode := g.Load(g.Param("mode"), g.GP64())
	g.TESTQ(operand.U32(modeBias), mode)
	g.JZ(operand.LabelRef("relu"))
	bias := g.Load(g.Param("bias").Base(), g.GP64())
	for v := range g.vecs {
		t := g.vec()
		g.move(operand.Mem{Base: bias, Disp: v * g.bytes()}, t)
		for i := range acc {
			g.accumulate(t, acc[i][v])
		}
	}
	g.Label("relu")
	g.TESTQ(operand.U32(modeReLU), mode)
	g.JZ(operand.LabelRef("store"))
	zero := g.vec()
	g.clear(zero)
	for i := range acc {
		for _, r := range acc[i] {
			g.relu(zero, r)
		}
	}
	g.Label("store")
	g.eachRow(func(i int, row reg.Register) {
		for v, r := range acc[i] {
			g.move(r, operand.Mem{Base: row, Disp: v * g.bytes()})
		}
	})
}
