package f32

import (
	"math"
	"math/rand/v2"
	"testing"
)

// clone copies a slice, so that an operation can be run again on the same input.
func clone(x []float32) []float32 { return append([]float32(nil), x...) }

// An operation makes its inputs of about n elements from r and returns a function that runs it on copies of them and
// returns the outputs.
type operation struct {
	name   string
	fused  bool // uses matrix products, in which the portable path rounds differently
	inputs func(r *rand.Rand, n int) func() [][]float32
}

var operations = []operation{
	{"Exp", false, func(r *rand.Rand, n int) func() [][]float32 {
		x := spread(r, n, 60)
		return func() [][]float32 { y := make([]float32, n); Exp(y, x); return [][]float32{y} }
	}},
	{"Tanh", false, func(r *rand.Rand, n int) func() [][]float32 {
		x := spread(r, n, 3)
		return func() [][]float32 { y := make([]float32, n); Tanh(y, x); return [][]float32{y} }
	}},
	{"Softmax", false, func(r *rand.Rand, n int) func() [][]float32 {
		rows, width, ld := shapeOf(r, n)
		x := spread(r, rows*ld, 5)
		return func() [][]float32 { y := clone(x); Softmax(y, x, rows, width, ld); return [][]float32{y} }
	}},
	{"LogSoftmax", false, func(r *rand.Rand, n int) func() [][]float32 {
		rows, width, ld := shapeOf(r, n)
		x := spread(r, rows*ld, 5)
		return func() [][]float32 { y := clone(x); LogSoftmax(y, y, rows, width, ld); return [][]float32{y} }
	}},
	{"AddLayerNorm", false, func(r *rand.Rand, n int) func() [][]float32 {
		rows, width, _ := shapeOf(r, n)
		a, b, g, s := spread(r, rows*width, 1), spread(r, rows*width, 2), normals(r, width), normals(r, width)
		return func() [][]float32 {
			y, sum, mean, rstd := clone(a), clone(a), make([]float32, rows), make([]float32, rows)
			AddLayerNorm(y, sum, a, b, g, s, mean, rstd, rows, width, 1e-5)
			z := clone(a)
			LayerNorm(z, sum, g, s, mean, rstd, rows, width, 1e-5)
			return [][]float32{y, sum, mean, rstd, z}
		}
	}},
	{"LayerNormBackward", false, func(r *rand.Rand, n int) func() [][]float32 {
		rows, width, _ := shapeOf(r, n)
		dy, x, g := spread(r, rows*width, 1), spread(r, rows*width, 2), normals(r, width)
		mean, rstd, dg, db := normals(r, rows), normals(r, rows), normals(r, width), normals(r, width)
		return func() [][]float32 {
			dx, dgamma, dbeta := clone(dy), clone(dg), clone(db)
			LayerNormBackward(dx, dy, x, g, mean, rstd, dgamma, dbeta, rows, width)
			return [][]float32{dx, dgamma, dbeta}
		}
	}},
	{"elementwise", false, func(r *rand.Rand, n int) func() [][]float32 {
		a, b := spread(r, n, 1), spread(r, n, 1)
		return func() [][]float32 {
			sum, to, sc, rg := clone(a), clone(a), clone(a), clone(a)
			Add(sum, a, b)
			AddTo(to, b)
			Scale(sc, 0.3)
			ReLUGrad(rg, a, b)
			return [][]float32{sum, to, sc, rg}
		}
	}},
	{"SumRows", false, func(r *rand.Rand, n int) func() [][]float32 {
		rows, width, ld := shapeOf(r, n)
		x, d := spread(r, rows*ld, 1), normals(r, width)
		return func() [][]float32 {
			a, b := clone(d), clone(d)
			SumRows(a, x, rows, width, ld, false)
			SumRows(b, x, rows, width, ld, true)
			return [][]float32{a, b}
		}
	}},
	{"SumSquares", false, func(r *rand.Rand, n int) func() [][]float32 {
		x := spread(r, n, 1)
		return func() [][]float32 {
			bits := math.Float64bits(SumSquares(x))
			return [][]float32{{math.Float32frombits(uint32(bits)), math.Float32frombits(uint32(bits >> 32))}}
		}
	}},
	{"Adam", false, func(r *rand.Rand, n int) func() [][]float32 {
		p, m, v, g := normals(r, n), normals(r, n), normals(r, n), normals(r, n)
		for i := range v {
			v[i] *= v[i]
		}
		return func() [][]float32 {
			p, m, v := clone(p), clone(m), clone(v)
			Adam(p, m, v, g, 3, 1e-3, 0.9, 0.999, 1e-8, 0.5)
			return [][]float32{p, m, v}
		}
	}},
	{"Attention", true, func(r *rand.Rand, n int) func() [][]float32 {
		a, q, k, v := randomAttention(r, n)
		rows := a.Batch * a.Queries
		d := normals(r, rows*a.LDO)
		dkv := normals(r, len(k)+len(v))
		return func() [][]float32 {
			out, probs := make([]float32, rows*a.LDO), make([]float32, rows*a.Heads*a.Keys)
			Attention(out, probs, q, k, v, &a)
			dq, dk, dv := clone(q), clone(dkv[:len(k)]), clone(dkv[len(k):])
			AttentionBackward(dq, dk, dv, d, probs, q, k, v, &a)
			return [][]float32{out, probs, dq, dk, dv}
		}
	}},
}

// spread returns normal values times s, with a few special ones among them.
func spread(r *rand.Rand, n int, s float32) []float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), minusInf, -minusInf, float32(math.NaN()), 1e-40, -1e38, 3e38}
	x := normals(r, n)
	for i := range x {
		x[i] *= s
	}
	if n > 100 && r.IntN(2) == 0 {
		for range 3 {
			x[r.IntN(n)] = special[r.IntN(len(special))]
		}
	}
	return x
}

// shapeOf returns a matrix of about n elements.
func shapeOf(r *rand.Rand, n int) (rows, width, ld int) {
	width = 1 + r.IntN(140)
	return n / width, width, width + r.IntN(3)
}

// randomAttention returns a shape of about n scores a head and its inputs.
func randomAttention(r *rand.Rand, n int) (a AttentionShape, q, k, v []float32) {
	a = AttentionShape{Batch: 1 + r.IntN(9), Heads: 1 + r.IntN(3), Queries: 1 + r.IntN(1+n%23), Keys: 1 + r.IntN(1+n%37),
		HeadDim: 1 + r.IntN(20), Scale: 0.25, AccumulateKV: r.IntN(2) == 0}
	w := a.Heads * a.HeadDim
	a.LDQ, a.LDK, a.LDV, a.LDO = w+r.IntN(3), w+r.IntN(3), w+r.IntN(3), w+r.IntN(3)
	if r.IntN(2) == 0 {
		a.Mask = make([]uint8, a.Batch*a.Queries*a.Keys)
		for i := range a.Mask {
			if i%a.Keys != 0 {
				a.Mask[i] = uint8(r.IntN(2))
			}
		}
	}
	return a, normals(r, a.Batch*a.Queries*a.LDQ), normals(r, a.Batch*a.Keys*a.LDK), normals(r, a.Batch*a.Keys*a.LDV)
}

// TestPathsAndThreadsAgree holds all operations to the same bits on every path and number of threads; those with
// matrix products on the vector paths.
func TestPathsAndThreadsAgree(t *testing.T) {
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			names := Paths()
			if op.fused {
				names = vectorPaths()
			}
			for i, n := range []int{0, 1, 5, 15, 16, 17, 31, 33, 150, 1000, 20001, 70007} {
				allAgree(t, names, op.inputs(newRand(uint64(i)), n))
			}
		})
	}
}

func TestOperationsDoNotAllocate(t *testing.T) {
	x, y, z := normals(newRand(1), 4096), make([]float32, 4096), make([]float32, 4096)
	m, s := make([]float32, 64), make([]float32, 64)
	a := AttentionShape{Batch: 4, Heads: 2, Queries: 8, Keys: 9, HeadDim: 16, LDQ: 32, LDK: 32, LDV: 32, LDO: 32, Scale: 1}
	probs := make([]float32, 4*2*8*9)
	for name, f := range map[string]func(){
		"Exp":        func() { Exp(y, x) },
		"Tanh":       func() { Tanh(y, x) },
		"Softmax":    func() { Softmax(y, x, 64, 64, 64) },
		"LogSoftmax": func() { LogSoftmax(y, x, 64, 64, 64) },
		"LayerNorm":  func() { LayerNorm(y, x, x, x, m, s, 64, 64, 1e-5) },
		"backward":   func() { LayerNormBackward(y, x, x, x, m, s, z, z, 64, 64) },
		"Add":        func() { Add(y, x, x) },
		"Scale":      func() { Scale(y, 2) },
		"ReLUGrad":   func() { ReLUGrad(y, x, x) },
		"SumRows":    func() { SumRows(y, x, 64, 64, 64, false) },
		"SumSquares": func() { SumSquares(x) },
		"Adam":       func() { Adam(y, y, z, x, 1, 1e-4, 0.9, 0.99, 1e-8, 1) },
		"Attention":  func() { Attention(y, probs, x, x, x, &a) },
		"gradient":   func() { AttentionBackward(y, z, z, x, probs, x, x, x, &a) },
	} {
		if n := testing.AllocsPerRun(10, f); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

func FuzzOperations(f *testing.F) {
	for i := range operations {
		f.Add(uint8(i), uint16(37*i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, which uint8, n uint16, seed uint64) {
		op := operations[int(which)%len(operations)]
		names := Paths()
		if op.fused {
			names = vectorPaths()
		}
		allAgree(t, names, op.inputs(newRand(seed), int(n%4000)))
	})
}
