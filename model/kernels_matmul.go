package model

import (
	"gputax/device"
	"gputax/device/host/f32"
)

// products are the matrix products: c = a*b, a*b' and a'*b, of m rows and n
// columns and depth k, plus the bias of each column where one is given, then
// negative results zeroed if relu, all added to c if accumulate.
type products struct {
	nn, nt, tn *device.Kernel
}

// plainProducts are in single precision; tensorProducts may use the matrix
// units, where a device has them.
var (
	plainProducts = products{
		nn: newMatMul("model_matmul_nn", f32.NN, plainWork, plainDims),
		nt: newMatMul("model_matmul_nt", f32.NT, plainWork, plainDims),
		tn: newMatMul("model_matmul_tn", f32.TN, plainWork, plainDims),
	}
	tensorProducts = products{
		nn: newMatMul("model_matmul_nn_tf32", f32.NN, tensorWork, tensorDims),
		nt: newMatMul("model_matmul_nt_tf32", f32.NT, tensorWork, tensorDims),
		tn: newMatMul("model_matmul_tn_tf32", f32.TN, tensorWork, tensorDims),
	}
)

// Parameters of a product after its four buffers.
const (
	mmM = 4 + iota
	mmN
	mmK
	mmLDA
	mmLDB
	mmLDC
	mmReLU
	mmAccumulate
)

func newMatMul(symbol string, op f32.Trans, work func(device.Args) device.Work,
	dims func(device.Args) device.Dims) *device.Kernel {
	return &device.Kernel{
		Symbol: symbol,
		Params: signature("c a b bias", "m n k lda ldb ldc relu accumulate", ""),
		Check: func(a device.Args) error {
			m, n, k := a.Int(mmM), a.Int(mmN), a.Int(mmK)
			ar, ac, br, bc := m, k, k, n
			switch op {
			case f32.NT:
				br, bc = n, k
			case f32.TN:
				ar, ac = k, m
			}
			bias := 0
			if a.Words(3) > 0 {
				bias = n
			}
			return needs(a, span(m, n, a.Int(mmLDC)), span(ar, ac, a.Int(mmLDA)), span(br, bc, a.Int(mmLDB)), bias)
		},
		Work: work,
		Body: func(a device.Args) {
			p := f32.MatMul{
				Op: op, M: a.Int(mmM), N: a.Int(mmN), K: a.Int(mmK),
				A: a.F32(1), LDA: a.Int(mmLDA), B: a.F32(2), LDB: a.Int(mmLDB), C: a.F32(0), LDC: a.Int(mmLDC),
				Bias: a.F32(3), ReLU: a.Int(mmReLU) != 0, Accumulate: a.Int(mmAccumulate) != 0,
			}
			p.Run()
		},
		Module: matmulModule,
		Dims:   dims,
	}
}

func plainWork(a device.Args) device.Work {
	m, n, k := a.Int(mmM), a.Int(mmN), a.Int(mmK)
	return traffic(2*m*n*k, m*k+k*n+a.Words(3)+m*n*a.Int(mmAccumulate), m*n)
}

func tensorWork(a device.Args) device.Work {
	w := plainWork(a)
	w.TensorFlops, w.Flops = w.Flops, 0
	return w
}

// sumRows is dst[j] = the sum over i of x[i,j].
var sumRows = &device.Kernel{
	Symbol: "model_sum_rows",
	Params: signature("dst x", "rows width", ""),
	Check:  func(a device.Args) error { return needs(a, a.Int(3), a.Int(2)*a.Int(3)) },
	Work:   func(a device.Args) device.Work { n := a.Int(2) * a.Int(3); return traffic(n, n, a.Int(3)) },
	Body:   func(a device.Args) { f32.SumRows(a.F32(0), a.F32(1), a.Int(2), a.Int(3), a.Int(3), false) },
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perColumns(a.Int(3)) },
}

// reluBackward is dx[i] = 0 where y[i], the output of ReLU, is not positive.
var reluBackward = &device.Kernel{
	Symbol: "model_relu_backward",
	Params: signature("dx y", "n", ""),
	Check:  func(a device.Args) error { return needs(a, a.Int(2), a.Int(2)) },
	Work:   func(a device.Args) device.Work { n := a.Int(2); return traffic(n, 2*n, n) },
	Body:   func(a device.Args) { dx := a.F32(0)[:a.Int(2)]; f32.ReLUGrad(dx, dx, a.F32(1)) },
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(2)) },
}

// zero is x[i] = 0.
var zero = &device.Kernel{
	Symbol: "model_zero",
	Params: signature("x", "n", ""),
	Check:  func(a device.Args) error { return needs(a, a.Int(1)) },
	Work:   func(a device.Args) device.Work { return traffic(0, 0, a.Int(1)) },
	Body:   func(a device.Args) { clear(a.F32(0)[:a.Int(1)]) },
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(1)) },
}
