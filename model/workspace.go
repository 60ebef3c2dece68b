package model

import "gputax/device"

// encoderSpace holds what Encode computes.
type encoderSpace struct {
	x      device.Buffer // [batch, nodes, width]: the embedded nodes, the first layer's input
	layers []layerSpace
	kvl    device.Buffer // [batch, nodes, 3*width]: the decoder's keys, values and logit keys
	mean   device.Buffer // [batch, width]: of the encoded nodes
	fixed  device.Buffer // [batch, width]: the part of every query that does not change
}

// layerSpace holds what one encoder layer computes.
type layerSpace struct {
	qkv          device.Buffer // [rows, 3*width], with rows = batch*nodes
	probs        device.Buffer // [batch, heads, nodes, nodes]
	att          device.Buffer // [rows, width]: the heads side by side
	sum1         device.Buffer // [rows, width]: the input plus the attention's output
	mean1, rstd1 device.Buffer // [rows]
	mid          device.Buffer // [rows, width]: sum1 normalised
	hidden       device.Buffer // [rows, hidden]
	sum2         device.Buffer // [rows, width]: mid plus the feed-forward output
	mean2, rstd2 device.Buffer // [rows]
	out          device.Buffer // [rows, width]: sum2 normalised
}

// output is the encoded nodes.
func (e *encoderSpace) output() device.Buffer { return e.layers[len(e.layers)-1].out }

// decodeSpace holds what decoding computes for some queries of every instance:
// one in a rollout, one a step in an evaluation. rows is batch*queries.
type decodeSpace struct {
	queries  int
	cur      device.Buffer // int32 [rows]: where the vehicle is
	capacity device.Buffer // [rows]: what it can still load
	mask     device.Buffer // bytes [rows, nodes]: not 0 hides the node
	ctx      device.Buffer // [rows, width+1]
	q        device.Buffer // [rows, width]
	probs    device.Buffer // [batch, heads, queries, nodes]
	glimpse  device.Buffer // [rows, width]
	out      device.Buffer // [rows, width]
	th       device.Buffer // [rows, nodes]
	logp     device.Buffer // [rows, nodes]
}

// rolloutSpace is the state of a rollout, and what the fused one computes
// before.
type rolloutSpace struct {
	decodeSpace
	visited device.Buffer // bytes [batch, nodes]
	chances device.Buffer // [batch, nodes]: exp(logp)

	place  device.Buffer // [batch, nodes, width]: what a node adds to the query of a vehicle there
	logits device.Buffer // [batch, nodes, width]: what the glimpse is multiplied with
}

// evaluateSpace is what an evaluation keeps for Backward.
type evaluateSpace struct {
	decodeSpace
	active device.Buffer // bytes [batch, steps]
}

// gradientSpace holds gradients of activations on their way back.
type gradientSpace struct {
	scores  device.Buffer // [batch*steps, nodes]
	out     device.Buffer // [batch*steps, width]: of the decoder's output, then of its context
	glimpse device.Buffer // [batch*steps, width]
	q       device.Buffer // [batch*steps, width]
	fixed   device.Buffer // [batch, width]
	mean    device.Buffer // [batch, width]
	x       device.Buffer // [rows, width]: of the layer's output, then of its input
	att     device.Buffer // [rows, width]
	wide    device.Buffer // [rows, 3*width]: of kvl, then of every qkv
	hidden  device.Buffer // [rows, hidden]
	scratch device.Buffer // zeros, for normBackward

	sum1, sum2 device.Buffer // [rows, width]: of what a layer's norms take, where layers are fused
	norms      device.Buffer // [parts, 4*width]: see newLayerBackward
}

// allocate makes every buffer.
func (m *Model) allocate() {
	b, n, t := m.batch, m.cfg.Nodes(), m.cfg.Steps()
	m.floats(&m.Coords, b*n*2)
	m.floats(&m.Demands, b*n)
	m.floats(&m.Control, controlWords)
	m.floats(&m.Advantage, b)
	m.floats(&m.Actions, b*t)
	m.floats(&m.LogProb, b)
	m.floats(&m.Grads, m.layout.Size)
	m.allocateEncoder()
	m.bytes(&m.roll.visited, b*n)
	switch m.opt.Rollout {
	case RolloutSteps:
		m.allocateDecode(&m.roll.decodeSpace, 1)
		m.floats(&m.roll.chances, b*n)
	case RolloutFused:
		m.floats(&m.roll.place, b*n*m.cfg.Width)
		m.floats(&m.roll.logits, b*n*m.cfg.Width)
	}
	m.allocateDecode(&m.eval.decodeSpace, t)
	m.bytes(&m.eval.active, b*t)
	m.allocateGradients()
}

func (m *Model) allocateEncoder() {
	rows, d, e := m.batch*m.cfg.Nodes(), m.cfg.Width, &m.enc
	m.floats(&e.x, rows*d)
	e.layers = make([]layerSpace, m.cfg.Layers)
	for i := range e.layers {
		l := &e.layers[i]
		m.floats(&l.qkv, rows*3*d)
		m.floats(&l.probs, rows*m.cfg.Nodes()*m.cfg.Heads)
		for _, b := range []*device.Buffer{&l.att, &l.sum1, &l.mid, &l.sum2, &l.out} {
			m.floats(b, rows*d)
		}
		for _, b := range []*device.Buffer{&l.mean1, &l.rstd1, &l.mean2, &l.rstd2} {
			m.floats(b, rows)
		}
		m.floats(&l.hidden, rows*m.cfg.Hidden)
	}
	m.floats(&e.kvl, rows*3*d)
	m.floats(&e.mean, m.batch*d)
	m.floats(&e.fixed, m.batch*d)
}

func (m *Model) allocateDecode(s *decodeSpace, queries int) {
	s.queries = queries
	rows, n, d := m.batch*queries, m.cfg.Nodes(), m.cfg.Width
	m.floats(&s.cur, rows)
	m.floats(&s.capacity, rows)
	m.bytes(&s.mask, rows*n)
	m.floats(&s.ctx, rows*(d+1))
	m.floats(&s.q, rows*d)
	m.floats(&s.probs, rows*n*m.cfg.Heads)
	m.floats(&s.glimpse, rows*d)
	m.floats(&s.out, rows*d)
	m.floats(&s.th, rows*n)
	m.floats(&s.logp, rows*n)
}

func (m *Model) allocateGradients() {
	g, d := &m.grad, m.cfg.Width
	queries, rows := m.batch*m.cfg.Steps(), m.batch*m.cfg.Nodes()
	m.floats(&g.scores, queries*m.cfg.Nodes())
	m.floats(&g.out, queries*d)
	m.floats(&g.glimpse, queries*d)
	m.floats(&g.q, queries*d)
	m.floats(&g.fixed, m.batch*d)
	m.floats(&g.mean, m.batch*d)
	m.floats(&g.x, rows*d)
	m.floats(&g.wide, rows*3*d)
	m.floats(&g.hidden, rows*m.cfg.Hidden)
	if m.whole == nil {
		m.floats(&g.att, rows*d)
		m.floats(&g.scratch, normScratch(rows, d))
		return
	}
	m.floats(&g.sum1, rows*d)
	m.floats(&g.sum2, rows*d)
	parts, _ := m.layerSize().parts()
	m.floats(&g.norms, parts*4*d)
}
