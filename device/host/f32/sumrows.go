package f32

// sumRowsJob is a SumRows in progress.
type sumRowsJob struct {
	p               *path
	x               []float32
	rows, width, ld int
	partial         []float32 // the sum of each chunk
}

var sumRowsJobs freeList[sumRowsJob]

// Range sums chunks lo to hi.
func (j *sumRowsJob) Range(lo, hi int) {
	for c := lo; c < hi; c++ {
		sum := j.partial[c*j.width : (c+1)*j.width]
		clear(sum)
		for i := c * chunkRows; i < min((c+1)*chunkRows, j.rows); i++ {
			j.p.add(sum, sum, j.x[i*j.ld:i*j.ld+j.width])
		}
	}
}

// SumRows equals dst[j] += sum over i of x[i*ld+j] for j < width, after clearing dst unless accumulate is set. The sum
// is taken in chunks of 64 rows, which are added to dst in order, whatever the number of threads.
func SumRows(dst, x []float32, rows, width, ld int, accumulate bool) {
	checkMatrix("SumRows", "x", x, rows, width, ld)
	checkLen("SumRows", "dst", dst, width)
	dst = dst[:width]
	if !accumulate {
		clear(dst)
	}
	if rows == 0 || width == 0 {
		return
	}
	chunks := (rows + chunkRows - 1) / chunkRows
	j := sumRowsJobs.get()
	*j = sumRowsJob{active.Load(), x, rows, width, ld, grow(j.partial, chunks*width)}
	For(chunks, vectorGrain/(chunkRows*width)+1, j)
	for c := range chunks {
		j.p.add(dst, dst, j.partial[c*width:])
	}
	*j = sumRowsJob{partial: j.partial}
	sumRowsJobs.put(j)
}
