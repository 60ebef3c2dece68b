package f32

import "fmt"

// AttentionShape describes multi-head attention over short sequences. Query i of batch entry b is row b*Queries+i of q
// and out; key j is row b*Keys+j of k and v; head h has the columns from h*HeadDim on. The LD fields are the distances
// between rows in elements.
type AttentionShape struct {
	Batch, Heads, Queries, Keys, HeadDim int
	LDQ, LDK, LDV, LDO                   int
	Scale                                float32
	Mask                                 []uint8 // nil, or Batch*Queries*Keys; not 0 hides a key from a query, in all heads
	AccumulateKV                         bool    // AttentionBackward adds to dk and dv
}

// check panics when a slice is too short for the shape.
func (a *AttentionShape) check(what string, q, k, v, out, probs []float32) {
	width := a.Heads * a.HeadDim
	checkMatrix(what, "q", q, a.Batch*a.Queries, width, a.LDQ)
	checkMatrix(what, "k", k, a.Batch*a.Keys, width, a.LDK)
	checkMatrix(what, "v", v, a.Batch*a.Keys, width, a.LDV)
	checkMatrix(what, "out", out, a.Batch*a.Queries, width, a.LDO)
	checkLen(what, "probs", probs, a.Batch*a.Heads*a.Queries*a.Keys)
	if need := a.Batch * a.Queries * a.Keys; a.Mask != nil && len(a.Mask) < need {
		panic(fmt.Sprintf("f32: %s: Mask has %d values, want %d", what, len(a.Mask), need))
	}
}

// maskScaleGo equals dst[i] = dst[i]*s where mask[i] is 0 and -Inf elsewhere.
func maskScaleGo(dst, mask []float32, s float32) {
	for i := range dst {
		if mask[i] == 0 {
			dst[i] = float32(dst[i] * s)
		} else {
			dst[i] = minusInf
		}
	}
}

// attentionJob is an Attention or an AttentionBackward in progress.
type attentionJob struct {
	AttentionShape
	p          *path
	q, k, v    []float32
	out, probs []float32
	dq, dk, dv []float32 // set in the backward direction, where out is its gradient
	backward   bool
}

var attentionJobs freeList[attentionJob]

// attentionSpace is the working space of one thread. Its matrices have Queries rows, ld apart, with room for whole
// panels.
type attentionSpace struct {
	scratch
	product      matmulJob
	scores, mask []float32
	ld           int
}

var attentionSpaces freeList[attentionSpace]

// multiply runs a small product on the caller's thread. With padded, C has room for whole panels.
func (s *attentionSpace) multiply(ks *kernels, m MatMul, padded bool) {
	s.product.MatMul, s.product.kernels, s.product.padded = m, ks, padded
	s.product.serial(&s.scratch)
}

// Range does batch entries lo to hi.
func (j *attentionJob) Range(lo, hi int) {
	s := attentionSpaces.get()
	nr := j.p.narrow.nr
	s.ld = (j.Keys + nr - 1) / nr * nr
	s.scores = grow(s.scores, j.Queries*s.ld)
	for b := lo; b < hi; b++ {
		if j.Mask != nil && !j.backward {
			s.mask = grow(s.mask, j.Queries*s.ld)
			j.spreadMask(s, b)
		}
		for h := range j.Heads {
			if j.backward {
				j.headBackward(s, b, h)
			} else {
				j.head(s, b, h)
			}
		}
	}
	s.product.MatMul = MatMul{}
	attentionSpaces.put(s)
}

// spreadMask writes the mask of a batch entry in the layout of the scores.
func (j *attentionJob) spreadMask(s *attentionSpace, b int) {
	for i := range j.Queries {
		row := s.mask[i*s.ld : i*s.ld+s.ld]
		clear(row)
		for c, hidden := range j.Mask[(b*j.Queries+i)*j.Keys:][:j.Keys] {
			if hidden != 0 {
				row[c] = 1
			}
		}
	}
}

// view returns the part of x that starts at a row and a head.
func (j *attentionJob) view(x []float32, row, ld, h int) []float32 { return x[row*ld+h*j.HeadDim:] }

// probabilities returns the part of probs of a batch entry and a head.
func (j *attentionJob) probabilities(b, h int) []float32 {
	n := j.Queries * j.Keys
	return j.probs[(b*j.Heads+h)*n:][:n]
}

// head computes one head of one batch entry.
func (j *attentionJob) head(s *attentionSpace, b, h int) {
	s.multiply(j.p.narrow, MatMul{Op: NT, M: j.Queries, N: j.Keys, K: j.HeadDim,
		A: j.view(j.q, b*j.Queries, j.LDQ, h), LDA: j.LDQ,
		B: j.view(j.k, b*j.Keys, j.LDK, h), LDB: j.LDK,
		C: s.scores, LDC: s.ld}, true)
	if j.Mask != nil {
		j.p.maskScale(s.scores, s.mask, j.Scale)
	} else {
		j.p.scale(s.scores, j.Scale)
	}
	probs := j.probabilities(b, h)
	j.p.softmaxRows(probs, s.scores, j.Queries, j.Keys, j.Keys, s.ld)
	s.multiply(j.p.narrow, MatMul{Op: NN, M: j.Queries, N: j.HeadDim, K: j.Keys,
		A: probs, LDA: j.Keys,
		B: j.view(j.v, b*j.Keys, j.LDV, h), LDB: j.LDV,
		C: j.view(j.out, b*j.Queries, j.LDO, h), LDC: j.LDO}, false)
}

// clear sets the outputs of attention without queries or without keys: sums over nothing.
func (j *attentionJob) clear() {
	queries, keys, width := j.Batch*j.Queries, j.Batch*j.Keys, j.Heads*j.HeadDim
	switch {
	case !j.backward:
		clearRows(j.out, queries, width, j.LDO)
	case j.AccumulateKV:
		clearRows(j.dq, queries, width, j.LDQ)
	default:
		clearRows(j.dq, queries, width, j.LDQ)
		clearRows(j.dk, keys, width, j.LDK)
		clearRows(j.dv, keys, width, j.LDV)
	}
}

func clearRows(x []float32, rows, width, ld int) {
	for i := 0; i < rows && width > 0; i++ {
		clear(x[i*ld : i*ld+width])
	}
}

// Attention computes, for every batch entry and head, with the products as in MatMul and the softmax as in Softmax,
//
//	probs = softmax(scale * q*k', with -Inf where the mask hides a key)
//	out   = probs * v
//
// probs is [Batch][Heads][Queries][Keys]. A query from which all keys are hidden gets NaN.
func Attention(out, probs, q, k, v []float32, a *AttentionShape) {
	a.check("Attention", q, k, v, out, probs)
	runAttention(attentionJob{AttentionShape: *a, q: q, k: k, v: v, out: out, probs: probs})
}

func runAttention(job attentionJob) {
	work := job.Heads * job.Queries * job.Keys * job.HeadDim
	if job.Batch*work == 0 {
		job.clear()
		return
	}
	j := attentionJobs.get()
	*j = job
	j.p = active.Load()
	For(j.Batch, vectorGrain/work+1, j)
	*j = attentionJob{}
	attentionJobs.put(j)
}
