package f32

import (
	"fmt"
	"math"
)

// lanes is the working space of a reduction. Element i goes to lane i%16, in rising order of i, and a fixed tree joins
// the lanes, so that the result does not depend on the width of a register.
type lanes [16]float32

// sum joins the lanes by addition.
func (l *lanes) sum() float32 {
	for half := len(l) / 2; half > 0; half /= 2 {
		for i := range half {
			l[i] += l[i+half]
		}
	}
	return l[0]
}

// max joins the lanes by maximum: a > b ? a : b, which is b when either is NaN.
func (l *lanes) max() float32 {
	for half := len(l) / 2; half > 0; half /= 2 {
		for i := range half {
			if !(l[i] > l[i+half]) {
				l[i] = l[i+half]
			}
		}
	}
	return l[0]
}

// sqrt32 is the correctly rounded square root; rounding the float64 root once more does not change it.
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// checkLen panics unless x has at least n values.
func checkLen(op, what string, x []float32, n int) {
	if len(x) < n {
		panic(fmt.Sprintf("f32: %s: %s: %d values, want %d", op, what, len(x), n))
	}
}

// vectorGrain is the least number of elements worth handing to another thread in a loop without much arithmetic.
const vectorGrain = 1 << 14
