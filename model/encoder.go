package model

import (
	"errors"
	"fmt"

	"gputax/device"
)

// Encode embeds the nodes of Coords and Demands, runs the encoder, and computes
// what the decoder needs of every node. It keeps all of that for Rollout,
// Evaluate and Backward, which must be given the same params.
func (m *Model) Encode(params device.Buffer) error {
	if err := m.begin("encode", params); err != nil {
		return err
	}
	m.embed(params)
	x := m.enc.x
	for i := range m.enc.layers {
		m.encodeLayer(&m.enc.layers[i], &m.layout.layers[i], x, params)
		x = m.enc.layers[i].out
	}
	rows, d := m.batch*m.cfg.Nodes(), m.cfg.Width
	m.nn(product{c: m.enc.kvl, a: x, b: m.layout.kvl.in(params), m: rows, n: 3 * d, k: d})
	m.launch(meanNodes, device.Buf(m.enc.mean), device.Buf(x), device.Int(m.batch), device.Int(m.cfg.Nodes()), device.Int(d))
	m.nn(product{c: m.enc.fixed, a: m.enc.mean, b: m.layout.fixed.in(params), m: m.batch, n: d, k: d})
	return m.err
}

// encodeLayer launches one layer on x.
func (m *Model) encodeLayer(s *layerSpace, p *layerParams, x, params device.Buffer) {
	if m.whole != nil {
		m.launchOn(m.whole.forward, []device.Buffer{s.out, x, s.qkv, s.probs, s.att, s.sum1, s.mean1, s.rstd1, s.mid, s.hidden,
			s.sum2, s.mean2, s.rstd2, p.qkv.in(params), p.out.in(params), p.gamma1.in(params), p.beta1.in(params),
			p.weight1.in(params), p.bias1.in(params), p.weight2.in(params), p.bias2.in(params), p.gamma2.in(params), p.beta2.in(params)},
			m.batch, m.cfg.Nodes(), m.cfg.Width, m.cfg.Heads, m.cfg.Hidden)
		return
	}
	rows, d, f := m.batch*m.cfg.Nodes(), m.cfg.Width, m.cfg.Hidden
	m.nn(product{c: s.qkv, a: x, b: p.qkv.in(params), m: rows, n: 3 * d, k: d})
	q, k, v := thirds(s.qkv, d)
	m.attend(s.att, s.probs, q, k, v, device.Buffer{}, m.cfg.Nodes(), 3*d)
	m.nn(product{c: s.sum1, a: s.att, b: p.out.in(params), m: rows, n: d, k: d})
	m.addNorm(s.mid, s.sum1, x, p.gamma1.in(params), p.beta1.in(params), s.mean1, s.rstd1)
	m.nn(product{c: s.hidden, a: s.mid, b: p.weight1.in(params), bias: p.bias1.in(params), m: rows, n: f, k: d, relu: true})
	m.nn(product{c: s.sum2, a: s.hidden, b: p.weight2.in(params), bias: p.bias2.in(params), m: rows, n: d, k: f})
	m.addNorm(s.out, s.sum2, s.mid, p.gamma2.in(params), p.beta2.in(params), s.mean2, s.rstd2)
}

// layerSize is the size of a layer, as the fused kernels take it.
func (m *Model) layerSize() layerSize {
	return layerSize{m.batch, m.cfg.Nodes(), m.cfg.Width, m.cfg.Heads, m.cfg.Hidden}
}

// thirds are the three matrices of width d that lie side by side in b.
func thirds(b device.Buffer, d int) (first, second, third device.Buffer) {
	return b, b.Slice(4*d, b.Size()-4*d), b.Slice(8*d, b.Size()-8*d)
}

// attend launches multi-head attention of some queries of every instance over
// its nodes. Rows of k and v are three widths apart, those of q ldq.
func (m *Model) attend(out, probs, q, k, v, mask device.Buffer, queries, ldq int) {
	d, dim := m.cfg.Width, m.cfg.HeadDim()
	m.launch(attention, device.Buf(out), device.Buf(probs), device.Buf(q), device.Buf(k), device.Buf(v), device.Buf(mask),
		device.Int(m.batch), device.Int(m.cfg.Heads), device.Int(queries), device.Int(m.cfg.Nodes()), device.Int(dim),
		device.Int(ldq), device.Int(3*d), device.Int(d), device.Float(invSqrt(dim)))
}

// addNorm launches y = the layer norm of sum += x.
func (m *Model) addNorm(y, sum, x, gamma, beta, mean, rstd device.Buffer) {
	m.launch(addNorm, device.Buf(y), device.Buf(sum), device.Buf(x), device.Buf(sum), device.Buf(gamma), device.Buf(beta),
		device.Buf(mean), device.Buf(rstd), device.Int(m.batch*m.cfg.Nodes()), device.Int(m.cfg.Width))
}

// embed fills enc.x in the way Options say.
func (m *Model) embed(params device.Buffer) {
	batch, nodes := m.batch, m.cfg.Nodes()
	switch m.opt.Embed {
	case EmbedVectorized:
		l := m.layout
		m.launch(embed, device.Buf(m.enc.x), device.Buf(m.Coords), device.Buf(m.Demands),
			device.Buf(l.depotWeight.in(params)), device.Buf(l.depotBias.in(params)),
			device.Buf(l.customerWeight.in(params)), device.Buf(l.customerBias.in(params)),
			device.Int(batch), device.Int(nodes), device.Int(m.cfg.Width))
	case EmbedHoisted:
		m.embedTyped(params, m.kinds[depotToken], 0, batch, 0, 1)
		m.embedTyped(params, m.kinds[customerToken], 0, batch, 1, nodes-1)
	case EmbedPerToken:
		for i := range batch * nodes {
			m.embedOne(params, i/nodes, i%nodes)
		}
	}
}

// embedOne embeds one node with a tensor of its own for its kind.
func (m *Model) embedOne(params device.Buffer, instance, node int) {
	if m.err != nil {
		return
	}
	kind, err := m.rec.Alloc(4)
	if err != nil {
		m.err = fmt.Errorf("model: encode: the kind of node %d of instance %d: %w", node, instance, err)
		return
	}
	i := min(node, customerToken)
	m.err = m.rec.Upload(kind, device.Bytes(tokenKinds[i:i+1]))
	m.embedTyped(params, kind, instance, 1, node, 1)
	m.err = errors.Join(m.err, m.rec.Free(kind))
}

func (m *Model) embedTyped(params, kind device.Buffer, from, instances, first, count int) {
	l := m.layout
	m.launch(embedTyped, device.Buf(m.enc.x), device.Buf(m.Coords), device.Buf(m.Demands),
		device.Buf(l.depotWeight.in(params)), device.Buf(l.depotBias.in(params)),
		device.Buf(l.customerWeight.in(params)), device.Buf(l.customerBias.in(params)), device.Buf(kind),
		device.Int(from), device.Int(instances), device.Int(first), device.Int(count),
		device.Int(m.cfg.Nodes()), device.Int(m.cfg.Width))
}
