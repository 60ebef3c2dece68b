package f32

func addGo(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func scaleGo(dst []float32, s float32) {
	for i := range dst {
		dst[i] *= s
	}
}

func reluGradGo(dx, dy, y []float32) {
	for i := range dx {
		if y[i] > 0 {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}

// Add equals dst[i] = a[i] + b[i] for every i of dst. dst may be a or b.
func Add(dst, a, b []float32) {
	checkLen("Add", "a", a, len(dst))
	checkLen("Add", "b", b, len(dst))
	runZip(active.Load().add, dst, a, b)
}

// AddTo equals dst[i] += a[i] for every i of dst.
func AddTo(dst, a []float32) { Add(dst, dst, a) }

// ReLUGrad equals dx[i] = dy[i] where y[i] > 0 and 0 elsewhere, for every i of dx; y is ReLU's output. dx may be dy.
func ReLUGrad(dx, dy, y []float32) {
	checkLen("ReLUGrad", "dy", dy, len(dx))
	checkLen("ReLUGrad", "y", y, len(dx))
	runZip(active.Load().reluGrad, dx, dy, y)
}

// Scale equals dst[i] *= s for every i.
func Scale(dst []float32, s float32) {
	j := scaleJobs.get()
	*j = scaleJob{active.Load(), dst, s}
	For(len(dst), vectorGrain, j)
	*j = scaleJob{}
	scaleJobs.put(j)
}

type scaleJob struct {
	p   *path
	dst []float32
	s   float32
}

var scaleJobs freeList[scaleJob]

func (j *scaleJob) Range(lo, hi int) { j.p.scale(j.dst[lo:hi], j.s) }

// zipJob applies a function of two vectors, in parts.
type zipJob struct {
	f         func(dst, a, b []float32)
	dst, a, b []float32
}

var zipJobs freeList[zipJob]

func (j *zipJob) Range(lo, hi int) { j.f(j.dst[lo:hi], j.a[lo:hi], j.b[lo:hi]) }

func runZip(f func(dst, a, b []float32), dst, a, b []float32) {
	j := zipJobs.get()
	*j = zipJob{f, dst, a, b}
	For(len(dst), vectorGrain, j)
	*j = zipJob{}
	zipJobs.put(j)
}
