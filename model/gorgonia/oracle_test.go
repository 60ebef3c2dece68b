package gorgonia

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/model"
	"gputax/vrp"
)

// problem is everything the loss depends on.
type problem struct {
	cfg                          model.Config
	batch                        int
	params, coords, demands, adv []float32
	actions                      []int32
}

// newProblem draws instances, parameters and advantages; the actions are
// sampled by the model, whose loss and gradient come back too.
func newProblem(t testing.TB, cfg model.Config, batch int, seed uint64) (p *problem, loss float64, grads []float32) {
	t.Helper()
	data, err := vrp.Generate(batch, vrp.Size{Customers: cfg.Customers, Capacity: cfg.Capacity}, seed)
	if err != nil {
		t.Fatal(err)
	}
	layout, rng := model.NewLayout(cfg), rand.New(rand.NewPCG(seed, 1))
	p = &problem{cfg: cfg, batch: batch, params: make([]float32, layout.Size), coords: data.Coords,
		demands: make([]float32, len(data.Demands)), adv: make([]float32, batch), actions: make([]int32, batch*cfg.Steps())}
	layout.Init(p.params, seed)
	for _, param := range layout.Params { // away from where gammas and betas start
		for i := range param.Of(p.params) {
			p.params[param.Offset+i] += 0.2 * (rng.Float32() - 0.5)
		}
	}
	for i, d := range data.Demands {
		p.demands[i] = float32(d) / float32(cfg.Capacity)
	}
	for i := range p.adv {
		p.adv[i] = float32(rng.NormFloat64())
	}
	loss, grads = p.runModel(t)
	return p, loss, grads
}

// runModel samples the actions and returns the model's loss and gradient.
func (p *problem) runModel(t testing.TB) (loss float64, grads []float32) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rec := device.NewRecorder(host.New())
	m, err := model.New(rec, p.cfg, p.batch, model.Options{})
	must(err)
	params, err := rec.Alloc(4 * len(p.params))
	must(err)
	must(rec.Upload(params, device.Bytes(p.params)))
	must(rec.Upload(m.Coords, device.Bytes(p.coords)))
	must(rec.Upload(m.Demands, device.Bytes(p.demands)))
	must(rec.Upload(m.Advantage, device.Bytes(p.adv)))
	must(m.Encode(params))
	must(m.Rollout(params, false))
	must(m.Evaluate(params))
	must(m.Backward(params))
	logprob := make([]float32, p.batch)
	grads = make([]float32, len(p.params))
	must(rec.Download(device.Bytes(p.actions), m.Actions))
	must(rec.Download(device.Bytes(logprob), m.LogProb))
	must(rec.Download(device.Bytes(grads), m.Grads))
	for i, v := range logprob {
		loss += float64(p.adv[i]) * float64(v)
	}
	return loss, grads
}

func (p *problem) solve(t testing.TB, o *Oracle) (loss float64, grads []float32) {
	t.Helper()
	loss, grads, err := o.LossAndGrad(p.params, p.coords, p.demands, p.actions, p.adv)
	if err != nil {
		t.Fatal(err)
	}
	return loss, grads
}

func oracleOf(t testing.TB, p *problem, build func(model.Config, int) (*Oracle, error)) *Oracle {
	t.Helper()
	o, err := build(p.cfg, p.batch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

var configs = []model.Config{
	{Customers: 3, Capacity: 9, Width: 8, Heads: 2, Layers: 1, Hidden: 16},
	{Customers: 4, Capacity: 12, Width: 16, Heads: 2, Layers: 2, Hidden: 32},
	{Customers: 5, Capacity: 20, Width: 12, Heads: 3, Layers: 1, Hidden: 20},
	{Customers: 5, Capacity: 10, Width: 16, Heads: 4, Layers: 2, Hidden: 24},
}

// distance is the norm of x-y over the norm of y, which counts as at least
// floor.
func distance(x, y []float32, floor float64) float64 {
	var diff, norm float64
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		diff += d * d
		norm += float64(y[i]) * float64(y[i])
	}
	return math.Sqrt(diff) / max(math.Sqrt(norm), floor)
}

// The kernels' loss and gradients are the oracle's, parameter by parameter.
func TestModelAgrees(t *testing.T) {
	var worstLoss, worstGrad float64
	for i, cfg := range append(slices.Clone(configs), model.Tiny()) {
		for seed := range uint64(3) {
			if i == len(configs) && seed > 0 {
				break // the reference workload's size once
			}
			p, loss, grads := newProblem(t, cfg, 2+i%3, seed+1)
			wantLoss, want := p.solve(t, oracleOf(t, p, New))
			off := math.Abs(loss-wantLoss) / max(math.Abs(wantLoss), 0.1)
			worstLoss = max(worstLoss, off)
			if !(off < 1e-4) {
				t.Errorf("%+v, seed %d: loss %v, want %v", cfg, seed, loss, wantLoss)
			}
			floor := 1e-3 * distance(want, make([]float32, len(want)), 1)
			for _, param := range model.NewLayout(cfg).Params {
				off := distance(param.Of(grads), param.Of(want), max(floor, 1e-3))
				worstGrad = max(worstGrad, off)
				if !(off < 1e-3) {
					t.Errorf("%+v, seed %d: the gradient of %s is off by %.2g", cfg, seed, param.Name, off)
				}
			}
		}
	}
	t.Logf("loss off by at most %.2g, the gradient of a parameter by %.2g", worstLoss, worstGrad)
}

// Central differences of the loss, in double precision, back the gradient: for
// the largest element of every parameter, and for a random one.
func TestFiniteDifferences(t *testing.T) {
	const step = 1.0 / 1024
	p, _, _ := newProblem(t, configs[0], 2, 5)
	o := oracleOf(t, p, New)
	_, grads := p.solve(t, o)
	var worst float64
	rng := rand.New(rand.NewPCG(1, 2))
	for _, param := range model.NewLayout(p.cfg).Params {
		g := param.Of(grads)
		largest := 0
		for i := range g {
			if math.Abs(float64(g[i])) > math.Abs(float64(g[largest])) {
				largest = i
			}
		}
		for _, i := range []int{largest, rng.IntN(len(g))} {
			x := &param.Of(p.params)[i]
			before := *x
			*x = before + step
			high, up := *x, 0.0
			up, _ = p.solve(t, o)
			*x = before - step
			down, _ := p.solve(t, o)
			slope := (up - down) / (float64(high) - float64(*x))
			*x = before
			off := math.Abs(slope-float64(g[i])) / max(math.Abs(slope), 0.05)
			worst = max(worst, off)
			if !(off < 1e-3) {
				t.Errorf("%s[%d]: gradient %v, differences %v", param.Name, i, g[i], slope)
			}
		}
	}
	t.Logf("off by at most %.2g", worst)
}

// Single precision agrees with double, and a second run with the first.
func TestPrecisionAndReuse(t *testing.T) {
	p, _, _ := newProblem(t, configs[3], 3, 9)
	double, single := oracleOf(t, p, New), oracleOf(t, p, NewSingle)
	loss, grads := p.solve(t, double)
	again, gradsAgain := p.solve(t, double)
	if loss != again || !slices.Equal(grads, gradsAgain) {
		t.Errorf("the second run gave another result: loss %v, then %v", loss, again)
	}
	lossSingle, gradsSingle := p.solve(t, single)
	if off := math.Abs(lossSingle-loss) / math.Abs(loss); !(off < 1e-4) {
		t.Errorf("loss %v in single precision, %v in double", lossSingle, loss)
	}
	if off := distance(gradsSingle, grads, 0); !(off < 1e-3) {
		t.Errorf("the gradient in single precision is off by %.2g", off)
	}
}

func TestRefusals(t *testing.T) {
	p, _, _ := newProblem(t, configs[0], 2, 1)
	o := oracleOf(t, p, New)
	p.actions[1] = 99
	if _, _, err := o.LossAndGrad(p.params, p.coords, p.demands, p.actions, p.adv); err == nil || !strings.Contains(err.Error(), "no node 99") {
		t.Errorf("node 99: got %v", err)
	}
	if _, _, err := o.LossAndGrad(p.params[1:], p.coords, p.demands, p.actions, p.adv); err == nil || !strings.Contains(err.Error(), "parameters, want") {
		t.Errorf("a parameter too few: got %v", err)
	}
	if _, err := New(p.cfg, 0); err == nil {
		t.Error("a batch of 0 was taken")
	}
	if _, err := New(model.Config{}, 1); err == nil {
		t.Error("the zero config was taken")
	}
}

// BenchmarkStep is the loss and gradient of a batch: one op is one batch.
func BenchmarkStep(b *testing.B) {
	for _, batch := range []int{8, 128} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			p, _, _ := newProblem(b, model.Tiny(), batch, 1)
			o := oracleOf(b, p, NewSingle)
			for b.Loop() {
				p.solve(b, o)
			}
		})
	}
}
