package main

import (
	"math"

	"github.com/mmcloughlin/avo/reg"
)

// rowMax reduces n values to their maximum, in every lane.
func (r routine) rowMax(src, n reg.Register) reg.VecVirtual {
	low := r.constant(r.num("minusInf", float32(math.Inf(-1))))
	top := r.block()
	for _, v := range top {
		r.file.VMOVAPS(low, v)
	}
	r.loop(n, func(l lane) {
		x := l.load(src)
		l.fill(x, low)
		l.max(top[l.part], x, top[l.part])
	})
	return r.joinMax(top)
}

// expSum sums exp(x-top) over n values, in every lane, and passes each to visit.
func (r routine) expSum(src, n reg.Register, top reg.VecVirtual, visit func(l lane, e reg.VecVirtual)) reg.VecVirtual {
	sum := r.zeros()
	r.loop(n, func(l lane) {
		x := l.load(src)
		l.sub(x, top, x)
		e := l.exp(x)
		l.keep(e)
		l.add(sum[l.part], e, sum[l.part])
		visit(l, e)
	})
	return r.joinSum(sum)
}

func emitSoftmax(f *file) {
	f.each("softmaxRows", "is softmaxRowsGo.", "func(dst, src []float32, rows, width, ldd, lds int)", func(r routine) {
		dst, src, width := r.base("dst"), r.base("src"), r.integer("width")
		ldd, lds := r.integer("ldd"), r.integer("lds")
		r = r.sameTail(width)
		r.rowLoop(r.integer("rows"), func() {
			top := r.rowMax(src, width)
			sum := r.expSum(src, width, top, func(l lane, e reg.VecVirtual) { l.store(e, dst) })
			r.loop(width, func(l lane) {
				e := l.load(dst)
				l.div(e, sum, e)
				l.store(e, dst)
			})
			r.advance(dst, ldd)
			r.advance(src, lds)
		})
		r.leave()
	})
	f.each("maxExpSum", "is maxExpSumGo.", "func(src []float32) (top, sum float32)", func(r routine) {
		src, n := r.base("src"), r.length("src")
		top := r.rowMax(src, n)
		sum := r.expSum(src, n, top, func(lane, reg.VecVirtual) {})
		r.file.Store(top.AsX(), r.file.Return("top"))
		r.file.Store(sum.AsX(), r.file.Return("sum"))
		r.leave()
	})
	f.each("subTwo", "sets dst[i] to (src[i]-a)-b for every i of dst.", "func(dst, src []float32, a, b float32)", func(r routine) {
		dst, src, a, b := r.base("dst"), r.base("src"), r.scalar("a"), r.scalar("b")
		r.loop(r.length("dst"), func(l lane) {
			x := l.load(src)
			l.sub(x, a, x)
			l.sub(x, b, x)
			l.store(x, dst)
		})
		r.leave()
	})
	f.each("maskScale", "is maskScaleGo.", "func(dst, mask []float32, s float32)", func(r routine) {
		dst, mask, s := r.base("dst"), r.base("mask"), r.scalar("s")
		low := r.constant(r.num("minusInf", float32(math.Inf(-1))))
		zero := r.vec()
		r.clear(zero)
		r.loop(r.length("dst"), func(l lane) {
			x := l.load(dst)
			l.mul(x, s, x)
			l.pick(l.compare(equal, l.load(mask), zero), x, low, x)
			l.store(x, dst)
		})
		r.leave()
	})
	f.each("softmaxBackRows", "is softmaxBackRowsGo.", "func(ds, p, dp []float32, rows, width, lds, ldp, lddp int, s float32)", emitSoftmaxBack)
}

func emitSoftmaxBack(r routine) {
	ds, p, dp, width := r.base("ds"), r.base("p"), r.base("dp"), r.integer("width")
	lds, ldp, lddp := r.integer("lds"), r.integer("ldp"), r.integer("lddp")
	s := r.scalar("s")
	r = r.sameTail(width)
	r.rowLoop(r.integer("rows"), func() {
		dots := r.zeros()
		r.loop(width, func(l lane) {
			x := l.load(p)
			l.mul(x, l.load(dp), x)
			l.add(dots[l.part], x, dots[l.part])
		})
		dot := r.joinSum(dots)
		r.loop(width, func(l lane) {
			x := l.load(dp)
			l.sub(x, dot, x)
			l.mul(x, l.load(p), x)
			l.mul(x, s, x)
			l.store(x, ds)
		})
		r.advance(ds, lds)
		r.advance(p, ldp)
		r.advance(dp, lddp)
	})
	r.leave()
}
