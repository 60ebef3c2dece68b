package f32

import (
	"math"
	"testing"
)

// attention64 is one head of Attention and its gradients, all row-major without gaps.
type attention64 struct {
	queries, keys, dim     int
	q, k, v, dout          []float64
	out, probs, dq, dk, dv []float64
}

func (a *attention64) run(scale float64, mask []uint8) {
	a.out, a.dq = make([]float64, len(a.q)), make([]float64, len(a.q))
	a.dk, a.dv = make([]float64, len(a.k)), make([]float64, len(a.k))
	a.probs = nil
	for i := range a.queries {
		s := make([]float64, a.keys)
		for j := range s {
			for d := range a.dim {
				s[j] += scale * a.q[i*a.dim+d] * a.k[j*a.dim+d]
			}
			if mask != nil && mask[i*a.keys+j] != 0 {
				s[j] = math.Inf(-1)
			}
		}
		p := softmax64(s)
		a.probs = append(a.probs, p...)
		dp, dot := make([]float64, a.keys), 0.0
		for j := range p {
			for d := range a.dim {
				a.out[i*a.dim+d] += p[j] * a.v[j*a.dim+d]
				dp[j] += a.dout[i*a.dim+d] * a.v[j*a.dim+d]
				a.dv[j*a.dim+d] += p[j] * a.dout[i*a.dim+d]
			}
			dot += p[j] * dp[j]
		}
		for j := range p {
			ds := scale * p[j] * (dp[j] - dot)
			for d := range a.dim {
				a.dq[i*a.dim+d] += ds * a.k[j*a.dim+d]
				a.dk[j*a.dim+d] += ds * a.q[i*a.dim+d]
			}
		}
	}
}

// part copies rows of one head out of a matrix.
func part(x []float32, row, rows, ld, col, width int) []float32 {
	var y []float32
	for i := range rows {
		y = append(y, x[(row+i)*ld+col:][:width]...)
	}
	return y
}

// TestAttentionReference also bounds the portable path, which rounds products: it is held to the same tolerance.
func TestAttentionReference(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for seed := range uint64(40) {
			r := newRand(seed)
			a, q, k, v := randomAttention(r, 1000+int(seed))
			rows, keys := a.Batch*a.Queries, a.Batch*a.Keys
			dout := normals(r, rows*a.LDO)
			out, probs := make([]float32, rows*a.LDO), make([]float32, rows*a.Heads*a.Keys)
			Attention(out, probs, q, k, v, &a)
			dq, dk, dv := make([]float32, rows*a.LDQ), normals(r, keys*a.LDK), normals(r, keys*a.LDV)
			oldK, oldV := clone(dk), clone(dv)
			if !a.AccumulateKV {
				clear(oldK)
				clear(oldV)
			}
			AttentionBackward(dq, dk, dv, dout, probs, q, k, v, &a)
			for b := range a.Batch {
				for h := range a.Heads {
					i, j, c := b*a.Queries, b*a.Keys, h*a.HeadDim
					ref := attention64{queries: a.Queries, keys: a.Keys, dim: a.HeadDim,
						q:    wide64(part(q, i, a.Queries, a.LDQ, c, a.HeadDim)),
						k:    wide64(part(k, j, a.Keys, a.LDK, c, a.HeadDim)),
						v:    wide64(part(v, j, a.Keys, a.LDV, c, a.HeadDim)),
						dout: wide64(part(dout, i, a.Queries, a.LDO, c, a.HeadDim))}
					var mask []uint8
					if a.Mask != nil {
						mask = a.Mask[i*a.Keys:]
					}
					ref.run(float64(a.Scale), mask)
					for n, x := range part(oldK, j, a.Keys, a.LDK, c, a.HeadDim) {
						ref.dk[n] += float64(x)
					}
					for n, x := range part(oldV, j, a.Keys, a.LDV, c, a.HeadDim) {
						ref.dv[n] += float64(x)
					}
					checkClose(t, "probs", probs[(b*a.Heads+h)*a.Queries*a.Keys:], ref.probs, 1e-5)
					checkClose(t, "out", part(out, i, a.Queries, a.LDO, c, a.HeadDim), ref.out, 1e-5)
					checkClose(t, "dq", part(dq, i, a.Queries, a.LDQ, c, a.HeadDim), ref.dq, 3e-5)
					checkClose(t, "dk", part(dk, j, a.Keys, a.LDK, c, a.HeadDim), ref.dk, 3e-5)
					checkClose(t, "dv", part(dv, j, a.Keys, a.LDV, c, a.HeadDim), ref.dv, 3e-5)
				}
			}
		}
	})
}

func TestAttentionOfNothing(t *testing.T) {
	a := AttentionShape{Batch: 1, Heads: 1, Queries: 2, Keys: 0, HeadDim: 2, LDQ: 3, LDK: 2, LDV: 2, LDO: 3}
	out := []float32{1, 2, 3, 4, 5, 6}
	Attention(out, nil, make([]float32, 6), nil, nil, &a)
	if want := []float32{0, 0, 3, 0, 0, 6}; differ(out, want) >= 0 {
		t.Errorf("without keys: out is %v, want %v", out, want)
	}
	a = AttentionShape{Batch: 1, Heads: 1, Queries: 0, Keys: 1, HeadDim: 2, LDQ: 2, LDK: 2, LDV: 2, LDO: 2}
	for _, a.AccumulateKV = range []bool{true, false} {
		dk, dv := []float32{1, 2}, []float32{3, 4}
		AttentionBackward(nil, dk, dv, nil, nil, nil, make([]float32, 2), make([]float32, 2), &a)
		if cleared := dk[0] == 0 && dv[1] == 0; cleared == a.AccumulateKV {
			t.Errorf("without queries, AccumulateKV %v: dk is %v, dv is %v", a.AccumulateKV, dk, dv)
		}
	}
}
