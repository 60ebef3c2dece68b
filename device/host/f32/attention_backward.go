package f32

// softmaxBackRowsGo equals, for every row, with the sum in the order of lanes:
//
//	ds[j] = (dp[j] - sum(p*dp)) * p[j] * s
func softmaxBackRowsGo(ds, p, dp []float32, rows, width, lds, ldp, lddp int, s float32) {
	for i := range rows {
		out, prob, up := ds[i*lds:i*lds+width], p[i*ldp:i*ldp+width], dp[i*lddp:i*lddp+width]
		var l lanes
		for j, x := range prob {
			l[j%len(l)] += float32(x * up[j])
		}
		dot := l.sum()
		for j, x := range prob {
			out[j] = float32(float32((up[j]-dot)*x) * s)
		}
	}
}

// headBackward computes the gradients of one head of one batch entry.
func (j *attentionJob) headBackward(s *attentionSpace, b, h int) {
	query, key := b*j.Queries, b*j.Keys
	probs, dout := j.probabilities(b, h), j.view(j.out, query, j.LDO, h)
	s.multiply(j.p.narrow, MatMul{Op: NT, M: j.Queries, N: j.Keys, K: j.HeadDim,
		A: dout, LDA: j.LDO,
		B: j.view(j.v, key, j.LDV, h), LDB: j.LDV,
		C: s.scores, LDC: s.ld}, true)
	j.p.softmaxBackRows(s.scores, probs, s.scores, j.Queries, j.Keys, s.ld, j.Keys, s.ld, j.Scale)
	s.multiply(j.p.narrow, MatMul{Op: NN, M: j.Queries, N: j.HeadDim, K: j.Keys,
		A: s.scores, LDA: s.ld,
		B: j.view(j.k, key, j.LDK, h), LDB: j.LDK,
		C: j.view(j.dq, query, j.LDQ, h), LDC: j.LDQ}, false)
	s.multiply(j.p.narrow, MatMul{Op: TN, M: j.Keys, N: j.HeadDim, K: j.Queries,
		A: s.scores, LDA: s.ld,
		B: j.view(j.q, query, j.LDQ, h), LDB: j.LDQ,
		C: j.view(j.dk, key, j.LDK, h), LDC: j.LDK, Accumulate: j.AccumulateKV}, false)
	s.multiply(j.p.narrow, MatMul{Op: TN, M: j.Keys, N: j.HeadDim, K: j.Queries,
		A: probs, LDA: j.Keys,
		B: dout, LDB: j.LDO,
		C: j.view(j.dv, key, j.LDV, h), LDC: j.LDV, Accumulate: j.AccumulateKV}, false)
}

// AttentionBackward is the gradient of Attention: from the gradient dout of its output and the probs that it stored it
// sets dq, dk and dv, whose strides are those of q, k and v; dout has that of out. With AccumulateKV it adds to dk and
// dv instead.
func AttentionBackward(dq, dk, dv, dout, probs, q, k, v []float32, a *AttentionShape) {
	a.check("AttentionBackward", q, k, v, dout, probs)
	a.check("AttentionBackward: gradient", dq, dk, dv, dout, probs)
	runAttention(attentionJob{AttentionShape: *a, q: q, k: k, v: v, out: dout, probs: probs,
		dq: dq, dk: dk, dv: dv, backward: true})
}
