package devicetest

import (
	_ "embed"

	"gputax/device"
)

//go:generate go run gputax/device/cuda/ptxgen kernels.cu

//go:embed kernels.ptx
var ptx string

var module = &device.Module{Name: "devicetest", PTX: ptx}

// Kernels are the suite's own kernels: a backend that runs compiled code
// brings a compiled form of each, by its symbol.
func Kernels() []*device.Kernel { return []*device.Kernel{axpb, push} }

// axpb is x = a*x + b over n elements: the order of two launches shows in the
// result.
var axpb = &device.Kernel{
	Symbol: "devicetest_axpb",
	Params: []device.Param{{Name: "x"}, {Name: "n", Kind: device.KindInt},
		{Name: "a", Kind: device.KindFloat}, {Name: "b", Kind: device.KindFloat}},
	Check: func(a device.Args) error { return a.Need(0, a.Int(1)) },
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(1))
		return device.Work{Flops: 2 * n, ReadBytes: 4 * n, WriteBytes: 4 * n}
	},
	Body: func(a device.Args) {
		x := a.F32(0)[:a.Int(1)]
		for i := range x {
			x[i] = float32(a.Float(2)*x[i]) + a.Float(3)
		}
	},
	Module: module,
	Dims:   func(a device.Args) device.Dims { return device.Cover(a.Int(1), 256) },
}

// push appends v to list, whose element 0 is its length.
var push = &device.Kernel{
	Symbol: "devicetest_push",
	Params: []device.Param{{Name: "list"}, {Name: "v", Kind: device.KindInt}},
	Check:  func(a device.Args) error { return a.Need(0, 1) },
	Work:   func(device.Args) device.Work { return device.Work{ReadBytes: 4, WriteBytes: 8} },
	Body: func(a device.Args) {
		list := a.I32(0)
		list[0]++
		list[list[0]] = int32(a.Int(1))
	},
	Module: module,
	Dims:   func(device.Args) device.Dims { return device.Dims{X: 1, Threads: 1} },
}

// scale queues x = a*x + b over the whole of x.
func scale(r *device.Recorder, s device.Stream, x device.Buffer, a, b float32) error {
	return r.Launch(s, axpb, device.Buf(x), device.Int(x.Size()/4), device.Float(a), device.Float(b))
}
