package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// isa is one instruction set that routines are emitted for.
type isa struct {
	*build.Context
	suffix string // appended to function names
	lanes  int    // float32 lanes of a register
}

// isas returns the instruction sets, emitting into c.
func isas(c *build.Context) []isa {
	return []isa{{c, "AVX2", 8}, {c, "AVX512", 16}}
}

// wide says whether registers have 16 lanes and there are mask registers.
func (g isa) wide() bool { return g.lanes == 16 }

// bytes is the size of a register.
func (g isa) bytes() int { return 4 * g.lanes }

// vec returns a fresh register of the set's full width.
func (g isa) vec() reg.VecVirtual {
	if g.wide() {
		return g.ZMM()
	}
	return g.YMM()
}

// clear sets r to zero.
func (g isa) clear(r reg.VecVirtual) {
	if g.wide() {
		g.VPXORD(r, r, r)
	} else {
		g.VXORPS(r, r, r)
	}
}
