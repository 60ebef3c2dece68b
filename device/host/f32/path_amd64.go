package f32

import "golang.org/x/sys/cpu"

//go:generate go run ./gen -out .

func archPaths() []*path { return []*path{&avx512, &avx2} }

var avx512 = path{
	name:   "avx512",
	usable: cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasFMA && cpu.X86.HasAVX2,
	wide: &kernels{
		nr:         32,
		sizes:      []int{14, 8, 4, 2, 1},
		row:        []gemmFunc{gemmRow14x32AVX512, gemmRow8x32AVX512, gemmRow4x32AVX512, gemmRow2x32AVX512, gemmRow1x32AVX512},
		col:        []gemmFunc{gemmCol14x32AVX512, gemmCol8x32AVX512, gemmCol4x32AVX512, gemmCol2x32AVX512, gemmCol1x32AVX512},
		transpose8: transpose8AVX,
	},
	narrow: &kernels{
		nr:    16,
		sizes: []int{14, 8, 4, 3, 2, 1},
		row: []gemmFunc{gemmRow14x16AVX512, gemmRow8x16AVX512, gemmRow4x16AVX512, gemmRow3x16AVX512,
			gemmRow2x16AVX512, gemmRow1x16AVX512},
		col: []gemmFunc{gemmCol14x16AVX512, gemmCol8x16AVX512, gemmCol4x16AVX512, gemmCol3x16AVX512,
			gemmCol2x16AVX512, gemmCol1x16AVX512},
		transpose8: transpose8AVX,
	},
	vectors: vectors{
		add:               addAVX512,
		reluGrad:          reluGradAVX512,
		scale:             scaleAVX512,
		exp:               expAVX512,
		tanh:              tanhAVX512,
		softmaxRows:       softmaxRowsAVX512,
		maxExpSum:         maxExpSumAVX512,
		subTwo:            subTwoAVX512,
		maskScale:         maskScaleAVX512,
		softmaxBackRows:   softmaxBackRowsAVX512,
		layerNormRows:     layerNormRowsAVX512,
		layerNormBackRows: layerNormBackRowsAVX512,
		adam:              adamAVX512,
		squares:           squaresAVX512,
	},
}

var avx2Kernels = kernels{
	nr:         16,
	sizes:      []int{6, 4, 3, 2, 1},
	row:        []gemmFunc{gemmRow6x16AVX2, gemmRow4x16AVX2, gemmRow3x16AVX2, gemmRow2x16AVX2, gemmRow1x16AVX2},
	col:        []gemmFunc{gemmCol6x16AVX2, gemmCol4x16AVX2, gemmCol3x16AVX2, gemmCol2x16AVX2, gemmCol1x16AVX2},
	transpose8: transpose8AVX,
}

var avx2 = path{
	name:   "avx2",
	usable: cpu.X86.HasAVX2 && cpu.X86.HasFMA,
	wide:   &avx2Kernels,
	narrow: &avx2Kernels,
	vectors: vectors{
		add:               addAVX2,
		reluGrad:          reluGradAVX2,
		scale:             scaleAVX2,
		exp:               expAVX2,
		tanh:              tanhAVX2,
		softmaxRows:       softmaxRowsAVX2,
		maxExpSum:         maxExpSumAVX2,
		subTwo:            subTwoAVX2,
		maskScale:         maskScaleAVX2,
		softmaxBackRows:   softmaxBackRowsAVX2,
		layerNormRows:     layerNormRowsAVX2,
		layerNormBackRows: layerNormBackRowsAVX2,
		adam:              adamAVX2,
		squares:           squaresAVX2,
	},
}

// baseKernels do in SSE, which every amd64 CPU has, what the Go micro-kernels do, and give the same bits.
var baseKernels = kernels{
	nr:    8,
	sizes: []int{6, 4, 3, 2, 1},
	row:   []gemmFunc{gemmRow6x8SSE, gemmRow4x8SSE, gemmRow3x8SSE, gemmRow2x8SSE, gemmRow1x8SSE},
	col:   []gemmFunc{gemmCol6x8SSE, gemmCol4x8SSE, gemmCol3x8SSE, gemmCol2x8SSE, gemmCol1x8SSE},
}
