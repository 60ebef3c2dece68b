// Package gorgonia is the oracle of package model: the same loss as an
// expression graph of gorgonia.org/gorgonia, differentiated by that library.
//
// It shares no code with the kernels it checks, apart from the layout of the
// parameters. The graph is built from products, element-wise operations and
// reshapes alone: sums and broadcasts along an axis are products with ones, and
// gathers are products with selection matrices, because those are the
// operations whose gradients the library gets right in every shape. Each head
// has weights of its own, cut from the flat array on the way in and put back on
// the way out, so that no node is ever sliced.
package gorgonia

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gputax/model"
)

// Oracle computes the loss and its gradient for batches of one size.
type Oracle struct {
	cfg    model.Config
	batch  int
	layout *model.Layout
	pieces []piece // the parameters, cut up
	data   inputs
	loss   G.Value
	vm     G.VM
}

// piece is a block of a parameter that is a node of its own.
type piece struct {
	input
	offset, ld int     // of the block in the flat array
	grad       G.Value // after a run
}

// inputs are the nodes that a batch fills.
type inputs struct {
	depot, depotOnes       input // [tokens, 2], [tokens, 1]: features of the depots, 0 in the rows of customers
	customer, customerOnes input // [tokens, 3], [tokens, 1]: features of the customers, 0 in the rows of depots
	selected               input // [batch*steps, nodes]: 1 at the node where the vehicle is
	capacity               input // [batch*steps, 1]
	hidden                 input // [batch*steps, nodes]: far below 0 at nodes that the mask hides, else 0
	chosen                 input // [batch*steps, nodes]: the advantage at the action of an active step, else 0
	weight                 input // [batch*steps, 1]: the advantage in an active step, else 0
}

// New builds the graph in double precision.
func New(cfg model.Config, batch int) (*Oracle, error) { return build(cfg, batch, tensor.Float64) }

// NewSingle builds the graph in single precision, as a trainer would.
func NewSingle(cfg model.Config, batch int) (*Oracle, error) {
	return build(cfg, batch, tensor.Float32)
}

func build(cfg model.Config, batch int, dtype tensor.Dtype) (*Oracle, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if batch < 1 {
		return nil, fmt.Errorf("gorgonia: a batch of %d instances: want at least 1", batch)
	}
	o := &Oracle{cfg: cfg, batch: batch, layout: model.NewLayout(cfg)}
	b := &builder{Oracle: o, graph: G.NewGraph(), dtype: dtype, ones: map[[2]int]*G.Node{}}
	loss := b.lossNode()
	if b.err != nil {
		return nil, fmt.Errorf("gorgonia: build: %w", b.err)
	}
	wrt := make(G.Nodes, len(o.pieces))
	for i := range o.pieces {
		wrt[i] = o.pieces[i].node
	}
	grads, err := G.Grad(loss, wrt...)
	if err != nil {
		return nil, fmt.Errorf("gorgonia: differentiate: %w", err)
	}
	G.Read(loss, &o.loss)
	for i, g := range grads {
		G.Read(g, &o.pieces[i].grad)
	}
	o.vm = G.NewTapeMachine(b.graph)
	return o, nil
}

// Close gives back what the machine holds.
func (o *Oracle) Close() error { return o.vm.Close() }

// LossAndGrad is the sum over instances of adv times the log-probability of
// actions, and its gradient by params, laid out like params. The slices are
// those of a model of the same size: see model.Model.
func (o *Oracle) LossAndGrad(params, coords, demands []float32, actions []int32, adv []float32) (loss float64, grads []float32, err error) {
	tokens, rows := o.batch*o.cfg.Nodes(), o.batch*o.cfg.Steps()
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"parameters", len(params), o.layout.Size},
		{"coordinates", len(coords), 2 * tokens},
		{"demands", len(demands), tokens},
		{"actions", len(actions), rows},
		{"advantages", len(adv), o.batch},
	} {
		if c.got != c.want {
			return 0, nil, fmt.Errorf("gorgonia: %d %s, want %d", c.got, c.what, c.want)
		}
	}
	o.setParams(params)
	o.setTokens(coords, demands)
	if err := o.setSteps(demands, actions, adv); err != nil {
		return 0, nil, err
	}
	defer o.vm.Reset()
	if err := o.vm.RunAll(); err != nil {
		return 0, nil, fmt.Errorf("gorgonia: run: %w", err)
	}
	grads = make([]float32, o.layout.Size)
	for i := range o.pieces {
		o.pieces[i].collect(grads)
	}
	return number(o.loss.Data(), 0), grads, nil
}
