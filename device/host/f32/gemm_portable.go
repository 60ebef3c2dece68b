package f32

// The micro-kernels in plain Go: tiles of 4x4 and 1x4 held in scalar variables, for architectures with 32 registers
// (on amd64 the portable path uses SSE instead). They round the product and the sum separately, where the vector paths
// use one fused multiply-add: a correctly rounded float32 multiply-add costs several times as much as the two
// operations in plain Go. The conversions keep a compiler from fusing them.

func gemmRow4x4(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [4][4]float32
	loadTile(t[:], c, ldc, mode)
	if k > 0 {
		addProducts(&t, a[:k], a[lda:lda+k], a[2*lda:2*lda+k], a[3*lda:3*lda+k], b, ldb)
	}
	storeTile(t[:], c, ldc, bias, mode)
}

// gemmCol4x4 turns blocks of A into rows and goes on as gemmRow4x4 does.
func gemmCol4x4(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [4][4]float32
	loadTile(t[:], c, ldc, mode)
	var rows [4][64]float32
	for p0 := 0; p0 < k; p0 += 64 {
		n := min(64, k-p0)
		for p := range n {
			v := (*[4]float32)(a[(p0+p)*lda:])
			rows[0][p], rows[1][p], rows[2][p], rows[3][p] = v[0], v[1], v[2], v[3]
		}
		addProducts(&t, rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n], b[p0*ldb:], ldb)
	}
	storeTile(t[:], c, ldc, bias, mode)
}

// addProducts adds A*B to the tile, A given by its rows.
func addProducts(t *[4][4]float32, a0, a1, a2, a3, b []float32, ldb int) {
	c00, c01, c02, c03 := t[0][0], t[0][1], t[0][2], t[0][3]
	c10, c11, c12, c13 := t[1][0], t[1][1], t[1][2], t[1][3]
	c20, c21, c22, c23 := t[2][0], t[2][1], t[2][2], t[2][3]
	c30, c31, c32, c33 := t[3][0], t[3][1], t[3][2], t[3][3]
	a1, a2, a3 = a1[:len(a0)], a2[:len(a0)], a3[:len(a0)]
	for p := range a0 {
		v := (*[4]float32)(b[p*ldb:])
		b0, b1, b2, b3 := v[0], v[1], v[2], v[3]
		x0 := a0[p]
		c00 += float32(x0 * b0)
		c01 += float32(x0 * b1)
		c02 += float32(x0 * b2)
		c03 += float32(x0 * b3)
		x1 := a1[p]
		c10 += float32(x1 * b0)
		c11 += float32(x1 * b1)
		c12 += float32(x1 * b2)
		c13 += float32(x1 * b3)
		x2 := a2[p]
		c20 += float32(x2 * b0)
		c21 += float32(x2 * b1)
		c22 += float32(x2 * b2)
		c23 += float32(x2 * b3)
		x3 := a3[p]
		c30 += float32(x3 * b0)
		c31 += float32(x3 * b1)
		c32 += float32(x3 * b2)
		c33 += float32(x3 * b3)
	}
	t[0] = [4]float32{c00, c01, c02, c03}
	t[1] = [4]float32{c10, c11, c12, c13}
	t[2] = [4]float32{c20, c21, c22, c23}
	t[3] = [4]float32{c30, c31, c32, c33}
}

func gemmRow1x4(k int, a []float32, _ int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	gemmCol1x4(k, a, 1, b, ldb, c, ldc, bias, mode)
}

func gemmCol1x4(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [1][4]float32
	loadTile(t[:], c, ldc, mode)
	for p := range k {
		x := a[p*lda]
		for j, y := range (*[4]float32)(b[p*ldb:]) {
			t[0][j] += float32(x * y)
		}
	}
	storeTile(t[:], c, ldc, bias, mode)
}

// loadTile sets the tile to C's old values; without modeLoad it leaves the zeros.
func loadTile(t [][4]float32, c []float32, ldc, mode int) {
	if mode&modeLoad != 0 {
		for i := range t {
			t[i] = [4]float32(c[i*ldc:])
		}
	}
}

// storeTile adds the bias, applies ReLU and writes the tile to C.
func storeTile(t [][4]float32, c []float32, ldc int, bias []float32, mode int) {
	for i := range t {
		row := &t[i]
		if mode&modeBias != 0 {
			for j := range row {
				row[j] += bias[j]
			}
		}
		if mode&modeReLU != 0 {
			for j, x := range row {
				if x < 0 {
					row[j] = 0
				}
			}
		}
		copy(c[i*ldc:], row[:])
	}
}
