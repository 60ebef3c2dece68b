package cost

import (
	"errors"

	"gputax/device"
)

// intParams is a signature of buffers followed by ints.
func intParams(buffers []string, ints ...string) []device.Param {
	var p []device.Param
	for _, name := range buffers {
		p = append(p, device.Param{Name: name})
	}
	for _, name := range ints {
		p = append(p, device.Param{Name: name, Kind: device.KindInt})
	}
	return p
}

// zeroInts is x[:n] = 0.
var zeroInts = &device.Kernel{
	Symbol: "cost_zero_ints",
	Module: module,
	Dims:   cover(1),
	Params: intParams([]string{"x"}, "n"),
	Check:  func(a device.Args) error { return a.Need(0, a.Int(1)) },
	Work:   func(a device.Args) device.Work { return device.Work{WriteBytes: 4 * int64(a.Int(1))} },
	Body:   func(a device.Args) { clear(a.I32(0)[:a.Int(1)]) },
}

// copyWords is to[:n] = from[:n].
var copyWords = &device.Kernel{
	Symbol: "cost_copy",
	Module: module,
	Dims:   cover(2),
	Params: intParams([]string{"to", "from"}, "n"),
	Check:  func(a device.Args) error { return errors.Join(a.Need(0, a.Int(2)), a.Need(1, a.Int(2))) },
	Work: func(a device.Args) device.Work {
		n := 4 * int64(a.Int(2))
		return device.Work{ReadBytes: n, WriteBytes: n}
	},
	Body: func(a device.Args) { copy(a.I32(0)[:a.Int(2)], a.I32(1)) },
}

// maskEdges is mask[i,j] = 1 where j+1 < lengths[i], else 0.
var maskEdges = &device.Kernel{
	Symbol: "cost_mask_edges",
	Module: module,
	Dims:   coverProduct(2, 3),
	Params: intParams([]string{"mask", "lengths"}, "count", "edges"),
	Check: func(a device.Args) error {
		return errors.Join(a.Need(0, a.Int(2)*a.Int(3)), a.Need(1, a.Int(2)))
	},
	Work: func(a device.Args) device.Work {
		return device.Work{ReadBytes: 4 * int64(a.Int(2)), WriteBytes: 4 * int64(a.Int(2)) * int64(a.Int(3))}
	},
	Body: func(a device.Args) {
		mask, lengths, edges := a.F32(0), a.I32(1), a.Int(3)
		for i := range a.Int(2) {
			for j := range edges {
				mask[i*edges+j] = 0
				if j+1 < int(lengths[i]) {
					mask[i*edges+j] = 1
				}
			}
		}
	},
}

// indexEdges is index[i,j] = (i%batch*nodes + routes[i,j])*nodes + routes[i,j+1].
var indexEdges = &device.Kernel{
	Symbol: "cost_index_edges",
	Module: module,
	Dims:   coverProduct(2, 3),
	Params: intParams([]string{"index", "routes"}, "count", "edges", "nodes", "batch"),
	Check: func(a device.Args) error {
		return errors.Join(a.Need(0, a.Int(2)*a.Int(3)), a.Need(1, a.Int(2)*(a.Int(3)+1)))
	},
	Work: func(a device.Args) device.Work {
		n := 4 * int64(a.Int(2)) * int64(a.Int(3))
		return device.Work{ReadBytes: n, WriteBytes: n}
	},
	Body: func(a device.Args) {
		index, routes, edges, nodes, batch := a.I32(0), a.I32(1), a.Int(3), int32(a.Int(4)), a.Int(5)
		for i := range a.Int(2) {
			row := routes[i*(edges+1):]
			for j := range edges {
				index[i*edges+j] = (int32(i%batch)*nodes+row[j])*nodes + row[j+1]
			}
		}
	},
}

// gatherEdges is out[i] = from[index[i]].
var gatherEdges = &device.Kernel{
	Symbol: "cost_gather",
	Module: module,
	Dims:   cover(3),
	Params: intParams([]string{"out", "from", "index"}, "n"),
	Check:  func(a device.Args) error { return errors.Join(a.Need(0, a.Int(3)), a.Need(2, a.Int(3))) },
	Work: func(a device.Args) device.Work {
		n := 4 * int64(a.Int(3))
		return device.Work{ReadBytes: 2 * n, WriteBytes: n}
	},
	Body: func(a device.Args) {
		out, from := a.F32(0), a.F32(1)
		for i, k := range a.I32(2)[:a.Int(3)] {
			out[i] = from[k]
		}
	},
}

// maskValues is x[i] *= mask[i].
var maskValues = &device.Kernel{
	Symbol: "cost_mask_values",
	Module: module,
	Dims:   cover(2),
	Params: intParams([]string{"x", "mask"}, "n"),
	Check:  func(a device.Args) error { return errors.Join(a.Need(0, a.Int(2)), a.Need(1, a.Int(2))) },
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(2))
		return device.Work{Flops: n, ReadBytes: 8 * n, WriteBytes: 4 * n}
	},
	Body: func(a device.Args) {
		x := a.F32(0)
		for i, v := range a.F32(1)[:a.Int(2)] {
			x[i] *= v
		}
	},
}

// sumRows is out[i] = the sum over j of x[i,j].
var sumRows = &device.Kernel{
	Symbol: "cost_sum_rows",
	Module: module,
	Dims:   cover(2),
	Params: intParams([]string{"out", "x"}, "rows", "width"),
	Check:  func(a device.Args) error { return errors.Join(a.Need(0, a.Int(2)), a.Need(1, a.Int(2)*a.Int(3))) },
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(2)) * int64(a.Int(3))
		return device.Work{Flops: n, ReadBytes: 4 * n, WriteBytes: 4 * int64(a.Int(2))}
	},
	Body: func(a device.Args) {
		out, x, width := a.F32(0), a.F32(1), a.Int(3)
		for i := range a.Int(2) {
			var sum float32
			for _, v := range x[i*width : (i+1)*width] {
				sum += v
			}
			out[i] = sum
		}
	},
}
