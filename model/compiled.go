package model

import (
	_ "embed"

	"gputax/device"
)

//go:generate go run gputax/device/cuda/ptxgen encoder.cu
//go:generate go run gputax/device/cuda/ptxgen decoder.cu
//go:generate go run gputax/device/cuda/ptxgen layer.cu
//go:generate go run gputax/device/cuda/ptxgen matmul.cu
//go:generate go run gputax/device/cuda/ptxgen rollout.cu

var (
	//go:embed encoder.ptx
	encoderPTX string
	//go:embed decoder.ptx
	decoderPTX string
	//go:embed layer.ptx
	layerPTX string
	//go:embed matmul.ptx
	matmulPTX string
	//go:embed rollout.ptx
	rolloutPTX string
)

// The kernels' compiled forms, one module for each .cu file.
var (
	encoderModule = &device.Module{Name: "model/encoder", PTX: encoderPTX}
	decoderModule = &device.Module{Name: "model/decoder", PTX: decoderPTX}
	layerModule   = &device.Module{Name: "model/layer", PTX: layerPTX}
	matmulModule  = &device.Module{Name: "model/matmul", PTX: matmulPTX}
	rolloutModule = &device.Module{Name: "model/rollout", PTX: rolloutPTX}
)

// perItem is one thread for each of n items.
func perItem(n int) device.Dims { return device.Cover(n, 256) }

// rowWarps is how many warps a block has where each has a row, and shared
// memory of its own.
const rowWarps = 4

// perRow is one warp for each of n rows, with so many elements of shared memory
// for each.
func perRow(n, elements int) device.Dims {
	d := device.Cover(n, rowWarps)
	d.Threads, d.Shared = 32*rowWarps, 4*rowWarps*elements
	return d
}

// perColumns is one block for each 8 of n columns, which it sums over all rows.
func perColumns(n int) device.Dims {
	d := device.Cover(n, 8)
	d.Threads = 512
	return d
}

// A product has a block for each tile of 64x64 where there are enough to fill a
// card. Otherwise tiles are 32x32, each with as many threads as a card has room
// for, which share out k.
const (
	plainTiles  = 100
	tensorTiles = 80
	processors  = 132 // of a card
)

// tiles is how many squares cover the result of a product.
func tiles(a device.Args, side int) int {
	return (a.Int(mmM) + side - 1) / side * ((a.Int(mmN) + side - 1) / side)
}

func plainDims(a device.Args) device.Dims {
	if n := tiles(a, 64); n >= plainTiles {
		return device.Dims{X: n, Threads: 256}
	}
	return device.Dims{X: tiles(a, 32), Threads: 512}
}

func tensorDims(a device.Args) device.Dims {
	if n := tiles(a, 64); n >= tensorTiles {
		return device.Dims{X: n, Threads: 256}
	}
	if n := tiles(a, 32); n > processors {
		return device.Dims{X: n, Threads: 256}
	}
	return device.Dims{X: tiles(a, 32), Threads: 512}
}

// normRows is how many rows a block of normBackward takes, normWarps how many
// warps it has.
const (
	normRows  = 32
	normWarps = 16
)

func normBlocks(rows int) int { return (rows + normRows - 1) / normRows }

// normScratch is how many elements of scratch normBackward needs: an arrival
// counter, and the sums of every block.
func normScratch(rows, width int) int { return 1 + normBlocks(rows)*2*width }

// attentionWarps is how many warps a block of the attention kernels has at most,
// each with a query.
const attentionWarps = 8

// attentionChunk is for how many queries at a time a block of attentionBackward
// keeps the gradients of all scores in shared memory.
func attentionChunk(queries, keys int) int {
	return min(queries, max(attentionWarps, 10240/max(keys, 1)))
}

// Shared memory of the fused rollout, in elements: what it may use, and for how
// many warps.
const (
	rolloutRoom  = 56320
	rolloutWarps = 8
)

// rolloutShared is how much the fused rollout uses, in elements. The vectors of
// the nodes are left in device memory where they do not fit.
func rolloutShared(nodes, width, heads int) int {
	step := 3*width + 2*nodes + rolloutWarps*(width/heads+nodes) + words(2*rolloutWarps*nodes)
	if all := step + 3*nodes*width + width*(nodes|1); all <= rolloutRoom {
		return all
	}
	return step
}
