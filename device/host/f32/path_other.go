//go:build !amd64

package f32

func archPaths() []*path { return nil }

var baseKernels = goKernels
