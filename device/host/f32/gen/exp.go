package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// poly evaluates c[0] + z*(c[1] + z*(...)).
func (r routine) poly(name string, c []float32, z reg.VecVirtual) reg.VecVirtual {
	p := r.vec()
	last := len(c) - 1
	r.file.VMOVUPS(r.num(name+digit(last), c[last]), p)
	for i := last - 1; i >= 0; i-- {
		r.mul(p, z, p)
		r.add(p, r.num(name+digit(i), c[i]), p)
	}
	return p
}

func digit(i int) string { return string(rune('0' + i)) }

// exp emits exp32 of exp.go; x is overwritten.
func (r routine) exp(x reg.VecVirtual) reg.VecVirtual {
	used := r.compare(notLess, x, r.num("expLow", expLow))
	r.only(used, x)
	r.min(r.constant(r.num("expHigh", expHigh)), x, x)
	t, n := r.vec(), r.vec()
	r.mul(x, r.num("log2e", log2e), t)
	r.add(t, r.num("rounder", rounder), t)
	r.sub(t, r.num("rounder", rounder), n)
	u := r.vec()
	r.mul(n, r.num("ln2High", ln2High), u)
	r.sub(x, u, x)
	r.mul(n, r.num("ln2Low", ln2Low), u)
	r.sub(x, u, x)
	y := r.poly("exp", expPoly, x)
	r.mul(x, x, u)
	r.mul(y, u, y)
	r.add(y, x, y)
	r.add(y, r.num("one", 1), y)
	// y*2^n in two steps, each of which a float32 can hold.
	half := r.vec()
	r.file.VPSUBD(r.num("rounder", rounder), t, t)
	r.file.VPSRAD(operand.U8(1), t, half)
	r.file.VPSUBD(half, t, t)
	for _, e := range []reg.VecVirtual{half, t} {
		r.file.VPADDD(r.bits("bias", 127), e, e)
		r.file.VPSLLD(operand.U8(23), e, e)
		r.mul(y, e, y)
	}
	r.only(used, y)
	return y
}

// tanh emits tanh32 of tanh.go; x is kept.
func (r routine) tanh(x reg.VecVirtual) reg.VecVirtual {
	a, z := r.vec(), r.vec()
	r.and(x, r.bits("magnitude", 0x7fffffff), a)
	r.mul(x, x, z)
	s := r.poly("tanh", tanhPoly, z)
	r.mul(s, z, s)
	r.mul(s, x, s)
	r.add(s, x, s)
	small := r.compare(less, a, r.num("tanhSmall", tanhSmall))
	r.add(a, a, a)
	e := r.exp(a)
	r.add(e, r.num("one", 1), e)
	r.div(r.constant(r.num("two", 2)), e, e)
	r.sub(r.constant(r.num("one", 1)), e, e)
	sign := r.vec()
	r.and(x, r.bits("sign", 0x80000000), sign)
	r.pick(small, s, e, s)
	r.or(s, sign, s)
	return s
}

func emitExp(c *build.Context) {
	f := newFile(c)
	f.each("exp", "sets dst[i] to exp32(src[i]) for every i of dst.", "func(dst, src []float32)", func(r routine) {
		dst, src := r.base("dst"), r.base("src")
		r.loop(r.length("dst"), func(l lane) { l.store(l.exp(l.load(src)), dst) })
		r.leave()
	})
	f.each("tanh", "sets dst[i] to tanh32(src[i]) for every i of dst.", "func(dst, src []float32)", func(r routine) {
		dst, src := r.base("dst"), r.base("src")
		r.loop(r.length("dst"), func(l lane) { l.store(l.tanh(l.load(src)), dst) })
		r.leave()
	})
	emitSoftmax(f)
}
