package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func emitElementwise(c *build.Context) {
	f := newFile(c)
	f.each("add", "sets dst[i] to a[i]+b[i] for every i of dst.", "func(dst, a, b []float32)", func(r routine) {
		dst, a, b := r.base("dst"), r.base("a"), r.base("b")
		r.loop(r.length("dst"), func(l lane) {
			x := l.load(a)
			l.add(x, l.load(b), x)
			l.store(x, dst)
		})
		r.leave()
	})
	f.each("scale", "multiplies every value of dst by s.", "func(dst []float32, s float32)", func(r routine) {
		dst, s := r.base("dst"), r.scalar("s")
		r.loop(r.length("dst"), func(l lane) {
			x := l.load(dst)
			l.mul(x, s, x)
			l.store(x, dst)
		})
		r.leave()
	})
	f.each("reluGrad", "sets dx[i] to dy[i] where y[i] > 0 and to 0 elsewhere, for every i of dx.", "func(dx, dy, y []float32)", func(r routine) {
		dx, dy, y := r.base("dx"), r.base("dy"), r.base("y")
		zero := r.vec()
		r.clear(zero)
		r.loop(r.length("dx"), func(l lane) {
			x := l.load(dy)
			l.only(l.compare(greater, l.load(y), zero), x)
			l.store(x, dx)
		})
		r.leave()
	})
	f.each("adam", "is adamGo.", "func(p, m, v, g []float32, c *[8]float32)", emitAdam)
	for _, g := range isas(c) {
		emitSquares(g)
		emitPeak(g)
	}
}

func emitAdam(r routine) {
	p, m, v, g := r.base("p"), r.base("m"), r.base("v"), r.base("g")
	c := r.integer("c")
	get := func(l lane, i int) reg.VecVirtual {
		x := l.vec()
		l.broadcast(operand.Mem{Base: c, Disp: 4 * i}, x)
		return x
	}
	r.loop(r.length("p"), func(l lane) {
		d := l.load(g)
		l.mul(d, get(l, 0), d)
		a, t := l.load(m), l.vec()
		l.mul(a, get(l, 1), a)
		l.mul(d, get(l, 2), t)
		l.add(a, t, a)
		l.store(a, m)
		b := l.load(v)
		l.mul(b, get(l, 3), b)
		l.mul(d, d, t)
		l.mul(t, get(l, 4), t)
		l.add(b, t, b)
		l.store(b, v)
		l.mul(b, get(l, 6), b)
		l.file.VSQRTPS(b, b)
		l.add(b, get(l, 7), b)
		l.mul(a, get(l, 5), a)
		l.div(a, b, a)
		x := l.load(p)
		l.sub(x, a, x)
		l.store(x, p)
	})
	r.leave()
}

// emitSquares emits the sum of squares in 16 float64 lanes.
func emitSquares(g isa) {
	g.Function("squares" + g.suffix)
	g.Attributes(attr.NOSPLIT)
	g.Doc("squares" + g.suffix + " is squaresGo.")
	g.SignatureExpr("func(sums *[16]float64, x []float32)")
	out := g.Load(g.Param("sums"), g.GP64())
	x := g.Load(g.Param("x").Base(), g.GP64())
	n := g.Load(g.Param("x").Len(), g.GP64())
	width := g.lanes / 2 // float64 lanes of a register
	sums := make([]reg.VecVirtual, blockLanes/width)
	for i := range sums {
		sums[i] = g.vec()
		g.clear(sums[i])
	}
	g.Label("loop")
	g.CMPQ(n, operand.U8(blockLanes))
	g.JLT(operand.LabelRef("done"))
	for i, s := range sums {
		v := g.vec()
		g.VCVTPS2PD(operand.Mem{Base: x, Disp: 4 * i * width}, v)
		g.VMULPD(v, v, v)
		g.VADDPD(v, s, s)
	}
	g.ADDQ(operand.U8(4*blockLanes), x)
	g.SUBQ(operand.U8(blockLanes), n)
	g.JMP(operand.LabelRef("loop"))
	g.Label("done")
	for i, s := range sums {
		g.VMOVUPD(s, operand.Mem{Base: out, Disp: 8 * i * width})
	}
	g.leave()
}

// peakChains is the number of independent multiply-adds in flight in the peak loop: more than latency times units.
const peakChains = 12

// emitPeak emits a loop of multiply-adds on registers alone, to measure what the CPU can do at most.
func emitPeak(g isa) {
	g.Function("peak" + g.suffix)
	g.Attributes(attr.NOSPLIT)
	g.Doc("peak" + g.suffix + " does n times 12 fused multiply-adds of a whole register that do not depend on each other.")
	g.SignatureExpr("func(n int)")
	n := g.Load(g.Param("n"), g.GP64())
	a := g.vec()
	g.clear(a)
	acc := make([]reg.VecVirtual, peakChains)
	for i := range acc {
		acc[i] = g.vec()
		g.clear(acc[i])
	}
	g.Label("loop")
	for _, v := range acc {
		g.VFMADD231PS(a, a, v)
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("loop"))
	g.leave()
}
