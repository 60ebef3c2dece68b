package f32

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// EnvVar names the environment variable that forces a path.
const EnvVar = "GPUTAX_HOST"

// path is one implementation of every kernel of the package.
type path struct {
	name         string
	usable       bool     // whether this CPU can run it
	wide, narrow *kernels // matrix products: for MatMul, and for products of few columns
	vectors
}

// vectors are the kernels over vectors and rows. The loop that each equals is the Go function of its name; all paths
// give the same bits.
type vectors struct {
	add, reluGrad     func(dst, a, b []float32)
	scale             func(dst []float32, s float32)
	exp, tanh         func(dst, src []float32)
	softmaxRows       func(dst, src []float32, rows, width, ldd, lds int)
	maxExpSum         func(src []float32) (top, sum float32)
	subTwo            func(dst, src []float32, a, b float32)
	maskScale         func(dst, mask []float32, s float32)
	softmaxBackRows   func(ds, p, dp []float32, rows, width, lds, ldp, lddp int, s float32)
	layerNormRows     func(y, x, gamma, beta, mean, rstd []float32, rows, width int, eps float32)
	layerNormBackRows func(dx, dy, x, gamma, mean, rstd, dgamma, dbeta []float32, rows, width int)
	adam              func(p, m, v, g []float32, c *[8]float32)
	squares           func(sums *[16]float64, x []float32)
}

// active is the path in use. It is chosen when the program starts and changed only by Select.
var (
	active    atomic.Pointer[path]
	pathError error
)

func init() {
	active.Store(best())
	if name := os.Getenv(EnvVar); name != "" {
		if err := Select(name); err != nil {
			pathError = fmt.Errorf("%s: %w", EnvVar, err)
		}
	}
}

// best returns the first usable path.
func best() *path {
	for _, p := range paths() {
		if p.usable {
			return p
		}
	}
	return &portable
}

// paths lists all paths, the fastest first.
func paths() []*path { return append(archPaths(), &portable) }

// Path names the path in use: avx512, avx2 or portable.
func Path() string { return active.Load().name }

// PathError says why the path that the environment asked for is not in use; nil when it is, or when none was asked for.
func PathError() error { return pathError }

// Paths names the paths that this CPU can run, the fastest first.
func Paths() []string {
	var names []string
	for _, p := range paths() {
		if p.usable {
			names = append(names, p.name)
		}
	}
	return names
}

// Select switches to the named path. It must not run at the same time as a kernel.
func Select(name string) error {
	for _, p := range paths() {
		if p.name != name {
			continue
		}
		if !p.usable {
			return fmt.Errorf("f32: path %q: this CPU lacks it; it has %s", name, strings.Join(Paths(), ", "))
		}
		active.Store(p)
		return nil
	}
	return fmt.Errorf("f32: path %q: no such path; this CPU has %s", name, strings.Join(Paths(), ", "))
}
