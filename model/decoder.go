package model

import "gputax/device"

// Rollout decodes a route for every instance of the last Encode, step by step:
// it fills Actions, and LogProb with their log-probability. Greedy takes the
// likeliest node in every step; otherwise nodes are drawn with the seed and the
// step number in Control.
func (m *Model) Rollout(params device.Buffer, greedy bool) error {
	if err := m.begin("rollout", params); err != nil {
		return err
	}
	if m.opt.Rollout == RolloutFused {
		m.rollFused(params, greedy)
		return m.err
	}
	batch, nodes, steps := device.Int(m.batch), device.Int(m.cfg.Nodes()), device.Int(m.cfg.Steps())
	s := &m.roll
	m.launch(start, device.Buf(s.cur), device.Buf(s.capacity), device.Buf(s.visited), device.Buf(s.mask),
		device.Buf(m.LogProb), device.Buf(m.Demands), batch, nodes)
	for t := range m.cfg.Steps() {
		m.decode(&s.decodeSpace, params)
		m.launch(choose, device.Buf(m.Actions), device.Buf(m.LogProb), device.Buf(s.logp), device.Buf(s.chances),
			device.Buf(s.th), device.Buf(s.mask), device.Buf(m.Control), batch, nodes, steps, device.Int(t), flag(greedy))
		m.launch(advance, device.Buf(s.cur), device.Buf(s.capacity), device.Buf(s.visited), device.Buf(s.mask),
			device.Buf(m.Actions), device.Buf(m.Demands), batch, nodes, steps, device.Int(t))
	}
	return m.err
}

// rollFused launches all steps at once, after the products of every node with
// what does not change over steps: the query's part for a vehicle that is
// there, and the logit key times the output's weights.
func (m *Model) rollFused(params device.Buffer, greedy bool) {
	s, l, d, rows := &m.roll, m.layout, m.cfg.Width, m.batch*m.cfg.Nodes()
	step := l.step.in(params)
	_, _, logitKeys := thirds(m.enc.kvl, d)
	m.nn(product{c: s.place, a: m.enc.output(), b: step, m: rows, n: d, k: d})
	m.multiply(m.mm.nt, &product{c: s.logits, a: logitKeys, b: l.out.in(params), m: rows, n: d, k: d}, 3*d, d)
	m.launch(rollout, device.Buf(m.Actions), device.Buf(m.LogProb), device.Buf(m.enc.kvl), device.Buf(s.place),
		device.Buf(s.logits), device.Buf(m.enc.fixed), device.Buf(step.Slice(4*d*d, 4*d)), device.Buf(m.Demands),
		device.Buf(m.Control), device.Int(m.batch), device.Int(m.cfg.Nodes()), device.Int(d), device.Int(m.cfg.Heads),
		device.Int(m.cfg.Steps()), flag(greedy))
}

// decode launches what leads from the states in s to their scores, s.th.
func (m *Model) decode(s *decodeSpace, params device.Buffer) {
	rows, d, x := m.batch*s.queries, m.cfg.Width, m.enc.output()
	batch, queries, nodes, width := device.Int(m.batch), device.Int(s.queries), device.Int(m.cfg.Nodes()), device.Int(d)
	keys, values, logitKeys := thirds(m.enc.kvl, d)
	m.launch(context, device.Buf(s.ctx), device.Buf(s.q), device.Buf(x), device.Buf(m.enc.fixed),
		device.Buf(s.cur), device.Buf(s.capacity), batch, queries, nodes, width)
	m.nn(product{c: s.q, a: s.ctx, b: m.layout.step.in(params), m: rows, n: d, k: d + 1, accumulate: true})
	m.attend(s.glimpse, s.probs, s.q, keys, values, s.mask, s.queries, d)
	m.nn(product{c: s.out, a: s.glimpse, b: m.layout.out.in(params), m: rows, n: d, k: d})
	m.launch(scores, device.Buf(s.th), device.Buf(s.out), device.Buf(logitKeys), device.Buf(s.mask),
		batch, queries, nodes, width, device.Int(3*d))
}

// Evaluate fills LogProb with the log-probability of Actions, all steps of all
// instances of the last Encode at once. Actions must be nodes, and LogProb is
// -Inf where one is hidden by the mask.
func (m *Model) Evaluate(params device.Buffer) error {
	if err := m.begin("evaluate", params); err != nil {
		return err
	}
	batch, nodes, steps := device.Int(m.batch), device.Int(m.cfg.Nodes()), device.Int(m.cfg.Steps())
	s := &m.eval
	m.launch(replay, device.Buf(s.cur), device.Buf(s.capacity), device.Buf(s.mask), device.Buf(s.active),
		device.Buf(m.roll.visited), device.Buf(m.Actions), device.Buf(m.Demands), batch, nodes, steps)
	m.decode(&s.decodeSpace, params)
	m.launch(routeLogprobs, device.Buf(m.LogProb), device.Buf(s.logp), device.Buf(s.th), device.Buf(s.mask),
		device.Buf(m.Actions), device.Buf(s.active), batch, steps, nodes)
	return m.err
}
