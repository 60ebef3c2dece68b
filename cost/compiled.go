package cost

import (
	_ "embed"

	"gputax/device"
)

//go:generate go run gputax/device/cuda/ptxgen kernels.cu

//go:embed kernels.ptx
var ptx string

var module = &device.Module{Name: "cost", PTX: ptx}

// threads is the size of a block where one thread does one item.
const threads = 128

// cover is one thread for each of as many items as scalar argument i says.
func cover(i int) func(device.Args) device.Dims {
	return func(a device.Args) device.Dims { return device.Cover(a.Int(i), threads) }
}

// coverProduct is cover for the product of scalars i and j.
func coverProduct(i, j int) func(device.Args) device.Dims {
	return func(a device.Args) device.Dims { return device.Cover(a.Int(i)*a.Int(j), threads) }
}

// one is a single warp, for kernels that do one thing.
func one(device.Args) device.Dims { return device.Dims{X: 1, Threads: 32} }
