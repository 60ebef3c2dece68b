package f32

import "math"

// Constants of exp32: an argument below expLow gives zero, one above expHigh infinity; ln2High has 16 bits, so that
// its product with an exponent is exact; expPoly approximates (exp(r)-1-r)/r² for |r| <= ln(2)/2.
const (
	expLow  float32 = -103.9720916748046875
	expHigh float32 = 89
	log2e   float32 = 1.44269502162933349609375
	rounder float32 = 3 << 22 // adding it rounds a small number to an integer, found in the low bits of the sum
	ln2High float32 = 0.693145751953125
	ln2Low  float32 = 1.42860677465796470642e-6
)

var expPoly = [5]float32{0.5, 0.166665763, 0.0416665561, 0.00836320315, 0.00139262131}

// exp32 is exp(x) with an error of at most ExpULP. It is the same on every path: exp(x) = 2^n * exp(r) with
// r = x - n*ln(2), products and sums rounded one by one.
func exp32(x float32) float32 {
	if x < expLow {
		return 0
	}
	if x > expHigh {
		x = expHigh
	}
	t := float32(x*log2e) + rounder
	n := t - rounder
	r := x - float32(n*ln2High)
	r -= float32(n * ln2Low)
	y := expPoly[4]
	for i := 3; i >= 0; i-- {
		y = float32(y*r) + expPoly[i]
	}
	y = float32(y*float32(r*r)) + r
	y++
	e := int32(math.Float32bits(t) - math.Float32bits(rounder))
	half := e >> 1
	y *= power2(half)
	y *= power2(e - half)
	return y
}

// power2 is 2^e for the exponents of normal numbers.
func power2(e int32) float32 { return math.Float32frombits(uint32(e+127) << 23) }

func expGo(dst, src []float32) {
	for i := range dst {
		dst[i] = exp32(src[i])
	}
}

// ExpULP bounds the error of Exp in units in the last place of the result; the tests measure it.
const ExpULP = 2

// Exp equals dst[i] = exp(src[i]) for every i of dst, within ExpULP. Results too large are +Inf, too small 0, with
// subnormal numbers between; NaN gives NaN. dst may be src.
func Exp(dst, src []float32) {
	checkLen("Exp", "src", src, len(dst))
	runMap(active.Load().exp, dst, src)
}

// mapJob applies a function of one vector, in parts.
type mapJob struct {
	f        func(dst, src []float32)
	dst, src []float32
}

var mapJobs freeList[mapJob]

func (j *mapJob) Range(lo, hi int) { j.f(j.dst[lo:hi], j.src[lo:hi]) }

func runMap(f func(dst, src []float32), dst, src []float32) {
	j := mapJobs.get()
	j.f, j.dst, j.src = f, dst, src
	For(len(dst), vectorGrain/4, j)
	*j = mapJob{}
	mapJobs.put(j)
}
