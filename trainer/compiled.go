package trainer

import (
	_ "embed"

	"gputax/device"
)

//go:generate go run gputax/device/cuda/ptxgen kernels.cu

//go:embed kernels.ptx
var ptx string

var module = &device.Module{Name: "trainer", PTX: ptx}

// As in kernels.cu.
const (
	threads = 256 // of a block
	parts   = 264 // the most blocks of a kernel that works through a long array
)

// cover is one thread for each of as many items as scalar argument i says.
func cover(i int) func(device.Args) device.Dims {
	return func(a device.Args) device.Dims { return device.Cover(a.Int(i), threads) }
}

// spread is cover with so few blocks that each does several items.
func spread(i int) func(device.Args) device.Dims {
	return func(a device.Args) device.Dims {
		d := device.Cover(a.Int(i), threads)
		d.X = min(d.X, parts)
		return d
	}
}

// oneBlock is for kernels that add up a batch.
func oneBlock(device.Args) device.Dims { return device.Dims{X: 1, Threads: threads} }
