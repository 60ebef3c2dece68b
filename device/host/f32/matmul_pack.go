package f32

// The packed form of B: the steps of K in blocks of depth; in a block, panels of nr columns; in a panel, the nr
// values of each step side by side, with zeros after column N.

// packWork is the number of values of B below which one thread packs it.
const packWork = 1 << 15

// directRows is the number of rows of C up to which packing B costs more than it saves.
const directRows = 256

// panel returns the k steps from p0 on of the panel at column n, and the distance between steps.
func (j *matmulJob) panel(n, p0, k int) (b []float32, ldb int) {
	switch {
	case k == 0:
		return nil, 0
	case j.direct && n+j.nr <= j.N:
		return j.B[p0*j.LDB+n:], j.LDB
	}
	return j.panels[p0*j.width+n*k:], j.nr
}

// pack fills j.panels, except with panels that are read where they are.
func (j *matmulJob) pack(threads int) {
	j.width = (j.N + j.nr - 1) / j.nr * j.nr
	j.direct = j.Op != NT && j.M <= directRows
	first, last := 0, j.width/j.nr
	if j.direct {
		first = j.N / j.nr
	}
	if first == last {
		return
	}
	j.panels = grow(j.panels, j.K*j.width)
	if threads == 1 || j.K*j.N <= packWork || j.direct {
		(*packer)(j).Range(first, last)
		return
	}
	For(last, (last+threads-1)/threads, (*packer)(j))
}

// packer packs a range of panels.
type packer matmulJob

// Range packs panels lo to hi, in every block of K.
func (j *packer) Range(lo, hi int) {
	for p0 := 0; p0 < j.K; p0 += depth {
		k := min(depth, j.K-p0)
		for n := lo * j.nr; n < hi*j.nr; n += j.nr {
			dst := j.panels[p0*j.width+n*k:][:k*j.nr]
			cols := min(j.nr, j.N-n)
			if j.Op == NT {
				j.packColumns(dst, j.B[n*j.LDB+p0:], j.LDB, k, cols)
			} else {
				packRows(dst, j.nr, j.B[p0*j.LDB+n:], j.LDB, k, cols)
			}
		}
	}
}

// packRows equals dst[p*nr+c] = b[p*ldb+c] for p < k and c < cols, and zero for the other c < nr.
func packRows(dst []float32, nr int, b []float32, ldb, k, cols int) {
	for p := range k {
		row := dst[p*nr : p*nr+nr]
		copy(row[:cols], b[p*ldb:])
		clear(row[cols:])
	}
}

// packColumns equals dst[p*nr+c] = b[c*ldb+p] for p < k and c < cols, and zero for the other c < nr.
func (ks *kernels) packColumns(dst []float32, b []float32, ldb, k, cols int) {
	if cols < ks.nr {
		clear(dst)
	}
	c := 0
	if ks.transpose8 != nil && k >= 4 {
		for ; c+8 <= cols; c += 8 {
			ks.transpose8(dst[c:], ks.nr, b[c*ldb:], ldb, k&^3)
			transpose(dst[c:], ks.nr, b[c*ldb:], ldb, k&^3, k, 8)
		}
	}
	if c < cols {
		transpose(dst[c:], ks.nr, b[c*ldb:], ldb, 0, k, cols-c)
	}
}

// transpose equals dst[p*nr+c] = b[c*ldb+p] for p0 <= p < k and c < cols.
func transpose(dst []float32, nr int, b []float32, ldb, p0, k, cols int) {
	for c := range cols {
		row := b[c*ldb:][:k]
		for p := p0; p < len(row); p++ {
			dst[p*nr+c] = row[p]
		}
	}
}
