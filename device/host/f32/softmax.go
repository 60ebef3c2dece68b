package f32

import "math"

var minusInf = float32(math.Inf(-1))

// softmaxRowsGo equals, for every row, with the sum in the order of lanes:
//
//	e[j] = exp32(src[j] - max(src))
//	dst[j] = e[j] / sum(e)
func softmaxRowsGo(dst, src []float32, rows, width, ldd, lds int) {
	for i := range rows {
		from, to := src[i*lds:i*lds+width], dst[i*ldd:i*ldd+width]
		top := maxGo(from)
		var l lanes
		for j, x := range from {
			e := exp32(x - top)
			l[j%len(l)] += e
			to[j] = e
		}
		sum := l.sum()
		for j := range to {
			to[j] /= sum
		}
	}
}

// maxGo is the largest value of x, -Inf when there is none.
func maxGo(x []float32) float32 {
	var l lanes
	for i := range l {
		l[i] = minusInf
	}
	for j, v := range x {
		if t := &l[j%len(l)]; !(*t > v) {
			*t = v
		}
	}
	return l.max()
}

// maxExpSumGo returns the largest value of src and the sum of exp32(x - largest), in the order of lanes.
func maxExpSumGo(src []float32) (top, sum float32) {
	top = maxGo(src)
	var l lanes
	for j, x := range src {
		l[j%len(l)] += exp32(x - top)
	}
	return top, l.sum()
}

func subTwoGo(dst, src []float32, a, b float32) {
	for i := range dst {
		dst[i] = (src[i] - a) - b
	}
}

// softmaxJob is a Softmax or a LogSoftmax in progress.
type softmaxJob struct {
	p         *path
	dst, src  []float32
	width, ld int
	log       bool
}

var softmaxJobs freeList[softmaxJob]

// Range does rows lo to hi.
func (j *softmaxJob) Range(lo, hi int) {
	if !j.log {
		j.p.softmaxRows(j.dst[lo*j.ld:], j.src[lo*j.ld:], hi-lo, j.width, j.ld, j.ld)
		return
	}
	for i := lo * j.ld; i < hi*j.ld; i += j.ld {
		src := j.src[i : i+j.width]
		top, sum := j.p.maxExpSum(src)
		j.p.subTwo(j.dst[i:i+j.width], src, top, log32(sum))
	}
}

// Softmax replaces each row by its exponentials over their sum: dst[j] = exp(src[j]) / sum(exp(src)). An entry of -Inf
// gives 0; a row of nothing else, or one that holds +Inf or NaN, gives NaN. dst may be src.
func Softmax(dst, src []float32, rows, width, ld int) {
	runSoftmax("Softmax", dst, src, rows, width, ld, false)
}

// LogSoftmax is the logarithm of Softmax: dst[j] = src[j] - max - log(sum(exp(src - max))). An entry of -Inf gives
// -Inf, and no NaN as long as one entry of the row is finite and none is +Inf or NaN. dst may be src.
func LogSoftmax(dst, src []float32, rows, width, ld int) {
	runSoftmax("LogSoftmax", dst, src, rows, width, ld, true)
}

func runSoftmax(what string, dst, src []float32, rows, width, ld int, log bool) {
	checkMatrix(what, "dst", dst, rows, width, ld)
	checkMatrix(what, "src", src, rows, width, ld)
	if rows == 0 || width == 0 {
		return
	}
	j := softmaxJobs.get()
	*j = softmaxJob{active.Load(), dst, src, width, ld, log}
	For(rows, vectorGrain/16/width+1, j)
	*j = softmaxJob{}
	softmaxJobs.put(j)
}

// logSeries holds the coefficients of atanh(z)/z after the first, the highest power of z² first.
var logSeries = [8]float64{1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3}

// log32 is the natural logarithm of a positive, normal number, correct to float32's last place. It avoids math.Log,
// whose bits may differ between architectures: log(m*2^e) = e*ln(2) + 2*atanh((m-1)/(m+1)) in float64.
func log32(x float32) float32 {
	if !(x > 0) || x > math.MaxFloat32 {
		return float32(math.Log(float64(x)))
	}
	bits := math.Float64bits(float64(x))
	e := int(bits>>52) - 1023
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52)
	if m > math.Sqrt2 {
		m /= 2
		e++
	}
	z := (m - 1) / (m + 1)
	z2 := float64(z * z)
	s := 0.0
	for _, c := range logSeries {
		s = float64((s + c) * z2)
	}
	return float32(float64(float64(e)*math.Ln2) + float64(2*z*(1+s)))
}
