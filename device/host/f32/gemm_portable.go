package f32

// The portable micro-kernels: tiles of 3x3 and 1x3 held in scalar variables, as many as fit the registers. They round
// the product and the sum separately, where the vector paths use one fused multiply-add: a correctly rounded float32
// multiply-add costs several times as much as the two operations in plain Go. The conversions keep a compiler from
// fusing them.

func gemmRow3x3(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [3][3]float32
	loadTile(t[:], c, ldc, mode)
	if k > 0 {
		addProducts(&t, a[:k], a[lda:lda+k], a[2*lda:2*lda+k], b, ldb)
	}
	storeTile(t[:], c, ldc, bias, mode)
}

// addProducts adds A*B to the tile, A given by its rows. It does four steps a turn.
func addProducts(t *[3][3]float32, a0, a1, a2, b []float32, ldb int) {
	c00, c01, c02 := t[0][0], t[0][1], t[0][2]
	c10, c11, c12 := t[1][0], t[1][1], t[1][2]
	c20, c21, c22 := t[2][0], t[2][1], t[2][2]
	for len(a0) >= 4 {
		x, y, z := (*[4]float32)(a0), (*[4]float32)(a1), (*[4]float32)(a2)
		v := (*[3]float32)(b)
		c00 += float32(x[0] * v[0])
		c10 += float32(y[0] * v[0])
		c20 += float32(z[0] * v[0])
		c01 += float32(x[0] * v[1])
		c11 += float32(y[0] * v[1])
		c21 += float32(z[0] * v[1])
		c02 += float32(x[0] * v[2])
		c12 += float32(y[0] * v[2])
		c22 += float32(z[0] * v[2])
		v = (*[3]float32)(b[ldb:])
		c00 += float32(x[1] * v[0])
		c10 += float32(y[1] * v[0])
		c20 += float32(z[1] * v[0])
		c01 += float32(x[1] * v[1])
		c11 += float32(y[1] * v[1])
		c21 += float32(z[1] * v[1])
		c02 += float32(x[1] * v[2])
		c12 += float32(y[1] * v[2])
		c22 += float32(z[1] * v[2])
		v = (*[3]float32)(b[2*ldb:])
		c00 += float32(x[2] * v[0])
		c10 += float32(y[2] * v[0])
		c20 += float32(z[2] * v[0])
		c01 += float32(x[2] * v[1])
		c11 += float32(y[2] * v[1])
		c21 += float32(z[2] * v[1])
		c02 += float32(x[2] * v[2])
		c12 += float32(y[2] * v[2])
		c22 += float32(z[2] * v[2])
		v = (*[3]float32)(b[3*ldb:])
		c00 += float32(x[3] * v[0])
		c10 += float32(y[3] * v[0])
		c20 += float32(z[3] * v[0])
		c01 += float32(x[3] * v[1])
		c11 += float32(y[3] * v[1])
		c21 += float32(z[3] * v[1])
		c02 += float32(x[3] * v[2])
		c12 += float32(y[3] * v[2])
		c22 += float32(z[3] * v[2])
		a0, a1, a2 = a0[4:], a1[4:], a2[4:]
		b = b[min(4*ldb, len(b)):]
	}
	for p, x := range a0 {
		v := (*[3]float32)(b[p*ldb:])
		y, z := a1[p], a2[p]
		c00 += float32(x * v[0])
		c10 += float32(y * v[0])
		c20 += float32(z * v[0])
		c01 += float32(x * v[1])
		c11 += float32(y * v[1])
		c21 += float32(z * v[1])
		c02 += float32(x * v[2])
		c12 += float32(y * v[2])
		c22 += float32(z * v[2])
	}
	t[0] = [3]float32{c00, c01, c02}
	t[1] = [3]float32{c10, c11, c12}
	t[2] = [3]float32{c20, c21, c22}
}

func gemmRow1x3(k int, a []float32, _ int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	gemmCol1x3(k, a, 1, b, ldb, c, ldc, bias, mode)
}

func gemmCol1x3(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [1][3]float32
	loadTile(t[:], c, ldc, mode)
	c0, c1, c2 := t[0][0], t[0][1], t[0][2]
	for p := range k {
		v := (*[3]float32)(b[p*ldb:])
		x := a[p*lda]
		c0 += float32(x * v[0])
		c1 += float32(x * v[1])
		c2 += float32(x * v[2])
	}
	t[0] = [3]float32{c0, c1, c2}
	storeTile(t[:], c, ldc, bias, mode)
}

// gemmCol3x3 turns blocks of A into rows and goes on as gemmRow3x3 does.
func gemmCol3x3(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [3][3]float32
	loadTile(t[:], c, ldc, mode)
	var rows [3][64]float32
	for p0 := 0; p0 < k; p0 += 64 {
		n := min(64, k-p0)
		for p := range n {
			v := (*[3]float32)(a[(p0+p)*lda:])
			rows[0][p], rows[1][p], rows[2][p] = v[0], v[1], v[2]
		}
		addProducts(&t, rows[0][:n], rows[1][:n], rows[2][:n], b[p0*ldb:], ldb)
	}
	storeTile(t[:], c, ldc, bias, mode)
}

// loadTile sets the tile to C's old values; without modeLoad it leaves the zeros.
func loadTile(t [][3]float32, c []float32, ldc, mode int) {
	if mode&modeLoad != 0 {
		for i := range t {
			t[i] = [3]float32(c[i*ldc:])
		}
	}
}

// storeTile adds the bias, applies ReLU and writes the tile to C.
func storeTile(t [][3]float32, c []float32, ldc int, bias []float32, mode int) {
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
