package trainer

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// tensorHost is a host whose tensor-core products round their factors to ten
// bits of fraction, as the card's do.
type tensorHost struct{ *host.Device }

func (d *tensorHost) Launch(s device.Stream, k *device.Kernel, args device.Args) error {
	if !strings.HasPrefix(k.Symbol, "model_matmul_") || !strings.HasSuffix(k.Symbol, "_tf32") {
		return d.Device.Launch(s, k, args)
	}
	a, b := args.F32(1), args.F32(2)
	wholeA, wholeB := slices.Clone(a), slices.Clone(b)
	for _, factor := range [][]float32{a, b} {
		for i, v := range factor {
			factor[i] = math.Float32frombits((math.Float32bits(v) + 1<<12) &^ (1<<13 - 1))
		}
	}
	err := d.Device.Launch(s, k, args)
	copy(a, wholeA)
	copy(b, wholeB)
	return err
}

// Every variant on the card does what cpu_loop does on the host, with the small
// network and with the reference workload: under the same noise the same
// routes, costs to 1e-5, parameters after two steps to 1e-3. One with tensor
// cores does so without them. With them, the host rounds the factors of products
// as they do; a sum that rounds differently can then move a factor by a whole
// step of ten bits, so two routes in a hundred may turn out otherwise.
func TestVariantsOnTheCard(t *testing.T) {
	card(t).Close()
	for name, opt := range map[string]Options{"small": small(), "tiny": Tiny()} {
		var cases []Variant
		for _, v := range Variants {
			cases = append(cases, v)
			if factorsOf(t, v.Name).TF32 {
				cases = append(cases, Variant{Name: v.Name + " tf32=off", Set: v.Set + " tf32=off"})
			}
		}
		for _, v := range cases {
			f, err := v.Factors()
			if err != nil {
				t.Fatal(err)
			}
			if f.Engine != "kernels" && name == "tiny" {
				continue // minutes of the host's time
			}
			base := DefaultFactors()
			base.Batch, base.TF32 = f.Batch, f.TF32
			if f.TF32 {
				base.Rollout = f.Rollout // the fused one takes more of its numbers from products
			}
			want := train(t, &tensorHost{host.New()}, opt, base, 2)
			got := train(t, card(t), opt, f, 2)
			same, mean := routesAndCosts(got, want)
			costs, params := relative(got.costs, want.costs), relative(got.params, want.params)
			t.Logf("%-5s %-19s routes equal %.4f, mean cost off by %.2g, costs by %.2g, parameters by %.2g", name, v.Name, same, mean, costs, params)
			least := 1.0
			if f.TF32 {
				least = 0.98
			}
			if same < least || same == 1 && costs > 1e-5 || mean > 1e-3 || params > 1e-3 {
				t.Errorf("%s: %s: routes, costs or parameters differ", name, v.Name)
			}
		}
	}
}

// routesAndCosts is the share of routes with equal costs, and how far apart the
// mean costs are.
func routesAndCosts(got, want outcome) (same, mean float64) {
	var a, b float64
	for i := range want.costs {
		if math.Abs(float64(got.costs[i]-want.costs[i])) <= 1e-5*float64(want.costs[i]) {
			same++
		}
		a, b = a+float64(got.costs[i]), b+float64(want.costs[i])
	}
	return same / float64(len(want.costs)), math.Abs(a-b) / b
}
