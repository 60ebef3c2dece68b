package model

import (
	"fmt"

	"gputax/device"
)

// slack is how much a demand may exceed the remaining capacity, to forgive
// rounding; a demand of 1 is far more.
const slack = 1e-6

// maskRow hides from the vehicle at node cur what it cannot visit next:
// customers visited or too large for the capacity that remains, and the depot
// while it is there and a customer is left. It says whether none is left.
func maskRow(mask, visited []uint8, demands []float32, capacity float32, cur int32) (done bool) {
	done = true
	for j := 1; j < len(mask); j++ {
		mask[j] = visited[j]
		if visited[j] == 0 {
			done = false
			if demands[j] > capacity+slack {
				mask[j] = 1
			}
		}
	}
	mask[0] = 0
	if cur == 0 && !done {
		mask[0] = 1
	}
	return done
}

// visit moves to node and returns the capacity that remains.
func visit(visited []uint8, demands []float32, capacity float32, node int32) float32 {
	if node == 0 {
		return 1
	}
	visited[node] = 1
	return capacity - demands[node]
}

// checkStep refuses a decoding step t that is not one of steps.
func checkStep(t, steps int) error {
	if t >= steps {
		return fmt.Errorf("decoding step %d of %d: %w", t, steps, device.ErrArguments)
	}
	return nil
}

// start puts every vehicle at the depot, full, with no customer visited, and
// masks its first step; it sets logprob to 0.
var start = &device.Kernel{
	Symbol: "model_start",
	Params: signature("cur capacity visited mask logprob demands", "batch nodes", ""),
	Check: func(a device.Args) error {
		batch, n := a.Int(6), a.Int(6)*a.Int(7)
		return needs(a, batch, batch, words(n), words(n), batch, n)
	},
	Work: func(a device.Args) device.Work { n := a.Int(6) * a.Int(7); return traffic(n, n, 3*a.Int(6)+n/2) },
	Body: func(a device.Args) {
		cur, capacity, visited, mask, logprob, demands := a.I32(0), a.F32(1), a.U8(2), a.U8(3), a.F32(4), a.F32(5)
		nodes := a.Int(7)
		clear(visited[:a.Int(6)*nodes])
		for b := range a.Int(6) {
			cur[b], capacity[b], logprob[b] = 0, 1, 0
			row := b * nodes
			maskRow(mask[row:][:nodes], visited[row:], demands[row:], 1, 0)
		}
	},
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perRow(a.Int(6), 0) },
}

// advance moves every vehicle b to the node actions[b,t] and masks its next
// step.
var advance = &device.Kernel{
	Symbol: "model_advance",
	Params: signature("cur capacity visited mask actions demands", "batch nodes steps t", ""),
	Check: func(a device.Args) error {
		batch, n, steps := a.Int(6), a.Int(6)*a.Int(7), a.Int(8)
		if err := checkStep(a.Int(9), steps); err != nil {
			return err
		}
		return needs(a, batch, batch, words(n), words(n), batch*steps, n)
	},
	Work: func(a device.Args) device.Work {
		n := a.Int(6) * a.Int(7)
		return traffic(n, n+n/4+3*a.Int(6), 2*a.Int(6)+n/2)
	},
	Body: func(a device.Args) {
		cur, capacity, visited, mask, actions, demands := a.I32(0), a.F32(1), a.U8(2), a.U8(3), a.I32(4), a.F32(5)
		nodes, steps, t := a.Int(7), a.Int(8), a.Int(9)
		for b := range a.Int(6) {
			row := b * nodes
			cur[b] = actions[b*steps+t]
			capacity[b] = visit(visited[row:], demands[row:], capacity[b], cur[b])
			maskRow(mask[row:][:nodes], visited[row:], demands[row:], capacity[b], cur[b])
		}
	},
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perRow(a.Int(6), 0) },
}

// replay is start and then advance for every step but the last, keeping the
// state before each: cur, capacity and mask of [b,t], and active[b,t], which is
// 0 once all customers are visited. visited is scratch.
var replay = &device.Kernel{
	Symbol: "model_replay",
	Params: signature("cur capacity mask active visited actions demands", "batch nodes steps", ""),
	Check: func(a device.Args) error {
		n, rows := a.Int(7)*a.Int(8), a.Int(7)*a.Int(9)
		return needs(a, rows, rows, words(rows*a.Int(8)), words(rows), words(n), rows, n)
	},
	Work: func(a device.Args) device.Work {
		n, rows := a.Int(7)*a.Int(8), a.Int(7)*a.Int(9)
		return traffic(rows*a.Int(8), n+rows, 2*rows+words(rows*a.Int(8))+words(rows))
	},
	Body:   func(a device.Args) { parallel(a.Int(7), 32, a, replayInstances) },
	Module: decoderModule,
	Dims:   func(a device.Args) device.Dims { return perRow(a.Int(7), words(a.Int(8))) },
}

func replayInstances(a device.Args, lo, hi int) {
	cur, capacity, mask, active, visited := a.I32(0), a.F32(1), a.U8(2), a.U8(3), a.U8(4)
	actions, demands, nodes, steps := a.I32(5), a.F32(6), a.Int(8), a.Int(9)
	for b := lo; b < hi; b++ {
		seen, demand := visited[b*nodes:][:nodes], demands[b*nodes:]
		clear(seen)
		at, left := int32(0), float32(1)
		for r := b * steps; r < (b+1)*steps; r++ {
			cur[r], capacity[r], active[r] = at, left, 1
			if maskRow(mask[r*nodes:][:nodes], seen, demand, left, at) {
				active[r] = 0
			}
			at = actions[r]
			left = visit(seen, demand, left, at)
		}
	}
}
