package model

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/vrp"
)

// Every route solves its instance, whatever the size, greedy or drawn.
func TestRoutesAreValid(t *testing.T) {
	configs := []Config{Tiny(), small,
		{Customers: 1, Capacity: 9, Width: 4, Heads: 1, Layers: 1, Hidden: 4},
		{Customers: 3, Capacity: 9, Width: 8, Heads: 2, Layers: 1, Hidden: 8},
		{Customers: 20, Capacity: 30, Width: 16, Heads: 4, Layers: 1, Hidden: 16},
	}
	for _, cfg := range configs {
		f := onHost(t, cfg, 33)
		f.must(f.Encode(f.params))
		for step := range int32(4) {
			f.seed(11, step)
			f.must(f.Rollout(f.params, step == 0))
			var routes vrp.Routes
			f.must(Routes(f.actions(), cfg, &routes))
			if err := f.data.ValidateAll(&routes); err != nil {
				t.Errorf("%+v, step %d: %v", cfg, step, err)
			}
		}
	}
}

// A rollout adds up the same log-probabilities that Evaluate computes at once.
func TestEvaluateRepeatsRollout(t *testing.T) {
	for _, cfg := range []Config{Tiny(), small} {
		f := onHost(t, cfg, 20)
		f.must(f.Encode(f.params))
		for _, greedy := range []bool{true, false} {
			f.must(f.Rollout(f.params, greedy))
			rolled := f.floats(f.LogProb)
			f.must(f.Evaluate(f.params))
			for i, v := range f.floats(f.LogProb) {
				if !(math.Abs(float64(v-rolled[i])) <= 1e-5*math.Abs(float64(v))) || !(v < 0) {
					t.Fatalf("greedy %v: instance %d: %v by the rollout, %v by Evaluate", greedy, i, rolled[i], v)
				}
			}
		}
	}
}

// Greedy ignores the seed; drawing follows seed, step number and instance.
func TestSeed(t *testing.T) {
	f := onHost(t, small, 16)
	f.must(f.Encode(f.params))
	roll := func(greedy bool, control ...int32) []int32 {
		f.upload(f.Control, device.Bytes(control))
		f.must(f.Rollout(f.params, greedy))
		return f.actions()
	}
	base := roll(false, 1, 2, 3, 0)
	if !slices.Equal(base, roll(false, 1, 2, 3, 0)) {
		t.Error("the same seed gave other actions")
	}
	for _, c := range [][]int32{{2, 2, 3, 0}, {1, 3, 3, 0}, {1, 2, 4, 0}} {
		if slices.Equal(base, roll(false, c...)) {
			t.Errorf("control %v gave the same actions as 1 2 3", c)
		}
	}
	if !slices.Equal(roll(true, 1, 2, 3, 0), roll(true, 4, 5, 6, 0)) {
		t.Error("the seed changed greedy actions")
	}
}

// chi is the 0.999 quantile of chi-square with 1 to 6 degrees of freedom.
var chi = []float64{10.83, 13.82, 16.27, 18.47, 20.52, 22.46}

// Nodes are drawn with their probabilities, and hidden ones never.
func TestChooseDistribution(t *testing.T) {
	const batch, nodes = 40000, 6
	rec := device.NewRecorder(host.New())
	alloc := func(n int) device.Buffer {
		b, err := rec.Alloc(4 * n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	actions, logprob, logp, probs, th := alloc(batch), alloc(batch), alloc(batch*nodes), alloc(batch*nodes), alloc(batch*nodes)
	mask, control := alloc(words(batch*nodes)), alloc(controlWords)
	scores, hidden := []float32{0.1, 0.3, -0.05, 0.2, 0.28, 0.9}, []uint8{0, 0, 0, 0, 0, 1}
	for i := range batch {
		copy(device.View[float32](th.Host())[i*nodes:], scores)
		copy(mask.Host()[i*nodes:], hidden)
	}
	var sum float64
	for _, s := range scores[:5] {
		sum += math.Exp(clip * float64(s))
	}
	for seed := range int32(3) {
		device.View[int32](control.Host())[controlSeedLow] = seed
		err := rec.Launch(device.Default, choose, device.Buf(actions), device.Buf(logprob), device.Buf(logp), device.Buf(probs),
			device.Buf(th), device.Buf(mask), device.Buf(control),
			device.Int(batch), device.Int(nodes), device.Int(1), device.Int(0), device.Int(0))
		if err != nil {
			t.Fatal(err)
		}
		var counts [nodes]float64
		for _, node := range device.View[int32](actions.Host()) {
			counts[node]++
		}
		var stat float64
		for j, s := range scores[:5] {
			want := batch * math.Exp(clip*float64(s)) / sum
			stat += (counts[j] - want) * (counts[j] - want) / want
		}
		if stat > chi[3] || counts[5] != 0 {
			t.Errorf("seed %d: drawn %v times, chi-square %.1f of 4 degrees of freedom", seed, counts, stat)
		}
	}
}

// The numbers are spread evenly, by instance and by decoding step.
func TestUniform(t *testing.T) {
	control := []int32{-1, 7, 9, 0}
	for name, at := range map[string]func(i int) float32{
		"instances": func(i int) float32 { return uniform(control, i, 3) },
		"steps":     func(i int) float32 { return uniform(control, 3, i) },
		"seeds":     func(i int) float32 { return uniform([]int32{int32(i), 0, 0, 0}, 0, 0) },
	} {
		var counts [7]float64
		const draws = 70000
		for i := range draws {
			u := at(i)
			if u < 0 || u >= 1 {
				t.Fatalf("%s: %v", name, u)
			}
			counts[int(u*7)]++
		}
		var stat float64
		for _, c := range counts {
			stat += (c - draws/7) * (c - draws/7) / (draws / 7)
		}
		if stat > chi[5] {
			t.Errorf("%s: counts %v, chi-square %.1f of 6 degrees of freedom", name, counts, stat)
		}
	}
}

func TestInverse(t *testing.T) {
	for _, c := range []struct {
		probs []float32
		u     float32
		want  int
	}{
		{[]float32{0, 0.5, 0, 0.5, 0}, 0, 1},
		{[]float32{0, 0.5, 0, 0.5, 0}, 0.4999, 1},
		{[]float32{0, 0.5, 0, 0.5, 0}, 0.5, 3},
		{[]float32{0, 0.5, 0, 0.4999, 0}, 0.99999, 3}, // rounding: the last possible node
		{[]float32{1, 0, 0}, 0.99999, 0},
	} {
		if got := inverse(c.probs, c.u); got != c.want {
			t.Errorf("%v at %v: node %d, want %d", c.probs, c.u, got, c.want)
		}
	}
	if got := largest([]float32{0, 3, 1, 3}); got != 1 {
		t.Errorf("the largest of equals is %d, want the first, 1", got)
	}
}

func TestRoutes(t *testing.T) {
	cfg := small
	cfg.Customers = 3
	var routes vrp.Routes
	err := Routes([]int32{
		1, 2, 3, 0, 0, 0,
		1, 0, 2, 0, 3, 0,
		3, 2, 0, 1, 0, 0,
	}, cfg, &routes)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int32{{0, 1, 2, 3, 0}, {0, 1, 0, 2, 0, 3, 0}, {0, 3, 2, 0, 1, 0}}
	for i := range want {
		if !slices.Equal(routes.Of(i), want[i]) {
			t.Errorf("route %d is %v, want %v", i, routes.Of(i), want[i])
		}
	}
	if err := Routes(make([]int32, 7), cfg, &routes); err == nil {
		t.Error("7 actions of 6 steps were taken")
	}
	if routes.Len() != 3 {
		t.Errorf("%d routes after a refusal", routes.Len())
	}
}

func ExampleRoutes() {
	cfg := Config{Customers: 2}
	var routes vrp.Routes
	if err := Routes([]int32{2, 1, 0, 0}, cfg, &routes); err != nil {
		fmt.Println(err)
	}
	fmt.Println(routes.Of(0))
	// Output: [0 2 1 0]
}
