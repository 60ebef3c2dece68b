package model

import (
	"gputax/device"
	"gputax/device/host/f32"
)

// scoresGradient is the gradient of the sum over b of advantage[b]*logprob[b]
// by the products q·keys, for every row r = [b,t] and node j in sight:
//
//	d[r,j] = advantage[b] * active[r] * ((j == actions[r]) - exp(logp[r,j]))
//	         * clip * (1 - th[r,j]^2) / sqrt(width)
//
// and 0 for nodes that the mask hides.
var scoresGradient = &device.Kernel{
	Symbol: "model_scores_gradient",
	Params: signature("d logp th mask actions active advantage", "batch steps nodes width", ""),
	Check: func(a device.Args) error {
		rows, n := a.Int(7)*a.Int(8), a.Int(7)*a.Int(8)*a.Int(9)
		return needs(a, n, n, n, words(n), rows, words(rows), a.Int(7))
	},
	Work: func(a device.Args) device.Work {
		rows, n := a.Int(7)*a.Int(8), a.Int(7)*a.Int(8)*a.Int(9)
		return traffic(15*n, 2*n+words(n)+rows+words(rows)+a.Int(7), n)
	},
	Body: func(a device.Args) {
		d, mask, actions, active, advantage := a.F32(0), a.U8(3), a.I32(4), a.U8(5), a.F32(6)
		steps, nodes := a.Int(8), a.Int(9)
		rows, factor := a.Int(7)*steps, clip*invSqrt(a.Int(10))
		f32.Exp(d[:rows*nodes], a.F32(1))
		for r := range rows {
			row, th, hidden := d[r*nodes:][:nodes], a.F32(2)[r*nodes:], mask[r*nodes:]
			if active[r] == 0 {
				clear(row)
				continue
			}
			scale := float32(advantage[r/steps] * factor)
			for j, p := range row {
				switch {
				case hidden[j] != 0:
					row[j] = 0
					continue
				case j == int(actions[r]):
					p--
				}
				row[j] = float32(float32(-p*scale) * (1 - float32(th[j]*th[j])))
			}
		}
	},
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(7) * a.Int(8) * a.Int(9)) },
}

// scoresBackward is, for every instance b,
//
//	dq[b,i]    = the sum over nodes j of d[b,i,j] * keys[b,j]
//	dkeys[b,j] = the sum over queries i of d[b,i,j] * q[b,i]
//
// where rows of keys and dkeys are ldk apart.
var scoresBackward = &device.Kernel{
	Symbol: "model_scores_backward",
	Params: signature("dq dkeys d q keys", "batch queries nodes width ldk", ""),
	Check: func(a device.Args) error {
		rows, nodes, width := a.Int(5)*a.Int(6), a.Int(7), a.Int(8)
		keys := span(a.Int(5)*nodes, width, a.Int(9))
		return needs(a, rows*width, keys, rows*nodes, rows*width, keys)
	},
	Work: func(a device.Args) device.Work {
		rows, nodes, width := a.Int(5)*a.Int(6), a.Int(7), a.Int(8)
		both := (rows + a.Int(5)*nodes) * width
		return traffic(4*rows*nodes*width, both+rows*nodes, both)
	},
	Body:   func(a device.Args) { parallel(a.Int(5), 8, a, scoresBackwardInstances) },
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(5) * (a.Int(6) + a.Int(7)) * a.Int(8)) },
}

func scoresBackwardInstances(a device.Args, lo, hi int) {
	dq, dkeys, d, q, keys := a.F32(0), a.F32(1), a.F32(2), a.F32(3), a.F32(4)
	queries, nodes, width, ldk := a.Int(6), a.Int(7), a.Int(8), a.Int(9)
	for b := lo; b < hi; b++ {
		i, j := b*queries*width, b*nodes*ldk
		p := f32.MatMul{Op: f32.NN, M: queries, N: width, K: nodes,
			A: d[b*queries*nodes:], LDA: nodes, B: keys[j:], LDB: ldk, C: dq[i:], LDC: width}
		p.Run()
		p = f32.MatMul{Op: f32.TN, M: nodes, N: width, K: queries,
			A: d[b*queries*nodes:], LDA: nodes, B: q[i:], LDB: width, C: dkeys[j:], LDC: ldk}
		p.Run()
	}
}

// contextBackward is, for every instance b and node j, a row each,
//
//	dx[b,j] += dmean[b]/nodes + the sum over steps t with cur[b,t] = j of dctx[b,t]
var contextBackward = &device.Kernel{
	Symbol: "model_context_backward",
	Params: signature("dx dmean dctx cur", "batch steps nodes width", ""),
	Check: func(a device.Args) error {
		batch, rows, nodes, width := a.Int(4), a.Int(4)*a.Int(5), a.Int(6), a.Int(7)
		return needs(a, batch*nodes*width, batch*width, rows*width, rows)
	},
	Work: func(a device.Args) device.Work {
		batch, rows, n := a.Int(4), a.Int(4)*a.Int(5), a.Int(4)*a.Int(6)*a.Int(7)
		return traffic(2*n+rows*a.Int(7), n+(batch+rows)*a.Int(7)+rows, n)
	},
	Body:   func(a device.Args) { parallel(a.Int(4), 8, a, contextBackwardInstances) },
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perItem(a.Int(4) * a.Int(6) * a.Int(7)) },
}

func contextBackwardInstances(a device.Args, lo, hi int) {
	dx, dmean, dctx, cur := a.F32(0), a.F32(1), a.F32(2), a.I32(3)
	steps, nodes, width := a.Int(5), a.Int(6), a.Int(7)
	share := 1 / float32(nodes)
	for b := lo; b < hi; b++ {
		up := dmean[b*width:][:width]
		for j := range nodes {
			row := dx[(b*nodes+j)*width:][:width]
			for c, v := range up {
				row[c] += float32(v * share)
			}
		}
		for r := b * steps; r < (b+1)*steps; r++ {
			row := dx[(b*nodes+int(cur[r]))*width:][:width]
			f32.AddTo(row, dctx[r*width:][:width])
		}
	}
}
