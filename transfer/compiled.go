package transfer

import (
	_ "embed"

	"gputax/device"
)

//go:generate go run gputax/device/cuda/ptxgen kernels.cu

//go:embed kernels.ptx
var ptx string

var module = &device.Module{Name: "transfer", PTX: ptx}

func oneWarp(device.Args) device.Dims { return device.Dims{X: 1, Threads: 32} }
