package f32

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

var benchShapes = []struct{ m, n, k int }{
	{1408, 128, 128}, {1408, 384, 128}, {1408, 512, 128}, {1408, 128, 512}, {128, 128, 128}, {11008, 128, 128},
}

var opNames = []string{"NN", "NT", "TN"}

// BenchmarkMatMul times MatMul and gonum's Gemm side by side. In TN the long side is K, as in a weight's gradient.
func BenchmarkMatMul(b *testing.B) {
	for op, opName := range opNames {
		for _, s := range benchShapes {
			if Trans(op) == TN {
				s.m, s.k = s.k, s.m
			}
			mm := randomMatMul(newRand(7), Trans(op), s.m, s.n, s.k, 0)
			rate := func(b *testing.B) {
				flop := 2 * float64(s.m) * float64(s.n) * float64(s.k)
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
			name := fmt.Sprintf("op=%s/shape=%dx%dx%d", opName, s.m, s.n, s.k)
			for _, path := range Paths() {
				b.Run(name+"/impl=ours/path="+path, func(b *testing.B) {
					withPath(b, path, 0, func() {
						for b.Loop() {
							mm.Run()
						}
					})
					rate(b)
				})
			}
			b.Run(name+"/impl=gonum/path=blas32", func(b *testing.B) {
				for b.Loop() {
					runGonum(&mm)
				}
				rate(b)
			})
		}
	}
}

// runGonum computes the same product with gonum.
func runGonum(m *MatMul) {
	ta, tb := blas.NoTrans, blas.NoTrans
	ar, ac, br, bc := m.M, m.K, m.K, m.N
	switch m.Op {
	case NT:
		tb, br, bc = blas.Trans, m.N, m.K
	case TN:
		ta, ar, ac = blas.Trans, m.K, m.M
	}
	blas32.Gemm(ta, tb, 1,
		blas32.General{Rows: ar, Cols: ac, Stride: m.LDA, Data: m.A},
		blas32.General{Rows: br, Cols: bc, Stride: m.LDB, Data: m.B}, 0,
		blas32.General{Rows: m.M, Cols: m.N, Stride: m.LDC, Data: m.C})
}

// BenchmarkOperation times the other operations at the sizes of the reference workload, on every path.
func BenchmarkOperation(b *testing.B) {
	const rows, width, params = 1408, 128, 700_000
	r := newRand(1)
	x, y, z := normals(r, params), make([]float32, params), make([]float32, params)
	mean, rstd, gamma := make([]float32, rows), make([]float32, rows), normals(r, width)
	encoder := AttentionShape{Batch: 128, Heads: 8, Queries: 11, Keys: 11, HeadDim: 16, LDQ: 384, LDK: 384, LDV: 384, LDO: 128, Scale: 0.25}
	decoder := AttentionShape{Batch: 128, Heads: 8, Queries: 20, Keys: 11, HeadDim: 16, LDQ: 128, LDK: 384, LDV: 384, LDO: 128, Scale: 0.25,
		Mask: make([]uint8, 128*20*11)}
	q, probs, out := normals(r, 2560*384), make([]float32, 128*8*20*11), make([]float32, 2560*128)
	dq, dk, dv := make([]float32, 2560*384), make([]float32, 2560*384), make([]float32, 2560*384)
	for _, op := range []struct {
		name string
		run  func()
	}{
		{"exp", func() { Exp(y[:rows*width], x) }},
		{"tanh", func() { Tanh(y[:rows*width], x) }},
		{"softmax", func() { Softmax(y, x, 2560, 11, 11) }},
		{"logsoftmax", func() { LogSoftmax(y, x, 2560, 11, 11) }},
		{"addlayernorm", func() { AddLayerNorm(y, z, x, x, gamma, gamma, mean, rstd, rows, width, 1e-5) }},
		{"layernormbackward", func() { LayerNormBackward(y, x, x, gamma, mean, rstd, z, z[width:], rows, width) }},
		{"attention", func() { Attention(out, probs, q, q[128:], q[256:], &encoder) }},
		{"attentionbackward", func() { AttentionBackward(dq, dk, dv, out, probs, q, q[128:], q[256:], &encoder) }},
		{"maskedattention", func() { Attention(out, probs, q, q[128:], q[256:], &decoder) }},
		{"add", func() { Add(y[:rows*width], x, x) }},
		{"relugrad", func() { ReLUGrad(y[:rows*width], x, x) }},
		{"sumrows", func() { SumRows(y, x, rows, 256, 256, false) }},
		{"sumsquares", func() { SumSquares(x) }},
		{"adam", func() { Adam(y, z, z, x, 5, 1e-4, 0.9, 0.999, 1e-8, 1) }},
	} {
		for _, path := range Paths() {
			b.Run("op="+op.name+"/path="+path, func(b *testing.B) {
				withPath(b, path, 0, func() {
					for b.Loop() {
						op.run()
					}
				})
			})
		}
	}
}
