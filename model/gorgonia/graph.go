package gorgonia

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"
)

// lossNode builds the whole expression.
func (b *builder) lossNode() *G.Node {
	x := b.embed()
	for i := range b.cfg.Layers {
		x = b.layer(fmt.Sprintf("layer%d.", i), x)
	}
	logits := b.decode(x)
	rows, nodes, d := b.batch*b.cfg.Steps(), b.cfg.Nodes(), &b.data
	d.chosen, d.weight = b.input(rows, nodes), b.input(rows, 1)
	normaliser := b.each(G.Log, b.mul(b.each(G.Exp, logits), b.filled(nodes, 1)))
	return b.sub(b.sum(b.times(logits, d.chosen.node)), b.sum(b.times(normaliser, d.weight.node)))
}

// embed is the nodes' first embeddings, a row each.
func (b *builder) embed() *G.Node {
	d, tokens := &b.data, b.batch*b.cfg.Nodes()
	d.depot, d.depotOnes = b.input(tokens, 2), b.input(tokens, 1)
	d.customer, d.customerOnes = b.input(tokens, 3), b.input(tokens, 1)
	depots := b.add(b.mul(d.depot.node, b.param("depot.weight")), b.mul(d.depotOnes.node, b.param("depot.bias")))
	customers := b.add(b.mul(d.customer.node, b.param("customer.weight")), b.mul(d.customerOnes.node, b.param("customer.bias")))
	return b.add(depots, customers)
}

// layer is one encoder layer on x.
func (b *builder) layer(name string, x *G.Node) *G.Node {
	width, dim := b.cfg.Width, b.cfg.HeadDim()
	qkv, out := b.named(name+"qkv"), b.named(name+"out")
	sum := x
	for h := range b.cfg.Heads {
		q := b.mul(x, b.block(qkv, 0, h*dim, width, dim))
		k := b.mul(x, b.block(qkv, 0, width+h*dim, width, dim))
		v := b.mul(x, b.block(qkv, 0, 2*width+h*dim, width, dim))
		head := b.batched(b.softmax(b.scale(b.batched(q, k, true), 1/math.Sqrt(float64(dim)))), v, false)
		sum = b.add(sum, b.mul(head, b.block(out, h*dim, 0, dim, width)))
	}
	mid := b.norm(name+"norm1.", sum)
	hidden := b.each(G.Rectify, b.affine(name+"ff1.", mid))
	return b.norm(name+"norm2.", b.add(mid, b.affine(name+"ff2.", hidden)))
}

// affine is x*weight + bias.
func (b *builder) affine(name string, x *G.Node) *G.Node {
	y := b.mul(x, b.param(name+"weight"))
	return b.add(y, b.mul(b.filled(b.rowsOf(y), 1), b.param(name+"bias")))
}

// norm is the layer norm of every row.
func (b *builder) norm(name string, x *G.Node) *G.Node {
	rows, width := b.rowsOf(x), b.cfg.Width
	mean := func(x *G.Node) *G.Node {
		return b.scale(b.mul(b.mul(x, b.filled(width, 1)), b.filled(1, width)), 1/float64(width))
	}
	centred := b.sub(x, mean(x))
	deviation := b.each(G.Sqrt, b.shift(mean(b.times(centred, centred)), 1e-5))
	gamma := b.mul(b.filled(rows, 1), b.param(name+"gamma"))
	beta := b.mul(b.filled(rows, 1), b.param(name+"beta"))
	return b.add(b.times(b.over(centred, deviation), gamma), beta)
}

// softmax is that of every row. The scores of a model are small, so that no
// maximum is subtracted, which would need a gradient of its own.
func (b *builder) softmax(x *G.Node) *G.Node {
	if b.err != nil {
		return nil
	}
	e, width := b.each(G.Exp, x), x.Shape()[1]
	return b.over(e, b.mul(b.mul(e, b.filled(width, 1)), b.filled(1, width)))
}

// decode is the logits of every step, far below 0 where a node is hidden.
func (b *builder) decode(x *G.Node) *G.Node {
	width, dim, nodes, steps, d := b.cfg.Width, b.cfg.HeadDim(), b.cfg.Nodes(), b.cfg.Steps(), &b.data
	rows := b.batch * steps
	kvl, fixed, step, out := b.named("decoder.kvl"), b.named("decoder.fixed"), b.named("decoder.step"), b.named("decoder.out")
	d.selected, d.capacity, d.hidden = b.input(rows, nodes), b.input(rows, 1), b.input(rows, nodes)
	at := b.batched(d.selected.node, x, false)
	mean := b.scale(b.batched(b.filled(rows, nodes), x, false), 1/float64(nodes))
	var sum *G.Node
	for h := range b.cfg.Heads {
		q := b.mul(at, b.block(step, 0, h*dim, width, dim))
		q = b.add(q, b.mul(d.capacity.node, b.block(step, width, h*dim, 1, dim)))
		q = b.add(q, b.mul(mean, b.block(fixed, 0, h*dim, width, dim)))
		k := b.mul(x, b.block(kvl, 0, h*dim, width, dim))
		v := b.mul(x, b.block(kvl, 0, width+h*dim, width, dim))
		scores := b.scale(b.batched(q, k, true), 1/math.Sqrt(float64(dim)))
		head := b.batched(b.softmax(b.add(scores, d.hidden.node)), v, false)
		part := b.mul(head, b.block(out, h*dim, 0, dim, width))
		if sum == nil {
			sum = part
		} else {
			sum = b.add(sum, part)
		}
	}
	keys := b.mul(x, b.block(kvl, 0, 2*width, width, width))
	scores := b.scale(b.batched(sum, keys, true), 1/math.Sqrt(float64(width)))
	return b.add(b.scale(b.each(G.Tanh, scores), 10), d.hidden.node)
}

// rowsOf is the number of rows of x.
func (b *builder) rowsOf(x *G.Node) int {
	if b.err != nil {
		return 1
	}
	return x.Shape()[0]
}
