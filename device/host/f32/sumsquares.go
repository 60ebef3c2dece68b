package f32

// squaresGo sets sums[l] to the sum of the squares of x[l], x[l+16] and so on, for the whole blocks of 16 of x.
func squaresGo(sums *[16]float64, x []float32) {
	*sums = [16]float64{}
	for ; len(x) >= 16; x = x[16:] {
		for l, v := range x[:16] {
			sums[l] += float64(float64(v) * float64(v))
		}
	}
}

// squareChunk is the number of values whose squares are summed by one thread.
const squareChunk = 1 << 13

// squaresJob is a SumSquares in progress.
type squaresJob struct {
	p       *path
	x       []float32
	partial [][16]float64 // the lanes of each chunk
}

var squaresJobs freeList[squaresJob]

// Range sums chunks lo to hi.
func (j *squaresJob) Range(lo, hi int) {
	for c := lo; c < hi; c++ {
		x := j.x[c*squareChunk : min((c+1)*squareChunk, len(j.x))]
		sums := &j.partial[c]
		j.p.squares(sums, x)
		for l, v := range x[len(x)/16*16:] {
			sums[l] += float64(float64(v) * float64(v))
		}
		for half := 8; half > 0; half /= 2 {
			for l := range half {
				sums[l] += sums[l+half]
			}
		}
	}
}

// SumSquares returns the sum of x[i]*x[i] in float64: in 16 lanes a chunk of 8192 values, the chunks added in order.
func SumSquares(x []float32) float64 {
	chunks := (len(x) + squareChunk - 1) / squareChunk
	j := squaresJobs.get()
	j.p, j.x = active.Load(), x
	if cap(j.partial) < chunks {
		j.partial = make([][16]float64, chunks)
	}
	j.partial = j.partial[:chunks]
	For(chunks, 2, j)
	total := 0.0
	for c := range j.partial {
		total += j.partial[c][0]
	}
	j.p, j.x = nil, nil
	squaresJobs.put(j)
	return total
}
