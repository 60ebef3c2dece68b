package trainer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/devicetest"
	"gputax/device/host"
)

func TestCompiled(t *testing.T) {
	devicetest.Compiled(t, "kernels.cu", copyKernel, instancesKernel, routeCosts, advantageKernel, lossKernel, clipKernel, adamKernel)
}

// card opens a card for a test, which waits where there is none.
func card(t *testing.T) device.Device {
	t.Helper()
	dev, err := catalog.Open("cuda:0")
	if err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	return dev
}

func TestCompiledAgree(t *testing.T) {
	dev := card(t)
	defer dev.Close()
	reference := host.New()
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 2))
		batch, n := 1+rng.IntN(400), 1+rng.IntN(300000)
		floats := func(n int) []float32 {
			out := make([]float32, n)
			for i := range out {
				out[i] = rng.Float32()
			}
			return out
		}
		actions := make([]int32, 2*batch*20)
		for i := range actions {
			actions[i] = rng.Int32N(11)
		}
		control := []int32{1, 2, rng.Int32N(50), 0}
		status := make([]float32, statusWords)
		status[statusScale] = rng.Float32()
		spoiled := floats(2 * batch)
		spoiled[rng.IntN(2*batch)] = float32(math.NaN())
		for _, l := range []devicetest.Launch{
			{Kernel: copyKernel, Buffers: []any{floats(n), floats(n)}, Scalars: []any{n}},
			{Kernel: routeCosts, Buffers: []any{floats(2 * batch), actions, floats(batch * 22)}, Scalars: []any{2 * batch, batch, 20, 11}},
			{Kernel: instancesKernel, Buffers: []any{floats(batch * 22), floats(batch * 11), control}, Scalars: []any{batch, 11, 20, 9, -5, 3}},
			{Kernel: advantageKernel, Buffers: []any{floats(batch), floats(2 * batch), status, control}, Scalars: []any{batch}, Tolerance: 1e-5},
			{Kernel: advantageKernel, Buffers: []any{floats(batch), spoiled, status, control}, Scalars: []any{batch}, Tolerance: 1e-5},
			{Kernel: lossKernel, Buffers: []any{status, floats(batch), floats(batch), control}, Scalars: []any{batch}, Tolerance: 1e-5},
			{Kernel: clipKernel, Buffers: []any{status, floats(n), control}, Scalars: []any{float32(1), n}, Tolerance: 1e-5},
			{Kernel: adamKernel, Buffers: []any{floats(n), floats(n), floats(n), floats(n), status, control, floats(1)}, Scalars: []any{n}, Tolerance: 1e-6},
		} {
			devicetest.Agree(t, l.Kernel.Symbol, reference, dev, l)
		}
	}
}

// Every variant on the card does what cpu_loop does on the host: under the same
// noise the same routes, costs to 1e-5, parameters after two steps to 1e-3.
func TestVariantsOnTheCard(t *testing.T) {
	card(t).Close()
	opt := small()
	for _, v := range Variants {
		f := factorsOf(t, v.Name)
		base := DefaultFactors()
		base.Batch = f.Batch
		want := train(t, host.New(), opt, base, 2)
		dev := card(t)
		got := train(t, dev, opt, f, 2)
		if !slices.Equal(got.nodes, want.nodes) {
			t.Errorf("%s: other routes", v.Name)
			continue
		}
		if d := relative(got.costs, want.costs); d > 1e-5 {
			t.Errorf("%s: costs are off by %g", v.Name, d)
		}
		if d := relative(got.params, want.params); d > 1e-3 {
			t.Errorf("%s: parameters are off by %g", v.Name, d)
		}
	}
}
