package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gputax/device"
	"gputax/device/devicetest"
	"gputax/device/host"
)

// draw makes the contents of buffers.
type draw struct{ *rand.Rand }

// floats are in ±0.5.
func (d draw) floats(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = d.Float32() - 0.5
	}
	return out
}

func (d draw) ints(n, below int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = d.Int32N(int32(below))
	}
	return out
}

// bytes are 0 or 1, a third of them 1, padded to whole elements.
func (d draw) bytes(n int) []byte {
	out := make([]byte, 4*words(n))
	for i := range out[:n] {
		if d.IntN(3) == 0 {
			out[i] = 1
		}
	}
	return out
}

// mask hides a third of the nodes, and never all.
func (d draw) mask(rows, nodes int) []byte {
	out := d.bytes(rows * nodes)
	for r := range rows {
		out[r*nodes+d.IntN(nodes)] = 0
	}
	return out
}

// poison is what a kernel must overwrite.
func poison(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(math.NaN())
	}
	return out
}

// agreeSize is a size to run kernels at. queries stands for steps too.
type agreeSize struct{ batch, nodes, queries, width, heads int }

var agreeSizes = []agreeSize{
	{1, 2, 1, 4, 1}, {3, 6, 10, 12, 3}, {5, 33, 7, 40, 5}, {2, 6, 5, 33, 11}, {2, 70, 9, 36, 1}, {4, 40, 3, 64, 1},
	{128, 11, 20, 128, 8}, {128, 11, 1, 128, 8}, {2, 101, 200, 128, 8}, {1, 300, 3, 128, 8},
}

// Every compiled kernel does what its body does.
func TestCompiledAgree(t *testing.T) {
	card, reference := openCard(t), host.New()
	for i, s := range agreeSizes {
		d := draw{rand.New(rand.NewPCG(uint64(i), 2))}
		for _, l := range append(d.nodeLaunches(s), d.stepLaunches(s)...) {
			devicetest.Agree(t, fmt.Sprintf("%+v", s), reference, card, l)
		}
	}
	d := draw{rand.New(rand.NewPCG(9, 9))}
	for _, s := range productSizes {
		for _, l := range d.products(s) {
			devicetest.Agree(t, fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), reference, card, l)
		}
	}
}

// So does every one of a whole layer.
func TestCompiledLayersAgree(t *testing.T) {
	card, reference := openCard(t), host.New()
	for i, s := range layerSizes {
		d := draw{rand.New(rand.NewPCG(uint64(i), 5))}
		for _, l := range d.layers(s) {
			devicetest.Agree(t, fmt.Sprintf("%+v", s), reference, card, l)
		}
	}
}

// nodeLaunches are the kernels of encoder.cu.
func (d draw) nodeLaunches(s agreeSize) []devicetest.Launch {
	b, n, q, w, dim := s.batch, s.nodes, s.queries, s.width, s.width/s.heads
	rows := b * n
	coords, demands := d.floats(2*rows), d.floats(rows)
	weights := []any{d.floats(2 * w), d.floats(w), d.floats(3 * w), d.floats(w)}
	sizes := []any{b, n, w}
	first := d.IntN(n)
	count, from := n-first, d.IntN(b)
	attend := []any{b, s.heads, q, n, dim, w + 3, 3 * w, w, invSqrt(dim)}
	probs, sum := d.floats(b*s.heads*q*n), d.floats(rows*w)
	return []devicetest.Launch{
		{Kernel: embed, Buffers: append([]any{poison(rows * w), coords, demands}, weights...), Scalars: sizes, Tolerance: 1e-6},
		{Kernel: embedTyped, Buffers: append(append([]any{poison(rows * w), coords, demands}, weights...), d.ints(1, 2)),
			Scalars: []any{from, b - from, first, count, n, w}, Tolerance: 1e-6},
		{Kernel: embedBackward, Buffers: []any{d.floats(rows * w), coords, demands, poison(2 * w), poison(w), poison(3 * w), poison(w)},
			Scalars: sizes, Tolerance: 1e-5},
		{Kernel: sumRows, Buffers: []any{poison(w), d.floats(rows * w)}, Scalars: []any{rows, w}, Tolerance: 1e-5},
		{Kernel: reluBackward, Buffers: []any{d.floats(rows), d.floats(rows)}, Scalars: []any{rows - 1}},
		{Kernel: zero, Buffers: []any{d.floats(rows)}, Scalars: []any{rows - 1}},
		{Kernel: addNorm, Buffers: []any{poison(rows * w), poison(rows * w), sum, d.floats(rows * w), d.floats(w), d.floats(w),
			poison(rows), poison(rows)}, Scalars: []any{rows, w}, Tolerance: 1e-5},
		{Kernel: normBackward, Buffers: []any{d.floats(rows * w), sum, d.floats(w), d.floats(rows), d.floats(rows), d.floats(w), d.floats(w),
			make([]float32, normScratch(rows, w))}, Scalars: []any{rows, w}, Tolerance: 1e-5},
		{Kernel: meanNodes, Buffers: []any{poison(b * w), sum}, Scalars: sizes, Tolerance: 1e-6},
		{Kernel: sumSteps, Buffers: []any{poison(b * w), d.floats(b * q * w)}, Scalars: []any{b, q, w}, Tolerance: 1e-6},
		{Kernel: attention, Buffers: []any{poison(b * q * w), poison(len(probs)), d.floats(b * q * (w + 3)), d.floats(3 * rows * w),
			d.floats(3 * rows * w), []byte{}}, Scalars: attend, Tolerance: 1e-5},
		{Kernel: attention, Buffers: []any{poison(b * q * w), poison(len(probs)), d.floats(b * q * (w + 3)), d.floats(3 * rows * w),
			d.floats(3 * rows * w), d.mask(b*q, n)}, Scalars: attend, Tolerance: 1e-5},
		{Kernel: attentionBackward, Buffers: []any{poison(b * q * (w + 3)), poison(3 * rows * w), poison(3 * rows * w), d.floats(b * q * w), probs,
			d.floats(b * q * (w + 3)), d.floats(3 * rows * w), d.floats(3 * rows * w)}, Scalars: attend, Tolerance: 1e-5},
	}
}

// stepLaunches are the kernels of decoder.cu and rollout.cu.
func (d draw) stepLaunches(s agreeSize) []devicetest.Launch {
	b, n, q, w := s.batch, s.nodes, s.queries, s.width
	rows, nodes, t := b*q, b*n, d.IntN(q)
	mask, once, active := d.mask(rows, n), d.mask(b, n), d.bytes(rows)
	actions, cur, demands := d.ints(rows, n), d.ints(rows, n), d.floats(nodes)
	for i := range demands {
		demands[i] = float32(d.IntN(9)+1) / 20
	}
	logp := d.floats(rows * n)
	for i := range logp {
		if mask[i] != 0 {
			logp[i] = float32(math.Inf(-1))
		}
	}
	control := []int32{int32(d.Uint32()), int32(d.Uint32()), 3, 0}
	keys := d.floats(3 * nodes * w)
	launches := []devicetest.Launch{
		{Kernel: context, Buffers: []any{poison(rows * (w + 1)), poison(rows * w), d.floats(nodes * w), d.floats(b * w), cur, d.floats(rows)},
			Scalars: []any{b, q, n, w}},
		{Kernel: scores, Buffers: []any{poison(rows * n), d.floats(rows * w), keys, mask}, Scalars: []any{b, q, n, w, 3 * w}, Tolerance: 1e-5},
		{Kernel: routeLogprobs, Buffers: []any{poison(b), poison(rows * n), d.floats(rows * n), make([]byte, len(mask)), actions, active},
			Scalars: []any{b, q, n}, Tolerance: 1e-5},
		{Kernel: routeLogprobs, Buffers: []any{poison(b), poison(rows * n), d.floats(rows * n), mask, actions, active},
			Scalars: []any{b, q, n}, Tolerance: 1e-5},
		{Kernel: scoresGradient, Buffers: []any{poison(rows * n), logp, d.floats(rows * n), mask, actions, active, d.floats(b)},
			Scalars: []any{b, q, n, w}, Tolerance: 1e-5},
		{Kernel: scoresBackward, Buffers: []any{poison(rows * w), poison(3 * nodes * w), d.floats(rows * n), d.floats(rows * w), keys},
			Scalars: []any{b, q, n, w, 3 * w}, Tolerance: 1e-5},
		{Kernel: contextBackward, Buffers: []any{d.floats(nodes * w), d.floats(b * w), d.floats(rows * w), cur},
			Scalars: []any{b, q, n, w}, Tolerance: 1e-6},
		{Kernel: start, Buffers: []any{d.ints(b, 9), poison(b), d.bytes(nodes), d.bytes(nodes), poison(b), demands}, Scalars: []any{b, n}},
		{Kernel: advance, Buffers: []any{d.ints(b, n), d.floats(b), d.bytes(nodes), d.bytes(nodes), actions, demands}, Scalars: []any{b, n, q, t}},
		{Kernel: replay, Buffers: []any{d.ints(rows, 9), poison(rows), d.bytes(rows * n), d.bytes(rows), d.bytes(nodes), actions, demands},
			Scalars: []any{b, n, q}},
	}
	for greedy := range 2 {
		launches = append(launches,
			devicetest.Launch{Kernel: choose, Buffers: []any{d.ints(rows, 9), d.floats(b), poison(nodes), poison(nodes), d.floats(nodes), once, control},
				Scalars: []any{b, n, q, t, greedy}, Tolerance: 1e-5},
			devicetest.Launch{Kernel: rollout, Buffers: []any{d.ints(rows, 9), poison(b), keys, d.floats(nodes * w), d.floats(nodes * w), d.floats(b * w),
				d.floats(w), demands, control}, Scalars: []any{b, n, w, s.heads, q, greedy}, Tolerance: 1e-5})
	}
	return launches
}

// layerSizes are layers that fit: small ones, odd ones, the largest, and the
// reference workload's.
var layerSizes = []layerSize{
	{1, 2, 32, 1, 32}, {3, 6, 64, 4, 96}, {5, 32, 32, 2, 512}, {65, 5, 96, 3, 160}, {7, 21, 128, 8, 512}, {9, 16, 128, 8, 256},
	{3, 32, 128, 8, 512}, {5, 11, 128, 32, 512}, {128, 11, 128, 8, 512},
}

// layers are the kernels of layer.cu.
func (d draw) layers(s layerSize) []devicetest.Launch {
	rows, w, f := s.rows(), s.width, s.hidden
	n, pairs := rows*w, s.pairs()
	parts, _ := s.parts()
	weights := func(in, out int) []float32 { // as a model has them at first
		x := d.floats(in * out)
		for i := range x {
			x[i] *= 2 * invSqrt(in)
		}
		return x
	}
	scales := func(n int) []float32 { // around 1
		x := d.floats(n)
		for i := range x {
			x[i]++
		}
		return x
	}
	qkv, out, first, second := weights(w, 3*w), weights(w, w), weights(w, f), weights(f, w)
	size := []any{s.batch, s.nodes, w, s.heads, f}
	var launches []devicetest.Launch
	for i, k := range []layerKernels{plainLayer, tensorLayer} {
		launches = append(launches,
			devicetest.Launch{Kernel: k.forward, Buffers: []any{poison(n), d.floats(n), poison(3 * n), poison(pairs), poison(n), poison(n), poison(rows), poison(rows),
				poison(n), poison(rows * f), poison(n), poison(rows), poison(rows), qkv, out, scales(w), d.floats(w), first, d.floats(f), second, d.floats(w),
				scales(w), d.floats(w)}, Scalars: size, Tolerance: []float64{2e-5, 1e-2}[i]},
			devicetest.Launch{Kernel: k.backward, Buffers: []any{d.floats(n), poison(n), poison(rows * f), poison(n), poison(3 * n), poison(parts * 4 * w),
				d.floats(n), d.floats(rows), scales(rows), d.floats(rows * f), d.floats(n), d.floats(rows), scales(rows), d.floats(pairs), d.floats(3 * n),
				qkv, out, scales(w), first, second, scales(w)}, Scalars: size, Tolerance: []float64{2e-5, 1e-2}[i]},
			devicetest.Launch{Kernel: k.gradients, Buffers: []any{poison(3 * w * w), poison(w * w), poison(w), poison(w), poison(w * f), poison(f), poison(f * w), poison(w), poison(w), poison(w),
				d.floats(n), d.floats(n), d.floats(n), d.floats(rows * f), d.floats(3 * n), d.floats(n), d.floats(rows * f), d.floats(n), d.floats(parts * 4 * w)},
				Scalars: []any{s.batch, s.nodes, w, f}, Tolerance: []float64{1e-5, 2e-3}[i]})
	}
	return launches
}

// productSizes are rows, columns and depth of products: odd ones, none, and the
// reference workload's.
var productSizes = [][3]int{
	{1, 1, 1}, {5, 3, 2}, {33, 31, 17}, {64, 64, 64}, {65, 66, 3}, {70, 12, 129}, {129, 128, 130}, {7, 9, 0}, {700, 700, 20}, {650, 701, 19},
	{1408, 384, 128}, {1408, 128, 128}, {1408, 512, 128}, {1408, 128, 512}, {2560, 128, 129}, {129, 128, 2560}, {128, 384, 1408}, {512, 128, 1408},
}

// products are all products of one size, rows side by side and apart.
func (d draw) products(s [3]int) []devicetest.Launch {
	var launches []devicetest.Launch
	for i, family := range []products{plainProducts, tensorProducts} {
		for j, k := range []*device.Kernel{family.nn, family.nt, family.tn} {
			for _, pad := range []int{0, 4, 5} {
				m, n, depth := s[0], s[1], s[2]
				ar, ac, br, bc := m, depth, depth, n
				switch j {
				case 1:
					br, bc = n, depth
				case 2:
					ar, ac = depth, m
				}
				c, bias, relu, accumulate := poison(m*(n+pad)), d.floats(n), 0, 0
				switch pad {
				case 4:
					c, bias, accumulate = d.floats(m*(n+pad)), nil, 1
				case 5:
					relu = 1
				}
				launches = append(launches, devicetest.Launch{Kernel: k,
					Buffers:   []any{c, d.floats(ar * (ac + pad)), d.floats(br * (bc + pad)), bias},
					Scalars:   []any{m, n, depth, ac + pad, bc + pad, n + pad, relu, accumulate},
					Tolerance: []float64{1e-5, 2e-3}[i]})
			}
		}
	}
	return launches
}

// The launches are ones that the kernels take, and there is one of every
// kernel.
func TestAgreeLaunches(t *testing.T) {
	dev, seen := host.New(), map[*device.Kernel]bool{}
	for i, s := range agreeSizes[:3] {
		d := draw{rand.New(rand.NewPCG(uint64(i), 2))}
		for _, l := range append(append(d.nodeLaunches(s), d.stepLaunches(s)...), append(d.products(productSizes[i]), d.layers(layerSizes[i])...)...) {
			devicetest.Agree(t, fmt.Sprintf("%+v", s), dev, host.New(), l)
			seen[l.Kernel] = true
		}
	}
	for _, kernels := range compiled {
		for _, k := range kernels {
			if !seen[k] {
				t.Errorf("%s is not launched", k.Symbol)
			}
		}
	}
}
