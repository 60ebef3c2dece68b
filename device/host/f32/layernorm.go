package f32

// layerNormRowsGo equals, for every row, with the sums in the order of lanes:
//
//	mean = sum(x) / width
//	rstd = 1 / sqrt(sum((x-mean)²)/width + eps)
//	y[j] = (x[j]-mean)*rstd*gamma[j] + beta[j]
func layerNormRowsGo(y, x, gamma, beta, mean, rstd []float32, rows, width int, eps float32) {
	w := float32(width)
	for i := range rows {
		from, to := x[i*width:i*width+width], y[i*width:i*width+width]
		var l lanes
		for j, v := range from {
			l[j%len(l)] += v
		}
		mu := l.sum() / w
		l = lanes{}
		for j, v := range from {
			d := v - mu
			l[j%len(l)] += float32(d * d)
		}
		r := 1 / sqrt32(l.sum()/w+eps)
		for j, v := range from {
			to[j] = float32(float32((v-mu)*r)*gamma[j]) + beta[j]
		}
		mean[i], rstd[i] = mu, r
	}
}

// normJob is a LayerNorm in progress; with b, the rows are first summed into x.
type normJob struct {
	p                       *path
	y, x, a, b              []float32
	gamma, beta, mean, rstd []float32
	width                   int
	eps                     float32
}

var normJobs freeList[normJob]

// addRows is how many rows are summed before they are normalised, so that they are still in the first-level cache.
const addRows = 8

// Range does rows lo to hi.
func (j *normJob) Range(lo, hi int) {
	step := hi - lo
	if j.b != nil {
		step = addRows
	}
	for ; lo < hi; lo += step {
		n := min(step, hi-lo)
		from, to := lo*j.width, (lo+n)*j.width
		if j.b != nil {
			j.p.add(j.x[from:to], j.a[from:to], j.b[from:to])
		}
		j.p.layerNormRows(j.y[from:to], j.x[from:to], j.gamma, j.beta, j.mean[lo:lo+n], j.rstd[lo:lo+n], n, j.width, j.eps)
	}
}

// LayerNorm normalises each row of x to mean 0 and variance 1, scales by gamma and shifts by beta. It stores each
// row's mean and the reciprocal of its standard deviation for LayerNormBackward. y may be x.
func LayerNorm(y, x, gamma, beta, mean, rstd []float32, rows, width int, eps float32) {
	checkLen("LayerNorm", "x", x, rows*width)
	runNorm(normJob{y: y, x: x, gamma: gamma, beta: beta, mean: mean, rstd: rstd, width: width, eps: eps}, rows)
}

// AddLayerNorm sets sum to a+b and then does LayerNorm of sum. sum may be a or b.
func AddLayerNorm(y, sum, a, b, gamma, beta, mean, rstd []float32, rows, width int, eps float32) {
	checkLen("AddLayerNorm", "sum", sum, rows*width)
	checkLen("AddLayerNorm", "a", a, rows*width)
	checkLen("AddLayerNorm", "b", b, rows*width)
	runNorm(normJob{y: y, x: sum, a: a, b: b, gamma: gamma, beta: beta, mean: mean, rstd: rstd, width: width, eps: eps}, rows)
}

func runNorm(job normJob, rows int) {
	checkLen("LayerNorm", "y", job.y, rows*job.width)
	checkLen("LayerNorm", "gamma", job.gamma, job.width)
	checkLen("LayerNorm", "beta", job.beta, job.width)
	checkLen("LayerNorm", "mean", job.mean, rows)
	checkLen("LayerNorm", "rstd", job.rstd, rows)
	if rows == 0 || job.width == 0 {
		return
	}
	j := normJobs.get()
	*j = job
	j.p = active.Load()
	For(rows, vectorGrain/job.width+1, j)
	*j = normJob{}
	normJobs.put(j)
}
