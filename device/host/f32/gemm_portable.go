package f32

// The portable micro-kernels: tiles of 3x4 and 1x4 held in scalar variables. They round the product and the sum
// separately, where the vector paths use one fused multiply-add: a correctly rounded float32 multiply-add costs
// several times as much as the two operations in plain Go. The conversions keep a compiler from fusing them.

func gemmRow3x4(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [3][4]float32
	loadTile(t[:], c, ldc, mode)
	a0, a1, a2 := a[:k], a[min(lda, len(a)):], a[min(2*lda, len(a)):]
	a1, a2 = a1[:len(a0)], a2[:len(a0)]
	c00, c01, c02, c03 := t[0][0], t[0][1], t[0][2], t[0][3]
	c10, c11, c12, c13 := t[1][0], t[1][1], t[1][2], t[1][3]
	c20, c21, c22, c23 := t[2][0], t[2][1], t[2][2], t[2][3]
	for p, x := range a0 {
		bp := (*[4]float32)(b[p*ldb:])
		b0, b1, b2, b3 := bp[0], bp[1], bp[2], bp[3]
		c00 += float32(x * b0)
		c01 += float32(x * b1)
		c02 += float32(x * b2)
		c03 += float32(x * b3)
		x = a1[p]
		c10 += float32(x * b0)
		c11 += float32(x * b1)
		c12 += float32(x * b2)
		c13 += float32(x * b3)
		x = a2[p]
		c20 += float32(x * b0)
		c21 += float32(x * b1)
		c22 += float32(x * b2)
		c23 += float32(x * b3)
	}
	t[0] = [4]float32{c00, c01, c02, c03}
	t[1] = [4]float32{c10, c11, c12, c13}
	t[2] = [4]float32{c20, c21, c22, c23}
	storeTile(t[:], c, ldc, bias, mode)
}

func gemmCol3x4(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [3][4]float32
	loadTile(t[:], c, ldc, mode)
	c00, c01, c02, c03 := t[0][0], t[0][1], t[0][2], t[0][3]
	c10, c11, c12, c13 := t[1][0], t[1][1], t[1][2], t[1][3]
	c20, c21, c22, c23 := t[2][0], t[2][1], t[2][2], t[2][3]
	for p := range k {
		ap := (*[3]float32)(a[p*lda:])
		bp := (*[4]float32)(b[p*ldb:])
		b0, b1, b2, b3 := bp[0], bp[1], bp[2], bp[3]
		x := ap[0]
		c00 += float32(x * b0)
		c01 += float32(x * b1)
		c02 += float32(x * b2)
		c03 += float32(x * b3)
		x = ap[1]
		c10 += float32(x * b0)
		c11 += float32(x * b1)
		c12 += float32(x * b2)
		c13 += float32(x * b3)
		x = ap[2]
		c20 += float32(x * b0)
		c21 += float32(x * b1)
		c22 += float32(x * b2)
		c23 += float32(x * b3)
	}
	t[0] = [4]float32{c00, c01, c02, c03}
	t[1] = [4]float32{c10, c11, c12, c13}
	t[2] = [4]float32{c20, c21, c22, c23}
	storeTile(t[:], c, ldc, bias, mode)
}

func gemmRow1x4(k int, a []float32, _ int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	gemmCol1x4(k, a, 1, b, ldb, c, ldc, bias, mode)
}

func gemmCol1x4(k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, bias []float32, mode int) {
	var t [1][4]float32
	loadTile(t[:], c, ldc, mode)
	c0, c1, c2, c3 := t[0][0], t[0][1], t[0][2], t[0][3]
	for p := range k {
		bp := (*[4]float32)(b[p*ldb:])
		x := a[p*lda]
		c0 += float32(x * bp[0])
		c1 += float32(x * bp[1])
		c2 += float32(x * bp[2])
		c3 += float32(x * bp[3])
	}
	t[0] = [4]float32{c0, c1, c2, c3}
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
