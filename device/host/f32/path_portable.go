package f32

// goKernels are the micro-kernels in plain Go.
var goKernels = kernels{
	nr:    3,
	sizes: []int{3, 1},
	row:   []gemmFunc{gemmRow3x3, gemmRow1x3},
	col:   []gemmFunc{gemmCol3x3, gemmCol1x3},
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
