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
