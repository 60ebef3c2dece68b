package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func emitNorm(c *build.Context) {
	f := newFile(c)
	f.each("layerNormRows", "is layerNormRowsGo.",
		"func(y, x, gamma, beta, mean, rstd []float32, rows, width int, eps float32)", emitLayerNorm)
	f.each("layerNormBackRows", "is layerNormBackRowsGo.",
		"func(dx, dy, x, gamma, mean, rstd, dgamma, dbeta []float32, rows, width int)", emitLayerNormBack)
}

func emitLayerNorm(r routine) {
	y, x, gamma, beta := r.base("y"), r.base("x"), r.base("gamma"), r.base("beta")
	means, rstds, width := r.base("mean"), r.base("rstd"), r.integer("width")
	w, eps := r.toFloat(width), r.scalar("eps")
	r.rowLoop(r.integer("rows"), func() {
		sum := r.zeros()
		r.loop(width, func(l lane) { l.add(sum[l.part], l.load(x), sum[l.part]) })
		mean := r.joinSum(sum)
		r.div(mean, w, mean)
		r.storeNext(mean, means)
		squares := r.zeros()
		r.loop(width, func(l lane) {
			d := l.load(x)
			l.sub(d, mean, d)
			l.keep(d)
			l.mul(d, d, d)
			l.add(squares[l.part], d, squares[l.part])
		})
		rstd := r.joinSum(squares)
		r.div(rstd, w, rstd)
		r.add(rstd, eps, rstd)
		r.file.VSQRTPS(rstd, rstd)
		r.div(r.constant(r.num("one", 1)), rstd, rstd)
		r.storeNext(rstd, rstds)
		r.loop(width, func(l lane) {
			d := l.load(x)
			l.sub(d, mean, d)
			l.mul(d, rstd, d)
			l.mul(d, l.load(gamma), d)
			l.add(d, l.load(beta), d)
			l.store(d, y)
		})
		r.advance(y, width)
		r.advance(x, width)
	})
	r.leave()
}

func emitLayerNormBack(r routine) {
	dx, dy, x, gamma := r.base("dx"), r.base("dy"), r.base("x"), r.base("gamma")
	means, rstds, width := r.base("mean"), r.base("rstd"), r.integer("width")
	dgamma, dbeta := r.base("dgamma"), r.base("dbeta")
	w := r.toFloat(width)
	r.rowLoop(r.integer("rows"), func() {
		mean, rstd := r.loadNext(means), r.loadNext(rstds)
		plain, scaled := r.zeros(), r.zeros()
		r.loop(width, func(l lane) {
			d, hat := l.load(dy), l.load(x)
			l.sub(hat, mean, hat)
			l.mul(hat, rstd, hat)
			t := l.load(dbeta)
			l.add(t, d, t)
			l.store(t, dbeta)
			u := l.vec()
			l.mul(d, hat, u)
			t = l.load(dgamma)
			l.add(t, u, t)
			l.store(t, dgamma)
			l.mul(d, l.load(gamma), d)
			l.add(plain[l.part], d, plain[l.part])
			l.mul(d, hat, d)
			l.keep(d)
			l.add(scaled[l.part], d, scaled[l.part])
		})
		s1, s2 := r.joinSum(plain), r.joinSum(scaled)
		r.div(s1, w, s1)
		r.div(s2, w, s2)
		r.loop(width, func(l lane) {
			hat, d := l.load(x), l.load(dy)
			l.sub(hat, mean, hat)
			l.mul(hat, rstd, hat)
			l.mul(d, l.load(gamma), d)
			l.sub(d, s1, d)
			l.mul(hat, s2, hat)
			l.sub(d, hat, d)
			l.mul(d, rstd, d)
			l.store(d, dx)
		})
		for _, p := range []reg.Register{dx, dy, x} {
			r.advance(p, width)
		}
	})
	r.leave()
}

// storeNext writes one value and moves the pointer on.
func (r routine) storeNext(v reg.VecVirtual, p reg.Register) {
	r.file.VMOVSS(v.AsX(), operand.Mem{Base: p})
	r.file.ADDQ(operand.U8(4), p)
}

// loadNext reads one value into every lane and moves the pointer on.
func (r routine) loadNext(p reg.Register) reg.VecVirtual {
	v := r.vec()
	r.broadcast(operand.Mem{Base: p}, v)
	r.file.ADDQ(operand.U8(4), p)
	return v
}
