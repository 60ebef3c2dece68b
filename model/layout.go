package model

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gputax/device"
)

// align is what the offset of every parameter is a multiple of, in elements:
// a cache line.
const align = 16

// Param is one named view of the flat array of parameters.
type Param struct {
	Name   string
	Shape  []int // weights are [inputs, outputs], vectors [outputs]
	Offset int   // of the first element, in elements
	Size   int   // in elements

	start float32 // gamma: every element; otherwise 0
	fanIn int     // weights and their biases: the number of inputs; otherwise 0
}

// in is the parameter's part of flat.
func (p Param) in(flat device.Buffer) device.Buffer { return flat.Slice(4*p.Offset, 4*p.Size) }

// Of is the parameter's part of flat.
func (p Param) Of(flat []float32) []float32 {
	return flat[p.Offset : p.Offset+p.Size : p.Offset+p.Size]
}

// Layout says where every parameter lies in the flat array.
type Layout struct {
	Params []Param
	Size   int // of the flat array, in elements, gaps included

	depotWeight, depotBias, customerWeight, customerBias Param

	layers []layerParams

	kvl, fixed, step, out Param
}

// layerParams are one encoder layer's.
type layerParams struct {
	qkv, out       Param
	gamma1, beta1  Param
	weight1, bias1 Param
	weight2, bias2 Param
	gamma2, beta2  Param
}

// NewLayout lays out the parameters of a model of size c.
func NewLayout(c Config) *Layout {
	l := &Layout{}
	d, f := c.Width, c.Hidden
	l.depotWeight, l.depotBias = l.weight("depot.weight", 2, d), l.bias("depot.bias", 2, d)
	l.customerWeight, l.customerBias = l.weight("customer.weight", 3, d), l.bias("customer.bias", 3, d)
	for i := range c.Layers {
		name := func(part string) string { return fmt.Sprintf("layer%d.%s", i, part) }
		var p layerParams
		p.qkv, p.out = l.weight(name("qkv"), d, 3*d), l.weight(name("out"), d, d)
		p.gamma1, p.beta1 = l.norm(name("norm1.gamma"), d, 1), l.norm(name("norm1.beta"), d, 0)
		p.weight1, p.bias1 = l.weight(name("ff1.weight"), d, f), l.bias(name("ff1.bias"), d, f)
		p.weight2, p.bias2 = l.weight(name("ff2.weight"), f, d), l.bias(name("ff2.bias"), f, d)
		p.gamma2, p.beta2 = l.norm(name("norm2.gamma"), d, 1), l.norm(name("norm2.beta"), d, 0)
		l.layers = append(l.layers, p)
	}
	l.kvl, l.fixed = l.weight("decoder.kvl", d, 3*d), l.weight("decoder.fixed", d, d)
	l.step, l.out = l.weight("decoder.step", d+1, d), l.weight("decoder.out", d, d)
	return l
}

func (l *Layout) weight(name string, in, out int) Param {
	return l.add(Param{Name: name, Shape: []int{in, out}, Size: in * out, fanIn: in})
}

func (l *Layout) bias(name string, in, out int) Param {
	return l.add(Param{Name: name, Shape: []int{out}, Size: out, fanIn: in})
}

func (l *Layout) norm(name string, width int, start float32) Param {
	return l.add(Param{Name: name, Shape: []int{width}, Size: width, start: start})
}

// add puts p behind the others.
func (l *Layout) add(p Param) Param {
	p.Offset = l.Size
	l.Size = (p.Offset + p.Size + align - 1) / align * align
	l.Params = append(l.Params, p)
	return p
}

// Named is the parameter of that name.
func (l *Layout) Named(name string) (Param, error) {
	for _, p := range l.Params {
		if p.Name == name {
			return p, nil
		}
	}
	return Param{}, fmt.Errorf("model: no parameter %q; the first of %d is %q", name, len(l.Params), l.Params[0].Name)
}

// Init fills dst, of Size elements, from seed: weights and biases uniform
// between plus and minus 1/sqrt(inputs), gammas 1, betas and gaps 0. A
// parameter's values depend on the seed, its place in Params and its shape
// alone.
func (l *Layout) Init(dst []float32, seed uint64) {
	clear(dst[:l.Size])
	for i, p := range l.Params {
		values := p.Of(dst)
		if p.fanIn == 0 {
			for j := range values {
				values[j] = p.start
			}
			continue
		}
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		bound := float32(1 / math.Sqrt(float64(p.fanIn)))
		for j := range values {
			values[j] = float32((2*rng.Float32() - 1) * bound)
		}
	}
}
