package model

import (
	"sync"

	"gputax/device"
	"gputax/device/host/f32"
)

// rollout is every decoding step of every instance b in one launch. With what
// does not change over steps computed before,
//
//	place[b,j]  = x[b,j] * step, without the capacity's row
//	logits[b,j] = kvl's logit key of [b,j] * out'
//
// a step is, for the vehicle at cur with so much capacity,
//
//	query    = fixed[b] + place[b,cur] + capacity*weight
//	glimpse  = the heads' attention of query over kvl's keys and values in sight
//	score[j] = tanh(glimpse·logits[b,j] / sqrt(width))
//
// and then the node is chosen as choose does. Once no customer is left only the
// depot can follow, with probability 1.
var rollout = &device.Kernel{
	Symbol: "model_rollout",
	Params: signature("actions logprob kvl place logits fixed weight demands control", "batch nodes width heads steps greedy", ""),
	Check: func(a device.Args) error {
		batch, nodes, width, steps := a.Int(9), a.Int(10), a.Int(11), a.Int(13)
		n := batch * nodes * width
		return needs(a, batch*steps, batch, 3*n, n, n, batch*width, width, batch*nodes, controlWords)
	},
	Work: func(a device.Args) device.Work {
		batch, nodes, width, heads, steps := a.Int(9), a.Int(10), a.Int(11), a.Int(12), a.Int(13)
		flops := 4*width + nodes*(6*width+5*heads+30)
		return traffic(batch*steps*flops, batch*(4*nodes*width+width+nodes)+width+controlWords, batch*(steps+1))
	},
	Body:   func(a device.Args) { parallel(a.Int(9), 8, a, rollInstances) },
	Module: rolloutModule,
	Dims: func(a device.Args) device.Dims {
		return device.Dims{X: a.Int(9), Threads: 32 * rolloutWarps, Shared: 4 * rolloutShared(a.Int(10), a.Int(11), a.Int(12))}
	},
}

// roller is the working space of a thread that decodes instances one by one.
type roller struct {
	query, glimpse       []float32 // [width]
	probs                []float32 // [heads, nodes]
	score, logp, chances []float32 // [nodes]
	visited, mask        []uint8   // [nodes]
}

func (r *roller) resize(nodes, width, heads int) {
	r.query, r.glimpse = resize(r.query, width), resize(r.glimpse, width)
	r.probs = resize(r.probs, heads*nodes)
	r.score, r.logp, r.chances = resize(r.score, nodes), resize(r.logp, nodes), resize(r.chances, nodes)
	r.visited, r.mask = resize(r.visited, nodes), resize(r.mask, nodes)
}

// resize is x with n elements, a new one where it is too short.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// rollers keeps used rollers, so that a rollout does not allocate.
var rollers struct {
	mu   sync.Mutex
	free []*roller
}

func getRoller() *roller {
	rollers.mu.Lock()
	defer rollers.mu.Unlock()
	if n := len(rollers.free); n > 0 {
		r := rollers.free[n-1]
		rollers.free = rollers.free[:n-1]
		return r
	}
	return new(roller)
}

func putRoller(r *roller) {
	rollers.mu.Lock()
	rollers.free = append(rollers.free, r)
	rollers.mu.Unlock()
}

func rollInstances(a device.Args, lo, hi int) {
	r := getRoller()
	r.resize(a.Int(10), a.Int(11), a.Int(12))
	for b := lo; b < hi; b++ {
		r.roll(a, b)
	}
	putRoller(r)
}

// roll decodes instance b.
func (r *roller) roll(a device.Args, b int) {
	nodes, steps := a.Int(10), a.Int(13)
	actions, demands := a.I32(0)[b*steps:][:steps], a.F32(7)[b*nodes:][:nodes]
	clear(actions)
	clear(r.visited)
	cur, capacity, logprob := int32(0), float32(1), float32(0)
	for t := range actions {
		if maskRow(r.mask, r.visited, demands, capacity, cur) {
			break
		}
		r.rate(a, b, int(cur), capacity)
		maskedLogSoftmax(r.logp, r.score, r.mask, 1, nodes)
		f32.Exp(r.chances, r.logp)
		if a.Int(14) != 0 {
			cur = int32(largest(r.chances))
		} else {
			cur = int32(inverse(r.chances, uniform(a.I32(8), b, t)))
		}
		actions[t] = cur
		logprob += r.logp[cur]
		capacity = visit(r.visited, demands, capacity, cur)
	}
	a.F32(1)[b] = logprob
}

// rate computes the scores of instance b's nodes from node cur.
func (r *roller) rate(a device.Args, b, cur int, capacity float32) {
	nodes, width, heads := a.Int(10), a.Int(11), a.Int(12)
	kvl, logits := a.F32(2)[b*nodes*3*width:], a.F32(4)[b*nodes*width:]
	place, fixed, weight := a.F32(3)[(b*nodes+cur)*width:], a.F32(5)[b*width:], a.F32(6)
	for c := range r.query {
		r.query[c] = fixed[c] + place[c] + float32(capacity*weight[c])
	}
	s := f32.AttentionShape{Heads: heads, Keys: nodes, HeadDim: width / heads, LDK: 3 * width, LDV: 3 * width,
		Scale: invSqrt(width / heads)}
	attendQuery(&s, r.glimpse, r.probs, r.query, kvl, kvl[width:], r.mask)
	for j := range r.score {
		r.score[j] = 0
		if r.mask[j] == 0 {
			r.score[j] = dot(r.glimpse, logits[j*width:])
		}
	}
	f32.Scale(r.score, invSqrt(width))
	f32.Tanh(r.score, r.score)
}
