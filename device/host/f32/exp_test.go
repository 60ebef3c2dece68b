package f32

import (
	"flag"
	"math"
	"testing"
)

// ulps is the distance of got from want in units in the last place of a float32 of want's size.
func ulps(got float32, want float64) float64 {
	if math.Abs(want) > math.MaxFloat32 {
		want = math.Copysign(math.MaxFloat32, want)
		if math.IsInf(float64(got), 0) {
			return 0
		}
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

var stride = flag.Uint("stride", 509, "test the error of Exp and Tanh at every `n`th float32")

// sweep measures the largest error of f over every stride-th float32 between -limit and limit.
func sweep(f func(dst, src []float32), exact func(float64) float64, limit float32) (worst float64, at float32) {
	x, y := make([]float32, 1<<16), make([]float32, 1<<16)
	for bits := uint32(0); bits < math.Float32bits(limit); {
		n := 0
		for ; n+1 < len(x) && bits < math.Float32bits(limit); bits += uint32(*stride) {
			x[n] = math.Float32frombits(bits)
			x[n+1] = -x[n]
			n += 2
		}
		f(y[:n], x[:n])
		for i := range n {
			if u := ulps(y[i], exact(float64(x[i]))); u > worst {
				worst, at = u, x[i]
			}
		}
	}
	return worst, at
}

func TestExpError(t *testing.T) {
	worst, at := sweep(Exp, math.Exp, 105)
	t.Logf("Exp: at most %.3f ULP, at %v", worst, at)
	if worst > ExpULP {
		t.Errorf("error %v at %v, bound %v", worst, at, ExpULP)
	}
}

func TestTanhError(t *testing.T) {
	worst, at := sweep(Tanh, math.Tanh, 12)
	t.Logf("Tanh: at most %.3f ULP, at %v", worst, at)
	if worst > TanhULP {
		t.Errorf("error %v at %v, bound %v", worst, at, TanhULP)
	}
}

func TestLogError(t *testing.T) {
	for x := float32(1e-30); x < 1e30; x *= 1.0003 {
		if u := ulps(log32(x), math.Log(float64(x))); u > 0.5001 {
			t.Fatalf("log32(%v) is off by %v ULP", x, u)
		}
	}
}

func TestSpecialArguments(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	negZero := float32(math.Copysign(0, -1))
	eachPath(t, func(t *testing.T) {
		for _, c := range []struct {
			name    string
			f       func(dst, src []float32)
			x, want float32
		}{
			{"Exp", Exp, inf, inf}, {"Exp", Exp, -inf, 0}, {"Exp", Exp, nan, nan}, {"Exp", Exp, 0, 1}, {"Exp", Exp, negZero, 1},
			{"Exp", Exp, 88.8, inf}, {"Exp", Exp, -104, 0}, {"Exp", Exp, math.MaxFloat32, inf}, {"Exp", Exp, -math.MaxFloat32, 0},
			{"Tanh", Tanh, inf, 1}, {"Tanh", Tanh, -inf, -1}, {"Tanh", Tanh, nan, nan}, {"Tanh", Tanh, 0, 0},
			{"Tanh", Tanh, negZero, negZero}, {"Tanh", Tanh, 1e-40, 1e-40}, {"Tanh", Tanh, -20, -1},
		} {
			got := make([]float32, 19)
			c.f(got, []float32{c.x, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, c.x})
			if differ([]float32{got[0], got[18]}, []float32{c.want, c.want}) >= 0 {
				t.Errorf("%s(%v) is %v and %v, want %v", c.name, c.x, got[0], got[18], c.want)
			}
		}
	})
}
