package model

import (
	"gputax/device"
	"gputax/device/host/f32"
)

// epsilon is added to the variance in a layer norm.
const epsilon = 1e-5

// addNorm is, for every row, sum = a + b and
//
//	y[j] = (sum[j]-mean)*rstd*gamma[j] + beta[j]
//
// with the row's mean and the reciprocal of its standard deviation, which it
// keeps. sum may be b.
var addNorm = &device.Kernel{
	Symbol: "model_add_norm",
	Params: signature("y sum a b gamma beta mean rstd", "rows width", ""),
	Check: func(a device.Args) error {
		rows, width := a.Int(8), a.Int(9)
		n := rows * width
		return needs(a, n, n, n, n, width, width, rows, rows)
	},
	Work: func(a device.Args) device.Work {
		rows, width := a.Int(8), a.Int(9)
		n := rows * width
		return traffic(8*n, 2*n+2*width, 2*n+2*rows)
	},
	Body: func(a device.Args) {
		f32.AddLayerNorm(a.F32(0), a.F32(1), a.F32(2), a.F32(3), a.F32(4), a.F32(5), a.F32(6), a.F32(7), a.Int(8), a.Int(9), epsilon)
	},
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perRow(a.Int(8), a.Int(9)) },
}

// normBackward is the layer norm's gradient: with hat = (x-mean)*rstd and
// g = dx*gamma, for every row,
//
//	dgamma += dx*hat; dbeta += dx
//	dx = (g - mean of g - hat * mean of g*hat) * rstd
//
// scratch is zero before and after; compiled forms keep partial sums there.
var normBackward = &device.Kernel{
	Symbol: "model_norm_backward",
	Params: signature("dx x gamma mean rstd dgamma dbeta scratch", "rows width", ""),
	Check: func(a device.Args) error {
		rows, width := a.Int(8), a.Int(9)
		return needs(a, rows*width, rows*width, width, rows, rows, width, width, normScratch(rows, width))
	},
	Work: func(a device.Args) device.Work {
		rows, width := a.Int(8), a.Int(9)
		n := rows * width
		return traffic(12*n, 2*n+3*width+2*rows, n+2*width)
	},
	Body: func(a device.Args) {
		f32.LayerNormBackward(a.F32(0), a.F32(0), a.F32(1), a.F32(2), a.F32(3), a.F32(4), a.F32(5), a.F32(6), a.Int(8), a.Int(9))
	},
	Module: encoderModule,
	Dims: func(a device.Args) device.Dims {
		return device.Dims{X: normBlocks(a.Int(8)), Threads: 32 * normWarps, Shared: 4 * normWarps * 2 * a.Int(9)}
	},
}

// meanNodes is mean[b] = the mean over nodes j of x[b,j], a row each.
var meanNodes = &device.Kernel{
	Symbol: "model_mean",
	Params: signature("mean x", "batch nodes width", ""),
	Check:  func(a device.Args) error { return needs(a, a.Int(2)*a.Int(4), a.Int(2)*a.Int(3)*a.Int(4)) },
	Work: func(a device.Args) device.Work {
		n := a.Int(2) * a.Int(3) * a.Int(4)
		return traffic(n, n, a.Int(2)*a.Int(4))
	},
	Body: func(a device.Args) {
		sumGroups(a)
		f32.Scale(a.F32(0)[:a.Int(2)*a.Int(4)], 1/float32(a.Int(3)))
	},
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(2) * a.Int(4)) },
}

// sumSteps is sum[b] = the sum over steps t of x[b,t], a row each.
var sumSteps = &device.Kernel{
	Symbol: "model_sum_steps",
	Params: signature("sum x", "batch steps width", ""),
	Check:  meanNodes.Check,
	Work:   meanNodes.Work,
	Body:   sumGroups,
	Module: encoderModule,
	Dims:   meanNodes.Dims,
}

// sumGroups is dst[b] = the sum over i < group of x[b,i], rows of width, in
// order.
func sumGroups(a device.Args) {
	dst, x, group, width := a.F32(0), a.F32(1), a.Int(3), a.Int(4)
	for b := range a.Int(2) {
		f32.SumRows(dst[b*width:], x[b*group*width:], group, width, width, false)
	}
}
