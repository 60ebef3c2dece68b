package profiles

import (
	_ "embed"
	"errors"

	"gputax/device"
)

//go:generate go run gputax/device/cuda/ptxgen kernels.cu

//go:embed kernels.ptx
var ptx string

var module = &device.Module{Name: "profiles", PTX: ptx}

// tick is counter[0]++.
var tick = &device.Kernel{
	Symbol: "profiles_tick",
	Module: module,
	Dims:   func(device.Args) device.Dims { return device.Dims{X: 1, Threads: 32} },
	Params: []device.Param{{Name: "counter"}},
	Check:  func(a device.Args) error { return a.Need(0, 1) },
	Work:   func(device.Args) device.Work { return device.Work{ReadBytes: 4, WriteBytes: 4} },
	Body:   func(a device.Args) { a.I32(0)[0]++ },
}

// copyKernel is to = from, n times 16 bytes.
var copyKernel = &device.Kernel{
	Symbol: "profiles_copy",
	Module: module,
	Dims:   func(device.Args) device.Dims { return device.Dims{X: 1056, Threads: 256} },
	Params: []device.Param{{Name: "to"}, {Name: "from"}, {Name: "n", Kind: device.KindInt}},
	Check:  func(a device.Args) error { return errors.Join(a.Need(0, 4*a.Int(2)), a.Need(1, 4*a.Int(2))) },
	Work: func(a device.Args) device.Work {
		n := 16 * int64(a.Int(2))
		return device.Work{ReadBytes: n, WriteBytes: n}
	},
	Body: func(a device.Args) { copy(a.U8(0)[:16*a.Int(2)], a.U8(1)) },
}
