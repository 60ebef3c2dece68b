package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomMatMul returns a product of random operands with pad extra values in every row.
func randomMatMul(r *rand.Rand, op Trans, m, n, k, pad int) MatMul {
	mm := MatMul{Op: op, M: m, N: n, K: k, LDA: k + pad, LDB: n + pad, LDC: n + pad}
	rowsA, rowsB := m, k
	switch op {
	case NT:
		mm.LDB, rowsB = k+pad, n
	case TN:
		mm.LDA, rowsA = m+pad, k
	}
	mm.A, mm.B, mm.C = normals(r, rowsA*mm.LDA), normals(r, rowsB*mm.LDB), normals(r, m*mm.LDC)
	return mm
}

// at returns A(i, p) and B(p, j).
func (m *MatMul) at(i, j, p int) (a, b float32) {
	switch m.Op {
	case NT:
		return m.A[i*m.LDA+p], m.B[j*m.LDB+p]
	case TN:
		return m.A[p*m.LDA+i], m.B[p*m.LDB+j]
	}
	return m.A[i*m.LDA+p], m.B[p*m.LDB+j]
}

// reference is the loop of MatMul's comment. Fused, it must match to the bit; else it rounds the products too.
func (m *MatMul) reference(fused bool) []float32 {
	out := append([]float32(nil), m.C...)
	for i := range m.M {
		for j := range m.N {
			var s float32
			if m.Accumulate {
				s = m.C[i*m.LDC+j]
			}
			for p := range m.K {
				if a, b := m.at(i, j, p); fused {
					s = fma(a, b, s)
				} else {
					s += float32(a * b)
				}
			}
			if m.Bias != nil {
				s += m.Bias[j]
			}
			if m.ReLU && s < 0 {
				s = 0
			}
			out[i*m.LDC+j] = s
		}
	}
	return out
}

var matmulShapes = []struct{ m, n, k int }{
	{1, 1, 1}, {1, 32, 5}, {3, 7, 0}, {0, 5, 5}, {5, 0, 5}, {14, 32, 16}, {15, 33, 17}, {13, 31, 1}, {29, 48, 40},
	{6, 16, 3}, {100, 3, 2}, {43, 70, 513}, {17, 5, 1100}, {128, 128, 3}, {64, 128, 128},
}

func TestMatMulMatchesTheLoop(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := newRand(1)
		for _, op := range []Trans{NN, NT, TN} {
			for i, s := range matmulShapes {
				mm := randomMatMul(r, op, s.m, s.n, s.k, i%3)
				mm.ReLU, mm.Accumulate = i%2 == 0, i%3 == 0
				if i%4 < 2 {
					mm.Bias = normals(r, s.n)
				}
				want := mm.reference(Path() != "portable")
				mm.Run()
				if at := differ(mm.C, want); at >= 0 {
					t.Errorf("op %d %dx%dx%d: C[%d] is %v, want %v", op, s.m, s.n, s.k, at, mm.C[at], want[at])
				}
			}
		}
	})
}

// TestPortableDifference holds the portable path to the distance from the others that the package promises.
func TestPortableDifference(t *testing.T) {
	for _, k := range []int{16, 128, 512, 1408} {
		mm := randomMatMul(newRand(10), NN, 32, 64, k, 0)
		withPath(t, "portable", 2, mm.Run)
		got := mm.C
		mm.C = make([]float32, len(got))
		withPath(t, Paths()[0], 2, mm.Run)
		worst, share := 0.0, 0.0
		for i := range mm.M {
			for j := range mm.N {
				size := 0.0
				for p := range k {
					a, b := mm.at(i, j, p)
					size += math.Abs(float64(a) * float64(b))
				}
				d := math.Abs(float64(got[i*mm.LDC+j]) - float64(mm.C[i*mm.LDC+j]))
				worst = max(worst, d/size)
				share = max(share, d/(2*float64(k+1)*0x1p-24*size))
			}
		}
		t.Logf("K=%d: at most %.2g of the sum of |a*b|, %.2g of the bound", k, worst, share)
		if share > 1 {
			t.Errorf("K=%d: %v times the bound", k, share)
		}
	}
}

// TestMatMulError holds every path to the error bound of a sum of k rounded products, against float64.
func TestMatMulError(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := newRand(2)
		for _, op := range []Trans{NN, NT, TN} {
			mm := randomMatMul(r, op, 37, 65, 700, 1)
			mm.Run()
			for i := range mm.M {
				for j := range mm.N {
					var sum, size float64
					for p := range mm.K {
						a, b := mm.at(i, j, p)
						sum += float64(a) * float64(b)
						size += math.Abs(float64(a) * float64(b))
					}
					bound := float64(mm.K+1) * 0x1p-24 * size
					if d := math.Abs(float64(mm.C[i*mm.LDC+j]) - sum); d > bound {
						t.Fatalf("op %d: C(%d,%d) is off by %g, bound %g", op, i, j, d, bound)
					}
				}
			}
		}
	})
}

func TestMatMulPathsAndThreadsAgree(t *testing.T) {
	for _, op := range []Trans{NN, NT, TN} {
		mm := randomMatMul(newRand(3), op, 301, 77, 600, 2)
		mm.Bias, mm.Accumulate, mm.ReLU = normals(newRand(4), 77), true, true
		old := append([]float32(nil), mm.C...)
		run := func() [][]float32 {
			mm.C = append([]float32(nil), old...)
			mm.Run()
			return [][]float32{mm.C}
		}
		allAgree(t, vectorPaths(), run)
		allAgree(t, []string{"portable"}, run)
	}
}

// TestGoKernelsMatchBaseline pins the plain Go micro-kernels to those that the portable path uses here.
func TestGoKernelsMatchBaseline(t *testing.T) {
	plain := portable
	plain.wide, plain.narrow = &goKernels, &goKernels
	for _, op := range []Trans{NN, NT, TN} {
		for i, s := range matmulShapes {
			mm := randomMatMul(newRand(8), op, s.m, s.n, s.k, i%3)
			mm.Bias, mm.ReLU, mm.Accumulate = normals(newRand(9), s.n), i%2 == 0, i%3 == 0
			other := mm
			other.C = append([]float32(nil), mm.C...)
			withPath(t, "portable", 2, func() {
				mm.Run()
				active.Store(&plain)
				other.Run()
			})
			if at := differ(mm.C, other.C); at >= 0 {
				t.Errorf("op %d %dx%dx%d: C[%d] is %v, in Go %v", op, s.m, s.n, s.k, at, mm.C[at], other.C[at])
			}
		}
	}
}

func TestMatMulSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, v := range []struct{ a, b, want float32 }{
		{inf, 0, nan}, {nan, 1, nan}, {inf, 1, inf}, {-inf, 1, 0}, {inf, -inf, 0}, {1, inf, inf}, {0, nan, nan},
	} {
		eachPath(t, func(t *testing.T) {
			mm := MatMul{M: 1, N: 2, K: 1, A: []float32{v.a}, LDA: 1, B: []float32{v.b, 1}, LDB: 2, C: make([]float32, 2), LDC: 2, ReLU: true}
			mm.Run()
			if differ(mm.C[:1], []float32{v.want}) >= 0 {
				t.Errorf("relu(%v*%v) is %v, want %v", v.a, v.b, mm.C[0], v.want)
			}
		})
	}
}

func TestMatMulPanicsOnShortSlices(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(*MatMul)
	}{
		{"A", func(m *MatMul) { m.A = m.A[:len(m.A)-1] }},
		{"B", func(m *MatMul) { m.B = m.B[:len(m.B)-1] }},
		{"C", func(m *MatMul) { m.C = m.C[:len(m.C)-1] }},
		{"Bias", func(m *MatMul) { m.Bias = make([]float32, 4) }},
		{"negative", func(m *MatMul) { m.K = -1 }},
	} {
		mm := randomMatMul(newRand(5), NN, 4, 5, 6, 0)
		c.cut(&mm)
		func() {
			defer func() {
				if msg := fmt.Sprint(recover()); !strings.Contains(msg, "f32: MatMul: "+c.name) {
					t.Errorf("%s: panic %q", c.name, msg)
				}
			}()
			mm.Run()
		}()
	}
}

func TestMatMulDoesNotAllocate(t *testing.T) {
	r := newRand(6)
	for _, op := range []Trans{NN, NT, TN} {
		a := randomMatMul(r, op, 130, 129, 128, 0)
		if n := testing.AllocsPerRun(20, func() {
			mm := MatMul{Op: op, M: a.M, N: a.N, K: a.K, A: a.A, LDA: a.LDA, B: a.B, LDB: a.LDB, C: a.C, LDC: a.LDC}
			mm.Run()
		}); n != 0 {
			t.Errorf("op %d: %v allocations a call", op, n)
		}
	}
}

func FuzzMatMul(f *testing.F) {
	f.Add(uint8(0), uint8(3), uint8(5), uint16(7), uint8(0), uint64(1))
	f.Add(uint8(1), uint8(15), uint8(33), uint16(513), uint8(7), uint64(2))
	f.Add(uint8(2), uint8(29), uint8(65), uint16(1), uint8(5), uint64(3))
	f.Fuzz(func(t *testing.T, op, m, n uint8, k uint16, flags uint8, seed uint64) {
		r := newRand(seed)
		mm := randomMatMul(r, Trans(op%3), int(m%64), int(n%80), int(k%600), int(flags>>3)%5)
		mm.ReLU, mm.Accumulate = flags&1 != 0, flags&2 != 0
		if flags&4 != 0 {
			mm.Bias = normals(r, mm.N)
		}
		old := mm.C
		for _, name := range Paths() {
			mm.C = append([]float32(nil), old...)
			want := mm.reference(name != "portable")
			withPath(t, name, 1+int(seed%3), mm.Run)
			if at := differ(mm.C, want); at >= 0 {
				t.Fatalf("%s: C[%d] is %v, want %v", name, at, mm.C[at], want[at])
			}
		}
	})
}
