package f32

import "math"

// tanhSmall is where tanh32 changes from a polynomial to exponentials; tanhPoly approximates (tanh(x)-x)/x³ in x².
const tanhSmall float32 = 0.625

var tanhPoly = [6]float32{-0.333333343, 0.133333042, -0.0539592579, 0.0217689183, -0.00834394526, 0.00229274482}

// tanh32 is tanh(x) with an error of at most TanhULP. It is the same on every path.
func tanh32(x float32) float32 {
	sign := math.Float32bits(x) & (1 << 31)
	a := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	var y float32
	if a < tanhSmall {
		z := float32(x * x)
		y = tanhPoly[5]
		for i := 4; i >= 0; i-- {
			y = float32(y*z) + tanhPoly[i]
		}
		y = float32(y * z)
		y = float32(y*x) + x
	} else {
		y = 1 - 2/(exp32(a+a)+1)
	}
	return math.Float32frombits(math.Float32bits(y) | sign)
}

func tanhGo(dst, src []float32) {
	for i := range dst {
		dst[i] = tanh32(src[i])
	}
}

// TanhULP bounds the error of Tanh in units in the last place of the result; the tests measure it.
const TanhULP = 2

// Tanh equals dst[i] = tanh(src[i]) for every i of dst, within TanhULP. NaN gives NaN. dst may be src.
func Tanh(dst, src []float32) {
	checkLen("Tanh", "src", src, len(dst))
	runMap(active.Load().tanh, dst, src)
}
