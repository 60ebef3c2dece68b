package cost

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/devicetest"
	"gputax/device/host"
	"gputax/vrp"
)

var allKernels = []*device.Kernel{zeroCost, addEdge, routeCosts, zeroInts, copyWords, maskEdges, indexEdges, gatherEdges, maskValues, sumRows}

func TestCompiled(t *testing.T) { devicetest.Compiled(t, "kernels.cu", allKernels...) }

// Every compiled kernel gives its body's bits.
func TestCompiledAgree(t *testing.T) {
	card, err := catalog.Open("cuda:0")
	if err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	defer card.Close()
	reference := host.New()
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		batch, edges := 1+rng.IntN(300), rng.IntN(40)
		b, err := vrp.Generate(batch, vrp.Sizes[seed%2], seed)
		if err != nil {
			t.Fatal(err)
		}
		n := b.Nodes()
		r := raggedRoutes(rng, 2*batch, n)
		count := 2 * batch
		eights, eight := groupsOf(rng, r, groupRoutes)
		ones, one := groupsOf(rng, r, 1)
		strange := slices.Clone(eights) // nodes that are not there
		for range count {
			strange[rng.IntN((count+groupRoutes-1)/groupRoutes)*eight+groupRoutes+1+rng.IntN(eight-groupRoutes-1)] = rng.Int32() - 1<<30
		}
		floats := func(n int) []float32 {
			out := make([]float32, n)
			for i := range out {
				out[i] = rng.Float32() - 0.5
			}
			return out
		}
		ints := func(n, below int) []int32 {
			out := make([]int32, n)
			for i := range out {
				out[i] = rng.Int32N(int32(below))
			}
			return out
		}
		for _, l := range []devicetest.Launch{
			{Kernel: zeroCost, Buffers: []any{floats(3)}},
			{Kernel: addEdge, Buffers: []any{floats(1), floats(n * n)}, Scalars: []any{rng.IntN(n * n)}},
			{Kernel: routeCosts, Buffers: []any{floats(count), b.Dist, eights}, Scalars: []any{count, batch, n, groupRoutes, eight}},
			{Kernel: routeCosts, Buffers: []any{floats(count), b.Dist, ones}, Scalars: []any{count, batch, n, 1, one}},
			{Kernel: routeCosts, Buffers: []any{floats(count), b.Dist, strange}, Scalars: []any{count, batch, n, groupRoutes, eight}},
			{Kernel: zeroInts, Buffers: []any{ints(count, 9)}, Scalars: []any{batch}},
			{Kernel: copyWords, Buffers: []any{ints(count, 9), ints(count, 9)}, Scalars: []any{batch}},
			{Kernel: maskEdges, Buffers: []any{floats(count * edges), ints(count, edges+2)}, Scalars: []any{count, edges}},
			{Kernel: indexEdges, Buffers: []any{ints(count*edges, 9), ints(count*(edges+1), n)}, Scalars: []any{count, edges, n, batch}},
			{Kernel: gatherEdges, Buffers: []any{floats(count), b.Dist, ints(count, len(b.Dist))}, Scalars: []any{count}},
			{Kernel: maskValues, Buffers: []any{floats(count), floats(count)}, Scalars: []any{batch}},
			{Kernel: sumRows, Buffers: []any{floats(count), floats(count * edges)}, Scalars: []any{count, edges}},
		} {
			devicetest.Agree(t, l.Kernel.Symbol, reference, card, l)
		}
	}
}

// groupsOf is routes as fused lays them out, with what a batch before may have
// left behind after them.
func groupsOf(rng *rand.Rand, r *vrp.Routes, group int) (text []int32, stride int) {
	stride = 1 + group*(1+r.Longest()) + rng.IntN(5)
	text = make([]int32, (r.Len()+group-1)/group*stride)
	for i := range text {
		text[i] = rng.Int32N(1 << 20)
	}
	layOut(text, r, group, stride)
	return text, stride
}

// The methods themselves, on the card.
func TestVariantsOnTheCard(t *testing.T) {
	card, err := catalog.Open("cuda:0")
	if err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	defer card.Close()
	b, err := vrp.Generate(128, vrp.Sizes[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Variants {
		sameOnBoth(t, v, device.NewRecorder(host.New()), device.NewRecorder(card), b)
	}
}
