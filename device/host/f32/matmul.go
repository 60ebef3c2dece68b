package f32

import (
	"fmt"
	"runtime"
)

// Trans says which operand of a matrix product is stored transposed.
type Trans uint8

// The operations of MatMul.
const (
	NN Trans = iota // C = A*B with A of M rows and K columns, B of K rows and N columns
	NT              // C = A*B' with B of N rows and K columns
	TN              // C = A'*B with A of K rows and M columns
)

// MatMul is a matrix product. All matrices are row-major; LDA, LDB and LDC are the distances between rows in elements.
// For every i < M and j < N, Run equals
//
//	s := float32(0)              // C(i, j) if Accumulate
//	for p := range K {
//		s = fma(A(i, p), B(p, j), s) // rounded once; the portable path rounds the product too
//	}
//	if Bias != nil { s += Bias[j] }
//	if ReLU && s < 0 { s = 0 }
//	C(i, j) = s
//
// to the bit, whatever the blocking and the number of threads. C must not overlap the other slices.
type MatMul struct {
	Op         Trans
	M, N, K    int
	A          []float32
	LDA        int
	B          []float32
	LDB        int
	C          []float32
	LDC        int
	Bias       []float32 // N values, or nil
	ReLU       bool
	Accumulate bool
}

// Bits of a micro-kernel's mode.
const (
	modeLoad = 1 << iota // start from C's values instead of zero
	modeBias             // add the bias at the end
	modeReLU             // replace negative results by zero, last
)

// gemmFunc is a micro-kernel: the loop of MatMul for a tile of fixed size. B(p, j) is b[p*ldb+j] and C(i, j) is
// c[i*ldc+j]; A(i, p) is a[i*lda+p] in a row kernel and a[p*lda+i] in a col kernel.
type gemmFunc func(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int)

// kernels is a family of micro-kernels that are nr columns wide.
type kernels struct {
	nr       int
	sizes    []int // rows of the tiles, falling; the last is 1
	row, col []gemmFunc
	// transpose8, where there is one, sets dst[p*ldd+c] to src[c*lds+p] for c < 8 and p < k, k a multiple of 4.
	transpose8 func(dst []float32, ldd int, src []float32, lds, k int)
}

// depth is how many steps of K are done before going on to the next tile, so that a block of B stays in the
// second-level cache. The partial sums wait in C, which does not change them.
const depth = 512

// serialWork is the number of multiply-adds below which a product is not worth a second thread.
const serialWork = 1 << 16

// partRows is about the least number of rows of a part; a thread gets up to four parts, to even out delays.
const partRows = 64

// Run computes the product. It panics when a slice is too short for the sizes.
func (m *MatMul) Run() {
	m.check()
	if m.M == 0 || m.N == 0 {
		return
	}
	j := matmulJobs.get()
	j.MatMul = *m
	j.kernels, j.padded = active.Load().wide, false
	threads := runtime.GOMAXPROCS(0)
	if m.M*m.N*max(m.K, 1) < serialWork {
		threads = 1
	}
	j.pack(threads)
	if threads == 1 {
		j.Range(0, m.M)
	} else {
		parts := threads * min(max(m.M/(threads*partRows), 1), 4)
		For(m.M, (m.M+parts-1)/parts, j)
	}
	j.MatMul = MatMul{}
	matmulJobs.put(j)
}

// check panics when a size is negative or a slice is too short.
func (m *MatMul) check() {
	if m.M < 0 || m.N < 0 || m.K < 0 {
		panic(fmt.Sprintf("f32: MatMul: negative size %dx%dx%d", m.M, m.N, m.K))
	}
	ar, ac, br, bc := m.M, m.K, m.K, m.N
	switch m.Op {
	case NT:
		br, bc = m.N, m.K
	case TN:
		ar, ac = m.K, m.M
	}
	checkMatrix("MatMul", "A", m.A, ar, ac, m.LDA)
	checkMatrix("MatMul", "B", m.B, br, bc, m.LDB)
	checkMatrix("MatMul", "C", m.C, m.M, m.N, m.LDC)
	if m.Bias != nil && len(m.Bias) < m.N {
		panic(fmt.Sprintf("f32: MatMul: Bias has %d values, want %d", len(m.Bias), m.N))
	}
}

// checkMatrix panics when x is too short for rows rows of width values, ld apart.
func checkMatrix(op, what string, x []float32, rows, width, ld int) {
	if rows == 0 || width == 0 {
		return
	}
	if rows < 0 || width < 0 || ld < width {
		panic(fmt.Sprintf("f32: %s: %s: %d rows of %d values, %d apart", op, what, rows, width, ld))
	}
	if need := (rows-1)*ld + width; len(x) < need {
		panic(fmt.Sprintf("f32: %s: %s: %d values, want %d for %d rows of %d, %d apart", op, what, len(x), need, rows, width, ld))
	}
}

// matmulJob is one Run in progress. As a Body it computes a range of rows of C.
type matmulJob struct {
	MatMul
	*kernels
	panels []float32 // B packed
	width  int       // N rounded up to whole panels
	direct bool      // the full panels of B are read where they are
	padded bool      // C has room for whole panels, so that the last needs no copy
}

var matmulJobs freeList[matmulJob]

// scratch is the working space of one range of rows.
type scratch struct {
	tile []float32 // the tile of a last panel that is not full
	bias []float32 // its bias
}

var scratches freeList[scratch]

// Range computes rows lo to hi of C.
func (j *matmulJob) Range(lo, hi int) {
	s := scratches.get()
	j.compute(s, lo, hi)
	scratches.put(s)
}

// serial does the whole product on the caller's thread.
func (j *matmulJob) serial(s *scratch) {
	j.pack(1)
	j.compute(s, 0, j.M)
}

// compute computes rows lo to hi of C in the given working space.
func (j *matmulJob) compute(s *scratch, lo, hi int) {
	s.tile = grow(s.tile, j.nr*j.sizes[0])
	s.bias = grow(s.bias, j.nr)
	for p0 := 0; p0 == 0 || p0 < j.K; p0 += depth {
		for size, i := 0, lo; i < hi; i += j.sizes[size] {
			for j.sizes[size] > hi-i {
				size++
			}
			j.rows(s, i, size, p0)
		}
	}
}

// rows adds steps p0 to p0+depth to the tiles of sizes[size] rows from row i on.
func (j *matmulJob) rows(s *scratch, i, size, p0 int) {
	k := min(depth, j.K-p0)
	rows := j.sizes[size]
	fn, lda := j.row[size], j.LDA
	var a []float32
	switch {
	case k == 0:
	case j.Op == TN:
		fn, a = j.col[size], j.A[p0*lda+i:]
	default:
		a = j.A[i*lda+p0:]
	}
	mode, bias := 0, []float32(nil)
	if p0 > 0 || j.Accumulate {
		mode = modeLoad
	}
	if last := p0+k == j.K; last {
		if j.ReLU {
			mode |= modeReLU
		}
		if j.Bias != nil {
			mode |= modeBias
			bias = j.Bias
		}
	}
	for n := 0; n < j.N; n += j.nr {
		if bias != nil {
			bias = j.Bias[n:]
		}
		b, ldb := j.panel(n, p0, k)
		c := j.C[i*j.LDC+n:]
		if cols := j.N - n; cols >= j.nr || j.padded {
			fn(k, a, lda, b, ldb, c, j.LDC, bias, mode)
		} else {
			copy(s.bias, bias)
			copyRows(s.tile, j.nr, c, j.LDC, rows, cols)
			fn(k, a, lda, b, ldb, s.tile, j.nr, s.bias, mode)
			copyRows(c, j.LDC, s.tile, j.nr, rows, cols)
		}
	}
}

// copyRows copies rows of width values between matrices.
func copyRows(dst []float32, ldd int, src []float32, lds int, rows, width int) {
	for i := range rows {
		copy(dst[i*ldd:i*ldd+width], src[i*lds:])
	}
}

// grow returns a slice of n values, x's own array when it is large enough.
func grow(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}
