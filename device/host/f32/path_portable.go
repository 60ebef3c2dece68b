package f32

// goKernels are the micro-kernels in plain Go.
var goKernels = kernels{
	nr:    4,
	sizes: []int{4, 1},
	row:   []gemmFunc{gemmRow4x4, gemmRow1x4},
	col:   []gemmFunc{gemmCol4x4, gemmCol1x4},
}

// portable needs nothing beyond the architecture's baseline. Its results are the same on every architecture.
var portable = path{
	name:   "portable",
	usable: true,
	wide:   &baseKernels,
	narrow: &baseKernels,
	vectors: vectors{
		add:               addGo,
		reluGrad:          reluGradGo,
		scale:             scaleGo,
		exp:               expGo,
		tanh:              tanhGo,
		softmaxRows:       softmaxRowsGo,
		maxExpSum:         maxExpSumGo,
		subTwo:            subTwoGo,
		maskScale:         maskScaleGo,
		softmaxBackRows:   softmaxBackRowsGo,
		layerNormRows:     layerNormRowsGo,
		layerNormBackRows: layerNormBackRowsGo,
		adam:              adamGo,
		squares:           squaresGo,
	},
}
