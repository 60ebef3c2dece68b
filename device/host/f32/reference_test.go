package f32

import (
	"math"
	"testing"
)

// widths are the row widths of the tests against float64: one, odd, and around the size of a block.
var widths = []int{1, 2, 11, 15, 16, 17, 33, 128, 140}

// wide64 converts to float64.
func wide64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// softmax64 is the softmax of a row.
func softmax64(x []float64) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, v := range x {
		top = math.Max(top, v)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Exp(v - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func TestSoftmaxReference(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, w := range widths {
			const rows = 5
			ld := w + 2
			x := normals(newRand(uint64(w)), rows*ld)
			for i := range rows {
				if w > 1 {
					x[i*ld+i%w] = minusInf
				}
			}
			got, logs := clone(x), clone(x)
			Softmax(got, x, rows, w, ld)
			LogSoftmax(logs, x, rows, w, ld)
			for i := range rows {
				want := softmax64(wide64(x[i*ld : i*ld+w]))
				checkClose(t, "softmax", got[i*ld:], want, 1e-6)
				for j := range want {
					want[j] = math.Log(want[j])
				}
				checkClose(t, "log-softmax", logs[i*ld:], want, 1e-6)
				if differ(got[i*ld+w:i*ld+ld], x[i*ld+w:i*ld+ld]) >= 0 {
					t.Fatal("wrote past the width")
				}
			}
		}
	})
}

func TestSoftmaxSpecialRows(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	eachPath(t, func(t *testing.T) {
		for _, c := range []struct{ x, want, logs []float32 }{
			{[]float32{1, minusInf}, []float32{1, 0}, []float32{0, minusInf}},
			{[]float32{minusInf, minusInf}, []float32{nan, nan}, []float32{nan, nan}},
			{[]float32{1, nan}, []float32{nan, nan}, []float32{nan, nan}},
			{[]float32{inf, 1}, []float32{nan, nan}, []float32{nan, nan}},
		} {
			got := make([]float32, 2)
			if Softmax(got, c.x, 1, 2, 2); differ(got, c.want) >= 0 {
				t.Errorf("Softmax(%v) is %v, want %v", c.x, got, c.want)
			}
			if LogSoftmax(got, c.x, 1, 2, 2); differ(got, c.logs) >= 0 {
				t.Errorf("LogSoftmax(%v) is %v, want %v", c.x, got, c.logs)
			}
		}
	})
}

// layerNorm64 is LayerNorm of a row and its gradients.
func layerNorm64(x, gamma, beta, dy []float64, eps float64) (y, dx, dgamma []float64) {
	n := float64(len(x))
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / n
	}
	r := 1 / math.Sqrt(variance+eps)
	y, dx, dgamma = make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	s1, s2 := 0.0, 0.0
	for j, v := range x {
		hat := (v - mean) * r
		y[j] = hat*gamma[j] + beta[j]
		dgamma[j] = dy[j] * hat
		s1 += dy[j] * gamma[j] / n
		s2 += dy[j] * gamma[j] * hat / n
	}
	for j, v := range x {
		dx[j] = r * (dy[j]*gamma[j] - s1 - (v-mean)*r*s2)
	}
	return y, dx, dgamma
}

func TestLayerNormReference(t *testing.T) {
	const eps = 1e-2
	eachPath(t, func(t *testing.T) {
		for _, w := range widths {
			const rows = 70
			r := newRand(uint64(w))
			x, dy, gamma, beta := normals(r, rows*w), normals(r, rows*w), normals(r, w), normals(r, w)
			y, dx := make([]float32, rows*w), make([]float32, rows*w)
			mean, rstd := make([]float32, rows), make([]float32, rows)
			dgamma, dbeta := normals(r, w), normals(r, w)
			wantG, wantB := wide64(dgamma), wide64(dbeta)
			LayerNorm(y, x, gamma, beta, mean, rstd, rows, w, eps)
			LayerNormBackward(dx, dy, x, gamma, mean, rstd, dgamma, dbeta, rows, w)
			for i := range rows {
				up := wide64(dy[i*w : i*w+w])
				yw, dxw, dgw := layerNorm64(wide64(x[i*w:i*w+w]), wide64(gamma), wide64(beta), up, eps)
				checkClose(t, "y", y[i*w:], yw, 1e-5)
				checkClose(t, "dx", dx[i*w:], dxw, 3e-5)
				for j := range dgw {
					wantG[j] += dgw[j]
					wantB[j] += up[j]
				}
			}
			checkClose(t, "dgamma", dgamma, wantG, 1e-5)
			checkClose(t, "dbeta", dbeta, wantB, 1e-5)
		}
	})
}

func TestAdamReference(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := newRand(1)
		p, m, v := normals(r, 37), make([]float32, 37), make([]float32, 37)
		p64, m64, v64 := wide64(p), wide64(m), wide64(v)
		for step := 1; step <= 4; step++ {
			g := normals(r, 37)
			Adam(p, m, v, g, step, 1e-2, 0.9, 0.99, 1e-8, 0.5)
			for i := range p64 {
				d := float64(g[i]) / 2
				m64[i] = 0.9*m64[i] + 0.1*d
				v64[i] = 0.99*v64[i] + 0.01*d*d
				mh, vh := m64[i]/(1-math.Pow(0.9, float64(step))), v64[i]/(1-math.Pow(0.99, float64(step)))
				p64[i] -= 1e-2 * mh / (math.Sqrt(vh) + 1e-8)
			}
			checkClose(t, "p", p, p64, 1e-6)
			checkClose(t, "m", m, m64, 1e-6)
			checkClose(t, "v", v, v64, 1e-6)
		}
	})
}

func TestSumsReference(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 63, 64, 65, 1000} {
			const w, ld = 37, 40
			x := normals(newRand(uint64(n)), n*ld)
			got := normals(newRand(2), w)
			want, squares := wide64(got), 0.0
			SumRows(got, x, n, w, ld, true)
			for i := range n {
				for j := range w {
					want[j] += float64(x[i*ld+j])
				}
			}
			checkClose(t, "SumRows", got, want, 1e-5)
			for _, v := range x {
				squares += float64(v) * float64(v)
			}
			if s := SumSquares(x); math.Abs(s-squares) > 1e-12*squares {
				t.Errorf("SumSquares of %d values is %v, want %v", len(x), s, squares)
			}
		}
	})
}
