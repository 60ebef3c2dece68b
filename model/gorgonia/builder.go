package gorgonia

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gputax/model"
)

// builder builds an oracle's graph. After the first error it builds nothing.
type builder struct {
	*Oracle
	graph *G.ExprGraph
	dtype tensor.Dtype
	ones  map[[2]int]*G.Node // by shape
	nodes int                // inputs so far, for names
	err   error
}

// input makes a node of that shape whose values can be set.
func (b *builder) input(shape ...int) input {
	size := 1
	for _, n := range shape {
		size *= n
	}
	in := input{rows: shape[0], cols: shape[1]}
	var backing any
	if b.dtype == tensor.Float64 {
		in.double = make([]float64, size)
		backing = in.double
	} else {
		in.single = make([]float32, size)
		backing = in.single
	}
	b.nodes++
	value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
	in.node = G.NewTensor(b.graph, b.dtype, len(shape), G.WithShape(shape...),
		G.WithName(fmt.Sprintf("in%d", b.nodes)), G.WithValue(value))
	return in
}

// filled is a matrix of ones.
func (b *builder) filled(rows, cols int) *G.Node {
	key := [2]int{rows, cols}
	if b.ones[key] == nil {
		in := b.input(rows, cols)
		for i := range rows * cols {
			in.set(i, 1)
		}
		b.ones[key] = in.node
	}
	return b.ones[key]
}

// param makes a node of the named parameter, as a matrix.
func (b *builder) param(name string) *G.Node {
	p := b.named(name)
	if len(p.Shape) == 1 {
		return b.block(p, 0, 0, 1, p.Shape[0])
	}
	return b.block(p, 0, 0, p.Shape[0], p.Shape[1])
}

// named is the parameter of that name.
func (b *builder) named(name string) model.Param {
	p, err := b.layout.Named(name)
	if err != nil {
		b.err = err
	}
	return p
}

// block makes a node of a block of p.
func (b *builder) block(p model.Param, row, col, rows, cols int) *G.Node {
	if b.err != nil {
		return nil
	}
	ld := p.Shape[len(p.Shape)-1]
	b.pieces = append(b.pieces, piece{input: b.input(rows, cols), offset: p.Offset + row*ld + col, ld: ld})
	return b.pieces[len(b.pieces)-1].node
}

// do is f of some nodes unless something failed before.
func (b *builder) do(f func() (*G.Node, error)) *G.Node {
	if b.err != nil {
		return nil
	}
	n, err := f()
	if err != nil {
		b.err = err
	}
	return n
}

func (b *builder) mul(x, y *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Mul(x, y) })
}

func (b *builder) add(x, y *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Add(x, y) })
}

func (b *builder) sub(x, y *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Sub(x, y) })
}

func (b *builder) times(x, y *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.HadamardProd(x, y) })
}

func (b *builder) over(x, y *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.HadamardDiv(x, y) })
}

// each is an element-wise function.
func (b *builder) each(f func(*G.Node) (*G.Node, error), x *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return f(x) })
}

// scale is x*s.
func (b *builder) scale(x *G.Node, s float64) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Mul(x, b.constant(s)) })
}

// shift is x+s in every element.
func (b *builder) shift(x *G.Node, s float64) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Add(x, b.constant(s)) })
}

func (b *builder) constant(v float64) *G.Node {
	if b.dtype == tensor.Float64 {
		return G.NewConstant(v)
	}
	return G.NewConstant(float32(v))
}

// batched is the product of x and y, or of x and y transposed, for every
// instance: both are matrices whose rows belong to instances in turn.
func (b *builder) batched(x, y *G.Node, transposed bool) *G.Node {
	x3, y3 := b.stack(x), b.stack(y)
	return b.do(func() (*G.Node, error) {
		z, err := G.BatchedMatMul(x3, y3, false, transposed)
		if err != nil {
			return nil, err
		}
		s := z.Shape()
		return G.Reshape(z, tensor.Shape{s[0] * s[1], s[2]})
	})
}

// stack is a matrix as one matrix an instance.
func (b *builder) stack(x *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) {
		s := x.Shape()
		return G.Reshape(x, tensor.Shape{b.batch, s[0] / b.batch, s[1]})
	})
}

// sum is the sum of all elements.
func (b *builder) sum(x *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Sum(x) })
}
