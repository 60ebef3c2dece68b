package model

import "gputax/device"

// Backward makes Grads the gradient by the parameters of the sum over
// instances of Advantage times the log-probability that the last Evaluate gave.
// Evaluate and the Encode before it must have been given the same params.
func (m *Model) Backward(params device.Buffer) error {
	if err := m.begin("backward", params); err != nil {
		return err
	}
	m.launch(zero, device.Buf(m.Grads), device.Int(m.layout.Size))
	m.decodeBackward(params)
	for i := len(m.enc.layers) - 1; i >= 0; i-- {
		x := m.enc.x
		if i > 0 {
			x = m.enc.layers[i-1].out
		}
		m.layerBackward(&m.enc.layers[i], &m.layout.layers[i], x, params)
	}
	l := m.layout
	m.launch(embedBackward, device.Buf(m.grad.x), device.Buf(m.Coords), device.Buf(m.Demands),
		device.Buf(l.depotWeight.in(m.Grads)), device.Buf(l.depotBias.in(m.Grads)),
		device.Buf(l.customerWeight.in(m.Grads)), device.Buf(l.customerBias.in(m.Grads)),
		device.Int(m.batch), device.Int(m.cfg.Nodes()), device.Int(m.cfg.Width))
	return m.err
}

// decodeBackward goes from the log-probabilities to the encoded nodes: grad.x.
func (m *Model) decodeBackward(params device.Buffer) {
	g, s, l, d := &m.grad, &m.eval, m.layout, m.cfg.Width
	rows, tokens := m.batch*s.queries, m.batch*m.cfg.Nodes()
	batch, steps, nodes, width := device.Int(m.batch), device.Int(s.queries), device.Int(m.cfg.Nodes()), device.Int(d)
	keys, values, logitKeys := thirds(m.enc.kvl, d)
	dkeys, dvalues, dlogitKeys := thirds(g.wide, d)

	m.launch(scoresGradient, device.Buf(g.scores), device.Buf(s.logp), device.Buf(s.th), device.Buf(s.mask),
		device.Buf(m.Actions), device.Buf(s.active), device.Buf(m.Advantage), batch, steps, nodes, width)
	m.launch(scoresBackward, device.Buf(g.out), device.Buf(dlogitKeys), device.Buf(g.scores), device.Buf(s.out),
		device.Buf(logitKeys), batch, steps, nodes, width, device.Int(3*d))
	m.tn(product{c: l.out.in(m.Grads), a: s.glimpse, b: g.out, m: d, n: d, k: rows})
	m.nt(product{c: g.glimpse, a: g.out, b: l.out.in(params), m: rows, n: d, k: d})
	m.attendBackward(g.q, dkeys, dvalues, g.glimpse, s.probs, s.q, keys, values, s.queries, d)
	m.tn(product{c: l.step.in(m.Grads), a: s.ctx, b: g.q, m: d + 1, n: d, k: rows})
	m.nt(product{c: g.out, a: g.q, b: l.step.in(params), m: rows, n: d, k: d})
	m.launch(sumSteps, device.Buf(g.fixed), device.Buf(g.q), batch, steps, width)
	m.tn(product{c: l.fixed.in(m.Grads), a: m.enc.mean, b: g.fixed, m: d, n: d, k: m.batch})
	m.nt(product{c: g.mean, a: g.fixed, b: l.fixed.in(params), m: m.batch, n: d, k: d})
	m.tn(product{c: l.kvl.in(m.Grads), a: m.enc.output(), b: g.wide, m: d, n: 3 * d, k: tokens})
	m.nt(product{c: g.x, a: g.wide, b: l.kvl.in(params), m: tokens, n: d, k: 3 * d})
	m.launch(contextBackward, device.Buf(g.x), device.Buf(g.mean), device.Buf(g.out), device.Buf(s.cur),
		batch, steps, nodes, width)
}

// layerBackward goes from a layer's output to its input x, in grad.x.
func (m *Model) layerBackward(s *layerSpace, p *layerParams, x, params device.Buffer) {
	if m.whole == nil {
		m.feedForwardBackward(s, p, params)
		m.attentionBackward(s, p, x, params)
		return
	}
	g := &m.grad
	m.launchOn(m.whole.backward, []device.Buffer{g.x, g.sum2, g.hidden, g.sum1, g.wide, g.norms, s.sum2, s.mean2, s.rstd2, s.hidden,
		s.sum1, s.mean1, s.rstd1, s.probs, s.qkv, p.qkv.in(params), p.out.in(params), p.gamma1.in(params),
		p.weight1.in(params), p.weight2.in(params), p.gamma2.in(params)},
		m.batch, m.cfg.Nodes(), m.cfg.Width, m.cfg.Heads, m.cfg.Hidden)
	m.launchOn(m.whole.gradients, []device.Buffer{p.qkv.in(m.Grads), p.out.in(m.Grads), p.gamma1.in(m.Grads), p.beta1.in(m.Grads),
		p.weight1.in(m.Grads), p.bias1.in(m.Grads), p.weight2.in(m.Grads), p.bias2.in(m.Grads), p.gamma2.in(m.Grads), p.beta2.in(m.Grads),
		x, s.att, s.mid, s.hidden, g.wide, g.sum1, g.hidden, g.sum2, g.norms},
		m.batch, m.cfg.Nodes(), m.cfg.Width, m.cfg.Hidden)
}

// feedForwardBackward goes from a layer's output to the middle of it, in grad.x.
func (m *Model) feedForwardBackward(s *layerSpace, p *layerParams, params device.Buffer) {
	g, rows, d, f := &m.grad, m.batch*m.cfg.Nodes(), m.cfg.Width, m.cfg.Hidden
	m.normBackward(s.sum2, s.mean2, s.rstd2, p.gamma2, p.beta2, params)
	m.tn(product{c: p.weight2.in(m.Grads), a: s.hidden, b: g.x, m: f, n: d, k: rows})
	m.sumRows(p.bias2, g.x)
	m.nt(product{c: g.hidden, a: g.x, b: p.weight2.in(params), m: rows, n: f, k: d})
	m.launch(reluBackward, device.Buf(g.hidden), device.Buf(s.hidden), device.Int(rows*f))
	m.tn(product{c: p.weight1.in(m.Grads), a: s.mid, b: g.hidden, m: d, n: f, k: rows})
	m.sumRows(p.bias1, g.hidden)
	m.nt(product{c: g.x, a: g.hidden, b: p.weight1.in(params), m: rows, n: d, k: f, accumulate: true})
}

// attentionBackward goes from the middle of a layer to its input x, in grad.x.
func (m *Model) attentionBackward(s *layerSpace, p *layerParams, x, params device.Buffer) {
	g, rows, d := &m.grad, m.batch*m.cfg.Nodes(), m.cfg.Width
	q, k, v := thirds(s.qkv, d)
	dq, dk, dv := thirds(g.wide, d)
	m.normBackward(s.sum1, s.mean1, s.rstd1, p.gamma1, p.beta1, params)
	m.tn(product{c: p.out.in(m.Grads), a: s.att, b: g.x, m: d, n: d, k: rows})
	m.nt(product{c: g.att, a: g.x, b: p.out.in(params), m: rows, n: d, k: d})
	m.attendBackward(dq, dk, dv, g.att, s.probs, q, k, v, m.cfg.Nodes(), 3*d)
	m.tn(product{c: p.qkv.in(m.Grads), a: x, b: g.wide, m: d, n: 3 * d, k: rows})
	m.nt(product{c: g.x, a: g.wide, b: p.qkv.in(params), m: rows, n: d, k: 3 * d, accumulate: true})
}

// attendBackward launches the gradient of attend.
func (m *Model) attendBackward(dq, dk, dv, dout, probs, q, k, v device.Buffer, queries, ldq int) {
	d, dim := m.cfg.Width, m.cfg.HeadDim()
	m.launch(attentionBackward, device.Buf(dq), device.Buf(dk), device.Buf(dv), device.Buf(dout), device.Buf(probs),
		device.Buf(q), device.Buf(k), device.Buf(v),
		device.Int(m.batch), device.Int(m.cfg.Heads), device.Int(queries), device.Int(m.cfg.Nodes()), device.Int(dim),
		device.Int(ldq), device.Int(3*d), device.Int(d), device.Float(invSqrt(dim)))
}

// normBackward launches the gradient of a layer norm of sum, on grad.x.
func (m *Model) normBackward(sum, mean, rstd device.Buffer, gamma, beta Param, params device.Buffer) {
	m.launch(normBackward, device.Buf(m.grad.x), device.Buf(sum), device.Buf(gamma.in(params)), device.Buf(mean), device.Buf(rstd),
		device.Buf(gamma.in(m.Grads)), device.Buf(beta.in(m.Grads)), device.Buf(m.grad.scratch),
		device.Int(m.batch*m.cfg.Nodes()), device.Int(m.cfg.Width))
}

// sumRows launches a bias's gradient: the sum of dy's rows.
func (m *Model) sumRows(bias Param, dy device.Buffer) {
	m.launch(sumRows, device.Buf(bias.in(m.Grads)), device.Buf(dy), device.Int(m.batch*m.cfg.Nodes()), device.Int(bias.Size))
}
