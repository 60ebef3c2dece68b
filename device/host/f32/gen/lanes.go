package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Routines over vectors work on blocks of 16 lanes: one AVX-512 register, or a pair of AVX2 registers. Lane l of a
// reduction holds elements l, l+16, l+32 and so on in every instruction set, and one tree joins the lanes, so that
// the order of the sums does not depend on the width of a register.

const blockLanes = 16

// file is what the routines of one assembly file share.
type file struct {
	*build.Context
	consts map[string]operand.Mem
	labels int
}

func newFile(c *build.Context) *file {
	return &file{Context: c, consts: map[string]operand.Mem{}}
}

// bits returns the address of 16 copies of a 32-bit pattern.
func (f *file) bits(name string, v uint32) operand.Mem {
	m, ok := f.consts[name]
	if !ok {
		m = f.StaticGlobal(name)
		f.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range blockLanes {
			f.AddDatum(4*i, operand.U32(v))
		}
		f.consts[name] = m
	}
	return m
}

// num returns the address of 16 copies of a number.
func (f *file) num(name string, v float32) operand.Mem { return f.bits(name, math.Float32bits(v)) }

// window returns the address of 16 words of ones followed by 16 of zeros.
func (f *file) window() operand.Mem {
	m, ok := f.consts["window"]
	if !ok {
		m = f.StaticGlobal("window")
		f.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 2 * blockLanes {
			f.AddDatum(4*i, operand.U32(uint32(math.MaxUint32*(1-i/blockLanes))))
		}
		f.consts["window"] = m
	}
	return m
}

// label returns a name not used before.
func (f *file) label(what string) string {
	f.labels++
	return fmt.Sprintf("%s%d", what, f.labels)
}

// routine is one function being emitted for one instruction set.
type routine struct {
	isa
	*file
	tail []operand.Op // the mask of the last, partial block, when all loops have the same length
}

// each emits a routine for both instruction sets.
func (f *file) each(name, doc, signature string, body func(r routine)) {
	for _, g := range isas(f.Context) {
		f.Function(name + g.suffix)
		f.Attributes(attr.NOSPLIT)
		f.Doc(fmt.Sprintf("%s %s", name+g.suffix, doc))
		f.SignatureExpr(signature)
		body(routine{isa: g, file: f})
	}
}

// parts is the number of registers of a block.
func (r routine) parts() int { return blockLanes / r.lanes }

// block returns registers for one block.
func (r routine) block() []reg.VecVirtual {
	b := make([]reg.VecVirtual, r.parts())
	for i := range b {
		b[i] = r.vec()
	}
	return b
}

// zeros returns a block of zeros.
func (r routine) zeros() []reg.VecVirtual {
	b := r.block()
	for _, v := range b {
		r.clear(v)
	}
	return b
}

// base loads the pointer of a slice argument.
func (r routine) base(name string) reg.Register {
	return r.file.Load(r.file.Param(name).Base(), r.file.GP64())
}

// integer loads an integer argument.
func (r routine) integer(name string) reg.Register {
	return r.file.Load(r.file.Param(name), r.file.GP64())
}

// length loads the length of a slice argument.
func (r routine) length(name string) reg.Register {
	return r.file.Load(r.file.Param(name).Len(), r.file.GP64())
}

// scalar loads a float32 argument into every lane.
func (r routine) scalar(name string) reg.VecVirtual {
	v := r.vec()
	p, err := r.file.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r.broadcast(p.Addr, v)
	return v
}

// lane is one register of a block inside a loop over a vector.
type lane struct {
	routine
	part int
	at   reg.Register // byte offset of the block
	pad  []operand.Op // in the last, partial block: a mask of the lanes in use
}

// loop emits body for every register of every block of n elements; the last block may be partial.
func (r routine) loop(n reg.Register, body func(l lane)) {
	at, left := r.file.GP64(), r.file.GP64()
	loop, tail, done := r.label("loop"), r.label("tail"), r.label("done")
	r.file.XORQ(at, at)
	r.file.MOVQ(n, left)
	r.file.Label(loop)
	r.file.CMPQ(left, operand.U8(blockLanes))
	r.file.JLT(operand.LabelRef(tail))
	for part := range r.parts() {
		body(lane{r, part, at, nil})
	}
	r.file.ADDQ(operand.U8(4*blockLanes), at)
	r.file.SUBQ(operand.U8(blockLanes), left)
	r.file.JMP(operand.LabelRef(loop))
	r.file.Label(tail)
	r.file.TESTQ(left, left)
	r.file.JZ(operand.LabelRef(done))
	pad := r.tail
	if pad == nil {
		pad = r.mask(left)
	}
	for part := range r.parts() {
		body(lane{r, part, at, pad})
	}
	r.file.Label(done)
}

// sameTail returns the routine with the mask for loops over n elements computed once.
func (r routine) sameTail(n reg.Register) routine {
	left := r.file.GP64()
	r.file.MOVQ(n, left)
	r.file.ANDQ(operand.U8(blockLanes-1), left)
	r.tail = r.mask(left)
	return r
}

// mask returns masks of the first n < 16 lanes.
func (r routine) mask(n reg.Register) []operand.Op {
	p, back := r.file.GP64(), r.file.GP64()
	r.file.LEAQ(r.window(), p)
	r.file.MOVQ(n, back)
	r.file.NEGQ(back)
	masks := make([]operand.Op, r.parts())
	for i := range masks {
		v := r.vec()
		r.file.VMOVUPS(operand.Mem{Base: p, Index: back, Scale: 4, Disp: 4*blockLanes + i*r.bytes()}, v)
		masks[i] = v
		if r.lanes == 16 {
			k := r.file.K()
			r.file.VPMOVD2M(v, k)
			masks[i] = k
		}
	}
	return masks
}

func (l lane) mem(base reg.Register) operand.Mem {
	return operand.Mem{Base: base, Index: l.at, Scale: 1, Disp: l.part * l.bytes()}
}

// load reads the lane's elements of a vector; lanes past its end are zero.
func (l lane) load(base reg.Register) reg.VecVirtual {
	v := l.vec()
	switch {
	case l.pad == nil:
		l.file.VMOVUPS(l.mem(base), v)
	case l.lanes == 16:
		l.file.VMOVUPS_Z(l.mem(base), l.pad[l.part], v)
	default:
		l.file.VMASKMOVPS(l.mem(base), l.pad[l.part], v)
	}
	return v
}

// store writes the lane's elements of a vector.
func (l lane) store(v reg.VecVirtual, base reg.Register) {
	switch {
	case l.pad == nil:
		l.file.VMOVUPS(v, l.mem(base))
	case l.lanes == 16:
		l.file.VMOVUPS(v, l.pad[l.part], l.mem(base))
	default:
		l.file.VMASKMOVPS(v, l.pad[l.part], l.mem(base))
	}
}

// fill sets the lanes past the end of the vector.
func (l lane) fill(v, with reg.VecVirtual) {
	if l.pad != nil {
		l.pick(l.pad[l.part], v, with, v)
	}
}

// keep zeroes the lanes past the end of the vector.
func (l lane) keep(v reg.VecVirtual) {
	if l.pad != nil {
		l.only(l.pad[l.part], v)
	}
}
