package f32

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// eachPath runs the test once on every path that this CPU has.
func eachPath(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	was := Path()
	defer Select(was)
	for _, name := range Paths() {
		if err := Select(name); err != nil {
			t.Fatal(err)
		}
		t.Run(name, test)
	}
}

// withPath runs f on one path and a number of threads.
func withPath(t testing.TB, name string, threads int, f func()) {
	t.Helper()
	was := Path()
	defer Select(was)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	if err := Select(name); err != nil {
		t.Fatal(err)
	}
	f()
}

// vectorPaths are the paths that must agree to the bit in every operation.
func vectorPaths() []string {
	names := Paths()
	return names[:len(names)-1]
}

// allAgree runs f, which returns its outputs, on the named paths with 1, 2, 3 and 7 threads and fails unless all bits
// are the same.
func allAgree(t *testing.T, names []string, f func() [][]float32) {
	t.Helper()
	var want [][]float32
	for _, name := range names {
		for _, threads := range []int{1, 2, 3, 7} {
			withPath(t, name, threads, func() {
				got := f()
				if want == nil {
					want = got
				}
				for i := range got {
					if at := differ(got[i], want[i]); at >= 0 {
						t.Fatalf("%s, %d threads: output %d differs at %d: %v (%#x), want %v (%#x)", name, threads, i, at,
							got[i][at], math.Float32bits(got[i][at]), want[i][at], math.Float32bits(want[i][at]))
					}
				}
			})
		}
	}
}

// differ returns the first index where two slices differ in their bits, or -1. Any two NaNs are equal.
func differ(a, b []float32) int {
	for i, x := range a {
		if math.Float32bits(x) != math.Float32bits(b[i]) && (x == x || b[i] == b[i]) {
			return i
		}
	}
	return -1
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 17)) }

// normals returns n values of the standard normal distribution.
func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// fma is a*b+c rounded once. The product is exact in float64; the sum is rounded to odd there, so that the second
// rounding, to float32, gives what a single one would.
func fma(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	t := s - p
	err := (p - (s - t)) + (q - t)
	if bits := math.Float64bits(s); err != 0 && bits&1 == 0 {
		if (err > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

// close fails unless got is within tol of want, relative to scale.
func checkClose(t *testing.T, what string, got []float32, want []float64, tol float64) {
	t.Helper()
	for i, w := range want {
		g := float64(got[i])
		if math.IsNaN(w) && math.IsNaN(g) || g == w {
			continue
		}
		if d := math.Abs(g - w); !(d <= tol*(1+math.Abs(w))) {
			t.Fatalf("%s[%d] is %v, want %v", what, i, g, w)
		}
	}
}
