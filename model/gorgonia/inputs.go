package gorgonia

import (
	"fmt"

	G "gorgonia.org/gorgonia"
)

// input is a node whose values the caller sets, in either precision.
type input struct {
	node       *G.Node
	double     []float64
	single     []float32
	rows, cols int // of a matrix
}

func (in *input) set(i int, v float64) {
	if in.double != nil {
		in.double[i] = v
	} else {
		in.single[i] = float32(v)
	}
}

func (in *input) clear() {
	clear(in.double)
	clear(in.single)
}

// number is element i of a value's data, which is a number where the value is
// a scalar.
func number(data any, i int) float64 {
	switch d := data.(type) {
	case float64:
		return d
	case float32:
		return float64(d)
	case []float64:
		return d[i]
	case []float32:
		return float64(d[i])
	}
	panic(fmt.Sprintf("gorgonia: a value of type %T", data))
}

// collect puts the piece's gradient in its place in flat.
func (p *piece) collect(flat []float32) {
	data := p.grad.Data()
	for i := range p.rows {
		for j := range p.cols {
			flat[p.offset+i*p.ld+j] = float32(number(data, i*p.cols+j))
		}
	}
}

// setParams cuts params up.
func (o *Oracle) setParams(params []float32) {
	for k := range o.pieces {
		p := &o.pieces[k]
		for i := range p.rows {
			for j := range p.cols {
				p.set(i*p.cols+j, float64(params[p.offset+i*p.ld+j]))
			}
		}
	}
}

// setTokens sets the features of the nodes.
func (o *Oracle) setTokens(coords, demands []float32) {
	d := &o.data
	for _, in := range []*input{&d.depot, &d.depotOnes, &d.customer, &d.customerOnes} {
		in.clear()
	}
	for i := range demands {
		x, y := float64(coords[2*i]), float64(coords[2*i+1])
		if i%o.cfg.Nodes() == 0 {
			d.depot.set(2*i, x)
			d.depot.set(2*i+1, y)
			d.depotOnes.set(i, 1)
			continue
		}
		d.customer.set(3*i, x)
		d.customer.set(3*i+1, y)
		d.customer.set(3*i+2, float64(demands[i]))
		d.customerOnes.set(i, 1)
	}
}

// hiddenLogit is added to the logits of nodes that cannot be visited.
const hiddenLogit = -1e9

// setSteps walks every instance's actions and sets what depends on them.
func (o *Oracle) setSteps(demands []float32, actions []int32, adv []float32) error {
	d, nodes, steps := &o.data, o.cfg.Nodes(), o.cfg.Steps()
	for _, in := range []*input{&d.selected, &d.capacity, &d.hidden, &d.chosen, &d.weight} {
		in.clear()
	}
	for b := range o.batch {
		left, at, room := map[int]bool{}, 0, 1.0
		for j := 1; j < nodes; j++ {
			left[j] = true
		}
		for r := b * steps; r < (b+1)*steps; r++ {
			action := int(actions[r])
			if action < 0 || action >= nodes {
				return fmt.Errorf("gorgonia: instance %d, step %d: no node %d; there are %d", b, r-b*steps, action, nodes)
			}
			d.selected.set(r*nodes+at, 1)
			d.capacity.set(r, room)
			for j := range nodes {
				possible := at != 0 || len(left) == 0
				if j > 0 {
					possible = left[j] && float64(demands[b*nodes+j]) <= room+1e-6
				}
				if !possible {
					d.hidden.set(r*nodes+j, hiddenLogit)
				}
			}
			if len(left) > 0 {
				d.chosen.set(r*nodes+action, float64(adv[b]))
				d.weight.set(r, float64(adv[b]))
			}
			at = action
			delete(left, at)
			room -= float64(demands[b*nodes+at])
			if at == 0 {
				room = 1
			}
		}
	}
	return nil
}
