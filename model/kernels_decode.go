package model

import (
	"math"

	"gputax/device"
	"gputax/device/host/f32"
)

// clip bounds the logits: they are clip*tanh(score).
const clip = 10

// context is, for every instance b and query i, with row r = b*queries+i,
//
//	ctx[r] = x[b,cur[r]], capacity[r]: width+1 elements
//	q[r]   = fixed[b]
//
// so that a product can add ctx*step to q.
var context = &device.Kernel{
	Symbol: "model_context",
	Params: signature("ctx q x fixed cur capacity", "batch queries nodes width", ""),
	Check: func(a device.Args) error {
		batch, rows, nodes, width := a.Int(6), a.Int(6)*a.Int(7), a.Int(8), a.Int(9)
		return needs(a, rows*(width+1), rows*width, batch*nodes*width, batch*width, rows, rows)
	},
	Work: func(a device.Args) device.Work {
		rows, width := a.Int(6)*a.Int(7), a.Int(9)
		return traffic(0, rows*(width+2)+a.Int(6)*width, rows*(2*width+1))
	},
	Body:   func(a device.Args) { parallel(a.Int(6)*a.Int(7), 256, a, contextRows) },
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(6) * a.Int(7) * (a.Int(9) + 1)) },
}

func contextRows(a device.Args, lo, hi int) {
	ctx, q, x, fixed, cur, capacity := a.F32(0), a.F32(1), a.F32(2), a.F32(3), a.I32(4), a.F32(5)
	queries, nodes, width := a.Int(7), a.Int(8), a.Int(9)
	for r := lo; r < hi; r++ {
		b := r / queries
		row := ctx[r*(width+1):][:width+1]
		copy(row, x[(b*nodes+int(cur[r]))*width:][:width])
		row[width] = capacity[r]
		copy(q[r*width:][:width], fixed[b*width:])
	}
}

// scores is, for every instance b, query i and node j,
//
//	th[b,i,j] = tanh(q[b,i]·keys[b,j] / sqrt(width))
//
// where rows of keys are ldk apart, and 0 where the mask hides the node.
var scores = &device.Kernel{
	Symbol: "model_scores",
	Params: signature("th q keys mask", "batch queries nodes width ldk", ""),
	Check: func(a device.Args) error {
		rows, nodes, width := a.Int(4)*a.Int(5), a.Int(6), a.Int(7)
		return needs(a, rows*nodes, rows*width, span(a.Int(4)*nodes, width, a.Int(8)), words(rows*nodes))
	},
	Work: func(a device.Args) device.Work {
		rows, keys, nodes, width := a.Int(4)*a.Int(5), a.Int(4)*a.Int(6), a.Int(6), a.Int(7)
		return traffic(rows*nodes*(2*width+10), (rows+keys)*width+words(rows*nodes), rows*nodes)
	},
	Body: func(a device.Args) {
		if a.Int(5) == 1 {
			parallel(a.Int(4), 16, a, scoreOnce)
		} else {
			parallel(a.Int(4), 16, a, scoreInstances)
		}
		th := a.F32(0)[:a.Int(4)*a.Int(5)*a.Int(6)]
		f32.Scale(th, invSqrt(a.Int(7)))
		f32.Tanh(th, th)
	},
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perRow(a.Int(4)*a.Int(5), 0) },
}

// scoreInstances computes the products of instances lo to hi.
func scoreInstances(a device.Args, lo, hi int) {
	th, q, keys, mask := a.F32(0), a.F32(1), a.F32(2), a.U8(3)
	queries, nodes, width, ldk := a.Int(5), a.Int(6), a.Int(7), a.Int(8)
	for b := lo; b < hi; b++ {
		p := f32.MatMul{Op: f32.NT, M: queries, N: nodes, K: width,
			A: q[b*queries*width:], LDA: width, B: keys[b*nodes*ldk:], LDB: ldk, C: th[b*queries*nodes:], LDC: nodes}
		p.Run()
		for i := b * queries * nodes; i < (b+1)*queries*nodes; i++ {
			if mask[i] != 0 {
				th[i] = 0
			}
		}
	}
}

// scoreOnce is scoreInstances with one query an instance, where most nodes are
// hidden.
func scoreOnce(a device.Args, lo, hi int) {
	th, q, keys, mask := a.F32(0), a.F32(1), a.F32(2), a.U8(3)
	nodes, width, ldk := a.Int(6), a.Int(7), a.Int(8)
	for i := lo * nodes; i < hi*nodes; i++ {
		th[i] = 0
		if mask[i] == 0 {
			th[i] = dot(q[i/nodes*width:][:width], keys[i*ldk:])
		}
	}
}

// invSqrt is 1/sqrt(n).
func invSqrt(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

// maskedLogSoftmax is, for every row, the log-softmax over the entries that the
// mask leaves visible of clip*th; -Inf for the others.
func maskedLogSoftmax(logp, th []float32, mask []uint8, rows, nodes int) {
	hidden := float32(math.Inf(-1))
	logp = logp[:rows*nodes]
	for i, m := range mask[:rows*nodes] {
		if m != 0 {
			logp[i] = hidden
		} else {
			logp[i] = clip * th[i]
		}
	}
	f32.LogSoftmax(logp, logp, rows, nodes, nodes)
}

// choose is, for every instance b, with logp the masked log-softmax of clip*th
// and probs its exponential,
//
//	actions[b,t] = the likeliest node if greedy, the lowest of equals; else the
//	               first whose cumulative probability exceeds uniform(b, t)
//	logprob[b]  += logp[b,actions[b,t]]
//
// control holds the seed (low word, high word) and the step number.
var choose = &device.Kernel{
	Symbol: "model_choose",
	Params: signature("actions logprob logp probs th mask control", "batch nodes steps t greedy", ""),
	Check: func(a device.Args) error {
		batch, n, steps := a.Int(7), a.Int(7)*a.Int(8), a.Int(9)
		if err := checkStep(a.Int(10), steps); err != nil {
			return err
		}
		return needs(a, batch*steps, batch, n, n, n, words(n), controlWords)
	},
	Work: func(a device.Args) device.Work {
		n := a.Int(7) * a.Int(8)
		return traffic(20*n, n+n/4+a.Int(7)+controlWords, 2*n+2*a.Int(7))
	},
	Body: func(a device.Args) {
		actions, logprob, logp, probs, control := a.I32(0), a.F32(1), a.F32(2), a.F32(3), a.I32(6)
		batch, nodes, steps, t := a.Int(7), a.Int(8), a.Int(9), a.Int(10)
		maskedLogSoftmax(logp, a.F32(4), a.U8(5), batch, nodes)
		f32.Exp(probs[:batch*nodes], logp)
		for b := range batch {
			row := probs[b*nodes:][:nodes]
			node := 0
			if a.Int(11) != 0 {
				node = largest(row)
			} else {
				node = inverse(row, uniform(control, b, t))
			}
			actions[b*steps+t] = int32(node)
			logprob[b] += logp[b*nodes+node]
		}
	},
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perRow(a.Int(7), a.Int(8)) },
}

// routeLogprobs is logprob[b] = the sum over active steps t of
// logp[b,t,actions[b,t]], with logp the masked log-softmax of clip*th.
var routeLogprobs = &device.Kernel{
	Symbol: "model_route_logprobs",
	Params: signature("logprob logp th mask actions active", "batch steps nodes", ""),
	Check: func(a device.Args) error {
		rows, n := a.Int(6)*a.Int(7), a.Int(6)*a.Int(7)*a.Int(8)
		return needs(a, a.Int(6), n, n, words(n), rows, words(rows))
	},
	Work: func(a device.Args) device.Work {
		rows, n := a.Int(6)*a.Int(7), a.Int(6)*a.Int(7)*a.Int(8)
		return traffic(15*n, n+words(n)+rows+words(rows), n+a.Int(6))
	},
	Body: func(a device.Args) {
		logprob, logp, actions, active := a.F32(0), a.F32(1), a.I32(4), a.U8(5)
		batch, steps, nodes := a.Int(6), a.Int(7), a.Int(8)
		maskedLogSoftmax(logp, a.F32(2), a.U8(3), batch*steps, nodes)
		for b := range batch {
			var sum float32
			for r := b * steps; r < (b+1)*steps; r++ {
				if active[r] != 0 {
					sum += logp[r*nodes+int(actions[r])]
				}
			}
			logprob[b] = sum
		}
	},
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return device.Dims{X: a.Int(6), Threads: 256, Shared: 4 * a.Int(7)} },
}
