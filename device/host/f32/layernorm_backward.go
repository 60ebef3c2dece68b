package f32

// layerNormBackRowsGo equals, for every row, with hat = (x-mean)*rstd, g = dy*gamma and sums in the order of lanes:
//
//	dx[j] = ((g[j] - sum(g)/width) - hat[j]*(sum(g*hat)/width)) * rstd
//	dgamma[j] += dy[j]*hat[j]
//	dbeta[j] += dy[j]
func layerNormBackRowsGo(dx, dy, x, gamma, mean, rstd, dgamma, dbeta []float32, rows, width int) {
	w := float32(width)
	for i := range rows {
		out, up, in := dx[i*width:i*width+width], dy[i*width:i*width+width], x[i*width:i*width+width]
		mu, r := mean[i], rstd[i]
		var plain, scaled lanes
		for j, d := range up {
			hat := float32((in[j] - mu) * r)
			dbeta[j] += d
			dgamma[j] += float32(d * hat)
			g := float32(d * gamma[j])
			plain[j%len(plain)] += g
			scaled[j%len(scaled)] += float32(g * hat)
		}
		s1, s2 := plain.sum()/w, scaled.sum()/w
		for j, d := range up {
			hat := float32((in[j] - mu) * r)
			t := (float32(d*gamma[j]) - s1) - float32(hat*s2)
			out[j] = float32(t * r)
		}
	}
}

// chunkRows is the number of rows whose sum is kept apart in a sum over rows. Chunks are summed by different threads
// and then added in their order, so that the result does not depend on the number of threads.
const chunkRows = 64

// normBackJob is a LayerNormBackward in progress.
type normBackJob struct {
	p                            *path
	dx, dy, x, gamma, mean, rstd []float32
	rows, width                  int
	partial                      []float32 // for each chunk, its sums for dgamma and for dbeta
}

var normBackJobs freeList[normBackJob]

// Range does chunks lo to hi.
func (j *normBackJob) Range(lo, hi int) {
	w := j.width
	for c := lo; c < hi; c++ {
		i, n := c*chunkRows, min(chunkRows, j.rows-c*chunkRows)
		sums := j.partial[2*c*w : 2*(c+1)*w]
		clear(sums)
		from, to := i*w, (i+n)*w
		j.p.layerNormBackRows(j.dx[from:to], j.dy[from:to], j.x[from:to], j.gamma, j.mean[i:i+n], j.rstd[i:i+n],
			sums[:w], sums[w:], n, w)
	}
}

// LayerNormBackward is the gradient of LayerNorm: it sets dx and adds to dgamma and dbeta, whose sums over rows are
// taken in chunks of 64 rows, added in order. dx may be dy.
func LayerNormBackward(dx, dy, x, gamma, mean, rstd, dgamma, dbeta []float32, rows, width int) {
	checkLen("LayerNormBackward", "dx", dx, rows*width)
	checkLen("LayerNormBackward", "dy", dy, rows*width)
	checkLen("LayerNormBackward", "x", x, rows*width)
	checkLen("LayerNormBackward", "mean", mean, rows)
	checkLen("LayerNormBackward", "rstd", rstd, rows)
	checkLen("LayerNormBackward", "gamma", gamma, width)
	checkLen("LayerNormBackward", "dgamma", dgamma, width)
	checkLen("LayerNormBackward", "dbeta", dbeta, width)
	if rows == 0 || width == 0 {
		return
	}
	j := normBackJobs.get()
	chunks := (rows + chunkRows - 1) / chunkRows
	*j = normBackJob{active.Load(), dx, dy, x, gamma, mean, rstd, rows, width, grow(j.partial, 2*chunks*width)}
	For(chunks, 1, j)
	for c := range chunks {
		sums := j.partial[2*c*width:]
		j.p.add(dgamma[:width], dgamma, sums)
		j.p.add(dbeta[:width], dbeta, sums[width:])
	}
	*j = normBackJob{partial: j.partial}
	normBackJobs.put(j)
}
