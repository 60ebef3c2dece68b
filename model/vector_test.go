package model

import (
	"math"
	"testing"
)

// dot and addScaled equal their loops, at every length around their blocks.
func TestVector(t *testing.T) {
	for n := range 20 {
		x, y, z := make([]float32, n), make([]float32, n+1), make([]float32, n)
		var sum float64
		for i := range x {
			x[i], y[i], z[i] = float32(i)-3.5, 1/float32(i+1), float32(i)
			sum += float64(x[i]) * float64(y[i])
		}
		if got := dot(x, y); math.Abs(float64(got)-sum) > 1e-5 {
			t.Errorf("dot of %d elements is %v, want %v", n, got, sum)
		}
		addScaled(z, x, 0.5)
		for i := range z {
			if want := float32(i) + 0.5*x[i]; z[i] != want {
				t.Errorf("addScaled of %d elements: %v at %d, want %v", n, z[i], i, want)
			}
		}
	}
}
