package model

import (
	"gputax/device"
)

// Kinds of token.
const (
	depotToken = iota
	customerToken
)

// embedBuffers are the first parameters of the embedding kernels: the result,
// the features, and each kind's weights.
const embedBuffers = "x coords demands depot_weight depot_bias customer_weight customer_bias"

// embed is, for every instance b and node j, a row each,
//
//	x[b,0] = coords[b,0]*depot_weight + depot_bias
//	x[b,j] = (coords[b,j], demands[b,j])*customer_weight + customer_bias for j > 0
var embed = &device.Kernel{
	Symbol: "model_embed",
	Params: signature(embedBuffers, "batch nodes width", ""),
	Check:  func(a device.Args) error { return checkEmbed(a, a.Int(7), a.Int(8), a.Int(9)) },
	Work:   func(a device.Args) device.Work { return embedWork(a.Int(7)*a.Int(8), a.Int(9)) },
	Body:   func(a device.Args) { parallel(a.Int(7), 16, a, embedAll) },
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(7) * a.Int(8) * a.Int(9)) },
}

// embedTyped is embed for tokens of one kind, which it reads from the device:
// the nodes first to first+count-1 of the instances from to from+instances-1.
var embedTyped = &device.Kernel{
	Symbol: "model_embed_typed",
	Params: signature(embedBuffers+" kind", "from instances first count nodes width", ""),
	Check: func(a device.Args) error {
		if err := a.Need(7, 1); err != nil {
			return err
		}
		last := max(a.Int(10)+a.Int(11), a.Int(12))
		return checkEmbed(a, a.Int(8)+a.Int(9), last, a.Int(13))
	},
	Work: func(a device.Args) device.Work { return embedWork(a.Int(9)*a.Int(11), a.Int(13)) },
	Body: func(a device.Args) {
		from, first, nodes, width, kind := a.Int(8), a.Int(10), a.Int(12), a.Int(13), a.I32(7)[0]
		for b := from; b < from+a.Int(9); b++ {
			for j := first; j < first+a.Int(11); j++ {
				embedToken(a, b*nodes+j, width, kind)
			}
		}
	},
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(9) * a.Int(11) * a.Int(13)) },
}

func checkEmbed(a device.Args, batch, nodes, width int) error {
	n := batch * nodes
	return needs(a, n*width, 2*n, n, 2*width, width, 3*width, width)
}

func embedWork(tokens, width int) device.Work {
	return traffic(6*tokens*width, 3*tokens+7*width, tokens*width)
}

func embedAll(a device.Args, lo, hi int) {
	nodes, width := a.Int(8), a.Int(9)
	for i := lo * nodes; i < hi*nodes; i++ {
		kind := int32(customerToken)
		if i%nodes == 0 {
			kind = depotToken
		}
		embedToken(a, i, width, kind)
	}
}

// embedToken writes row i of x.
func embedToken(a device.Args, i, width int, kind int32) {
	row, cx, cy := a.F32(0)[i*width:][:width], a.F32(1)[2*i], a.F32(1)[2*i+1]
	if kind == depotToken {
		w, bias := a.F32(3), a.F32(4)[:width]
		w0, w1 := w[:width], w[width:][:width]
		for j := range row {
			row[j] = float32(cx*w0[j]) + float32(cy*w1[j]) + bias[j]
		}
		return
	}
	d, w, bias := a.F32(2)[i], a.F32(5), a.F32(6)[:width]
	w0, w1, w2 := w[:width], w[width:][:width], w[2*width:][:width]
	for j := range row {
		row[j] = float32(cx*w0[j]) + float32(cy*w1[j]) + float32(d*w2[j]) + bias[j]
	}
}

// embedBackward is the gradient of embed's weights: the products of the
// features with dx, summed over instances and nodes in order.
var embedBackward = &device.Kernel{
	Symbol: "model_embed_backward",
	Params: signature("dx coords demands depot_weight depot_bias customer_weight customer_bias", "batch nodes width", ""),
	Check:  embed.Check,
	Work: func(a device.Args) device.Work {
		n := a.Int(7) * a.Int(8)
		return traffic(7*n*a.Int(9), n*a.Int(9)+3*n, 7*a.Int(9))
	},
	Body:   func(a device.Args) { parallel(a.Int(9), 32, a, embedGradient) },
	Module: encoderModule,
	Dims:   func(a device.Args) device.Dims { return perColumns(a.Int(9)) },
}

// embedGradient computes columns lo to hi of every weight.
func embedGradient(a device.Args, lo, hi int) {
	dx, coords, demands := a.F32(0), a.F32(1), a.F32(2)
	batch, nodes, width, n := a.Int(7), a.Int(8), a.Int(9), hi-lo
	column := func(i, row int) []float32 {
		w := a.F32(i)[row*width+lo:][:n]
		clear(w)
		return w
	}
	depot0, depot1, depotBias := column(3, 0), column(3, 1), column(4, 0)
	w0, w1, w2, bias := column(5, 0), column(5, 1), column(5, 2), column(6, 0)
	for i := range batch * nodes {
		g, cx, cy, d := dx[i*width+lo:][:n], coords[2*i], coords[2*i+1], demands[i]
		if i%nodes == 0 {
			for j, v := range g {
				depot0[j] += float32(cx * v)
				depot1[j] += float32(cy * v)
				depotBias[j] += v
			}
			continue
		}
		for j, v := range g {
			w0[j] += float32(cx * v)
			w1[j] += float32(cy * v)
			w2[j] += float32(d * v)
			bias[j] += v
		}
	}
}
