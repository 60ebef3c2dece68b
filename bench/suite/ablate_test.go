package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gputax/bench"
	"gputax/device/catalog"
	"gputax/model"
	"gputax/trainer"
)

// simulated are the simulated devices that attributions are tested on.
var simulated = []string{"sim:a6000-pytorch", "sim:h200"}

// small trains a step of a quarter of the reference batch on a small network.
// What a factor launches, copies and waits for does not depend on the network's
// width.
func small() trainer.Options {
	return trainer.Options{Model: model.Config{Customers: 10, Capacity: 20, Width: 16, Heads: 2, Layers: 1, Hidden: 32},
		Epoch: 32, Rate: 1e-3, Clip: 1, Seed: 5}
}

// runs remembers epochs by device, factors and length, so that pairs of
// variants that share combinations run them once.
type runs map[string]float64

// explain is the attribution of two variants' difference.
func (r runs) explain(t *testing.T, dev, from, to string) *bench.Attribution {
	t.Helper()
	a := Ablation{Options: small(), Device: dev, Open: catalog.Open}
	var err error
	for _, s := range []struct {
		spec string
		f    *trainer.Factors
	}{{from, &a.From}, {to, &a.To}} {
		if *s.f, err = trainer.ParseFactors(s.spec); err != nil {
			t.Fatal(err)
		}
		s.f.Batch /= 4
	}
	out, err := a.ablate(context.Background(), bench.AblateOptions{Exact: true}, func(ctx context.Context, f trainer.Factors) (float64, error) {
		key := fmt.Sprint(dev, f, a.Options.Epoch)
		if ns, ok := r[key]; ok {
			return ns, nil
		}
		ns, err := a.alone(ctx, f)
		r[key] = ns
		return ns, err
	})
	if err != nil {
		t.Fatalf("%s -> %s on %s: %v", from, to, dev, err)
	}
	var sum int64
	for _, s := range out.Shares {
		sum += s.NS
	}
	if sum != out.Delta || out.Before+out.Delta != out.After {
		t.Errorf("%s -> %s on %s: the shares of %d add up to %d", from, to, dev, out.Delta, sum)
	}
	return out
}

// names is the variants that run on a simulated device.
func names() []string {
	var out []string
	for _, v := range trainer.Variants {
		if v.Name != "gorgonia" {
			out = append(out, v.Name)
		}
	}
	return out
}

// differ is the factors in which two variants differ.
func differ(t *testing.T, from, to string) (keys []string) {
	t.Helper()
	a, err1 := trainer.ParseFactors(from)
	b, err2 := trainer.ParseFactors(to)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, d := range trainer.Differ(a, b) {
		keys = append(keys, d.Key)
	}
	return keys
}

// Every ordered pair of variants that differ in one factor: that factor has the
// whole difference, and is named where there is any.
func TestWhyOneFactor(t *testing.T) {
	r := runs{}
	pairs, slower := 0, 0
	for _, dev := range simulated {
		for _, from := range names() {
			for _, to := range names() {
				keys := differ(t, from, to)
				if len(keys) != 1 {
					continue
				}
				a := r.explain(t, dev, from, to)
				pairs++
				if from == "cpu_loop" && a.Delta > 0 {
					slower++
				}
				s, ok := a.Culprit()
				if ok != (a.Delta != 0) || ok && (s.Name != keys[0] || s.NS != a.Delta || s.Fraction != 1) {
					t.Errorf("%s -> %s on %s: the culprit of %d is %+v, want %s", from, to, dev, a.Delta, s, keys[0])
				}
			}
		}
	}
	t.Logf("%d pairs, %d of them from cpu_loop to a slower variant", pairs, slower)
	if slower < 12 { // six or more a device are slower
		t.Errorf("only %d variants are slower than cpu_loop", slower)
	}
}

// slow are the variants that lose by far the most, each by one factor. On the
// faster device, where a launch costs a tenth, copies one by one are not enough
// with a batch this small.
var slow = map[string]map[string]string{
	"sim:a6000-pytorch": {"gpu_per_route": "cost", "gpu_padded": "cost", "transfer_all": "dist", "embed_per_token": "embed"},
	"sim:h200":          {"gpu_per_route": "cost", "gpu_per_route_item": "cost", "embed_per_token": "embed"},
}

// Between a slow variant and any that is not, which may differ in many factors
// besides: the slow one's factor has the largest share, both ways.
func TestWhyFindsTheOneAmongMany(t *testing.T) {
	r := runs{}
	pairs, most := 0, 0
	for dev, slow := range slow {
		for from, key := range slow {
			for _, to := range []string{"gpu_fused", "pinned_async", "graph", "tf32", "embed_hoisted", "collate_append", "loader_w4", "prefetch", "fastest"} {
				a, back := r.explain(t, dev, from, to), r.explain(t, dev, to, from)
				pairs, most = pairs+2, max(most, len(a.Shares))
				for _, a := range []*bench.Attribution{a, back} {
					if s, ok := a.Culprit(); !ok || !slices.Contains(strings.Split(s.Name, "+"), key) {
						t.Errorf("%s, %s on %s: %+v is the culprit, want %s", from, to, dev, s, key)
					}
				}
			}
		}
	}
	t.Logf("%d pairs, of up to %d factors, %d runs", pairs, most, len(r))
}

// Where nothing is slow but decoys are switched too, in both directions of
// time, the slow factor still stands out.
func TestWhyDecoys(t *testing.T) {
	const decoys = "+workers=4+upload=pinned+embed=hoisted"
	r := runs{}
	for _, dev := range simulated {
		for _, c := range []struct{ to, key string }{
			{"cpu_loop+cost=per_route", "cost"}, {"cpu_loop+cost=padded", "cost"}, {"cpu_loop+dist=one_by_one", "dist"},
		} {
			if s, ok := r.explain(t, dev, "cpu_loop", c.to+decoys).Culprit(); !ok || s.Name != c.key {
				t.Errorf("%s on %s: the culprit is %+v", c.to+decoys, dev, s)
			}
		}
	}
}

// Two that only cost together share what they cost: duplicates of a cost on the
// device.
func TestWhyDuplicatesShare(t *testing.T) {
	a := runs{}.explain(t, "sim:a6000-pytorch", "cpu_loop", "gpu_per_route_dup")
	cost, dup := a.Shares[0], a.Shares[1]
	x := a.Interactions[0]
	if cost.Name != "cost" || dup.Name != "dup" || dup.Fraction < 0.4 || dup.Alone*20 > dup.NS {
		t.Errorf("%+v", a.Shares)
	}
	if x.NS < a.Delta/2 {
		t.Errorf("an interaction of %d in a difference of %d", x.NS, a.Delta)
	}
}

// Both sides train on the same instances, also with batches of different sizes.
func TestWhySameInstances(t *testing.T) {
	for _, c := range []struct{ from, to, least, want int }{
		{128, 128, 256, 256}, {128, 128, 3200, 3200}, {128, 512, 256, 512}, {512, 128, 3200, 3584}, {128, 1024, 1, 1024}, {96, 128, 256, 384}, {128, 128, 0, 128},
	} {
		a := Ablation{Options: trainer.Options{Epoch: c.least}}
		a.From.Batch, a.To.Batch = c.from, c.to
		if got, err := a.instances(); err != nil || got != c.want {
			t.Errorf("batches of %d and %d, at least %d: %d instances (%v), want %d", c.from, c.to, c.least, got, err, c.want)
		}
	}
	a := Ablation{Options: trainer.Options{Epoch: 256}}
	a.From.Batch, a.To.Batch = 127, 128
	if n, err := a.instances(); err == nil {
		t.Errorf("batches of 127 and 128 gave %d", n)
	}
}

// Run opens and closes devices, measures on real ones, and names the op.
func TestAblationRun(t *testing.T) {
	for _, dev := range []string{"sim:h200", "host"} {
		opt := small()
		opt.Epoch = 24
		a := Ablation{Options: opt, Device: dev, Open: catalog.Open}
		var err error
		if a.From, err = trainer.ParseFactors("cpu_loop+batch=24"); err != nil {
			t.Fatal(err)
		}
		if a.To, err = trainer.ParseFactors("gpu_per_route_item+batch=24+dup=50"); err != nil {
			t.Fatal(err)
		}
		out, err := a.Run(context.Background(), bench.AblateOptions{Rounds: 3, Parallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		if out.Op != "an epoch of 24 instances on "+dev || out.Exact != (dev != "host") || len(out.Combinations) != 4 || out.Before <= 0 {
			t.Errorf("%+v", out)
		}
	}
	a := Ablation{Options: small(), Device: "cuda:99", Open: catalog.Open, From: trainer.DefaultFactors(), To: trainer.DefaultFactors()}
	if _, err := a.Run(context.Background(), bench.AblateOptions{}); err == nil {
		t.Error("a device that is not there was taken")
	}
}
