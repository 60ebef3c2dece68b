package f32_test

import (
	"fmt"

	"gputax/device/host/f32"
)

// One layer of a network: y = relu(x*w + bias) for two rows of three values.
func Example() {
	y := make([]float32, 4)
	layer := f32.MatMul{
		Op: f32.NN, M: 2, N: 2, K: 3,
		A: []float32{1, 2, 3, -1, 0, 1}, LDA: 3,
		B: []float32{1, 0, 0, 1, 1, 1}, LDB: 2,
		C: y, LDC: 2,
		Bias: []float32{0.5, -2}, ReLU: true,
	}
	layer.Run()
	fmt.Println(y)
	// Output: [4.5 3 0.5 0]
}
