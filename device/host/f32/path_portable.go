package f32

var portableKernels = kernels{
	nr:    4,
	sizes: []int{3, 1},
	row:   []gemmFunc{gemmRow3x4, gemmRow1x4},
	col:   []gemmFunc{gemmCol3x4, gemmCol1x4},
}

var portable = path{
	name:   "portable",
	usable: true,
	wide:   &portableKernels,
	narrow: &portableKernels,
}
