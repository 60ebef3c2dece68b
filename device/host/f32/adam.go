package f32

// Indices of Adam's constants.
const (
	adamGradScale = iota
	adamBeta1
	adamKeep1 // 1-beta1
	adamBeta2
	adamKeep2 // 1-beta2
	adamRate  // lr/(1-beta1^step)
	adamRoot  // 1/(1-beta2^step)
	adamEps
)

// adamGo equals, for every i of p, with d = g[i]*gradScale:
//
//	m[i] = m[i]*beta1 + d*(1-beta1)
//	v[i] = v[i]*beta2 + d*d*(1-beta2)
//	p[i] -= m[i]*rate / (sqrt(v[i]*root) + eps)
func adamGo(p, m, v, g []float32, c *[8]float32) {
	for i := range p {
		d := float32(g[i] * c[adamGradScale])
		m[i] = float32(m[i]*c[adamBeta1]) + float32(d*c[adamKeep1])
		v[i] = float32(v[i]*c[adamBeta2]) + float32(float32(d*d)*c[adamKeep2])
		root := sqrt32(float32(v[i]*c[adamRoot])) + c[adamEps]
		p[i] -= float32(m[i]*c[adamRate]) / root
	}
}

// adamJob is an Adam step in progress.
type adamJob struct {
	path       *path
	p, m, v, g []float32
	c          [8]float32
}

var adamJobs freeList[adamJob]

func (j *adamJob) Range(lo, hi int) {
	j.path.adam(j.p[lo:hi], j.m[lo:hi], j.v[lo:hi], j.g[lo:hi], &j.c)
}

// Adam does one step of the Adam optimiser on the parameters p with the gradient g*gradScale and the running moments m
// and v. The first step is 1.
func Adam(p, m, v, g []float32, step int, lr, beta1, beta2, eps, gradScale float32) {
	checkLen("Adam", "m", m, len(p))
	checkLen("Adam", "v", v, len(p))
	checkLen("Adam", "g", g, len(p))
	j := adamJobs.get()
	*j = adamJob{active.Load(), p, m, v, g, [8]float32{
		adamGradScale: gradScale,
		adamBeta1:     beta1,
		adamKeep1:     1 - beta1,
		adamBeta2:     beta2,
		adamKeep2:     1 - beta2,
		adamRate:      float32(float64(lr) / (1 - power(float64(beta1), step))),
		adamRoot:      float32(1 / (1 - power(float64(beta2), step))),
		adamEps:       eps,
	}}
	For(len(p), vectorGrain/2, j)
	*j = adamJob{}
	adamJobs.put(j)
}

// power is x^n by repeated squaring, the same bits on every architecture.
func power(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
}
