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
