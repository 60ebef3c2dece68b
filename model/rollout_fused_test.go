package model

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/vrp"
)

// equalRoutes is how many instances have the same actions in both, and the
// largest difference of their log-probabilities, relative to them.
func equalRoutes(steps int, a, b []int32, logprobA, logprobB []float32) (equal int, off float64) {
	for i := range logprobA {
		if slices.Equal(a[i*steps:(i+1)*steps], b[i*steps:(i+1)*steps]) {
			equal++
			x, y := float64(logprobA[i]), float64(logprobB[i])
			off = max(off, math.Abs(x-y)/max(math.Abs(x), 1))
		}
	}
	return equal, off
}

// The fused rollout decodes what the steps decode, and its routes are valid.
func TestFusedRollout(t *testing.T) {
	wide := Config{Customers: 33, Capacity: 40, Width: 24, Heads: 4, Layers: 1, Hidden: 24}
	single := Config{Customers: 1, Capacity: 9, Width: 4, Heads: 1, Layers: 1, Hidden: 4}
	equal, total := 0, 0
	for _, cfg := range []Config{Tiny(), small, wide, single} {
		const batch = 150
		steps := newFixture(t, host.New(), cfg, batch, Options{})
		fused := newFixture(t, host.New(), cfg, batch, Options{Rollout: RolloutFused})
		for seed := range int32(4) {
			for _, f := range []*fixture{steps, fused} {
				f.seed(seed, 2)
				f.must(f.Encode(f.params))
				f.must(f.Rollout(f.params, seed == 0))
			}
			n, off := equalRoutes(cfg.Steps(), steps.actions(), fused.actions(), steps.floats(steps.LogProb), fused.floats(fused.LogProb))
			equal, total = equal+n, total+batch
			if off > 1e-4 {
				t.Errorf("%+v, seed %d: log-probabilities of equal routes are off by %.2g", cfg, seed, off)
			}
			var routes vrp.Routes
			fused.must(Routes(fused.actions(), cfg, &routes))
			if err := fused.data.ValidateAll(&routes); err != nil {
				t.Errorf("%+v, seed %d: %v", cfg, seed, err)
			}
		}
	}
	if equal*1000 < total*999 {
		t.Errorf("%d of %d routes are equal, want 99.9%%", equal, total)
	}
}

// The fused rollout gives the same bits on any number of threads, in a graph,
// and to Evaluate and Backward.
func TestFusedSameBits(t *testing.T) {
	opt := Options{Rollout: RolloutFused}
	f := newFixture(t, host.New(), small, 40, opt)
	f.step()
	want := f.result()
	for _, procs := range []int{1, 2, 8} {
		before := runtime.GOMAXPROCS(procs)
		again := newFixture(t, host.New(), small, 40, opt)
		again.step()
		again.result().same(t, want, fmt.Sprintf("GOMAXPROCS=%d", procs))
		runtime.GOMAXPROCS(before)
	}
	f.must(f.rec.BeginCapture(device.Default))
	f.step()
	graph, err := f.rec.EndCapture()
	f.must(err)
	f.upload(f.Actions, make([]byte, f.Actions.Size()))
	f.must(f.rec.Replay(device.Default, graph))
	f.result().same(t, want, "replayed")
	f.must(f.rec.FreeGraph(graph))
}

// A fused rollout is three launches and allocates nothing.
func TestFusedCost(t *testing.T) {
	f := newFixture(t, host.New(), Tiny(), 32, Options{Rollout: RolloutFused})
	f.step()
	f.rec.Reset()
	f.must(f.Rollout(f.params, true))
	if got, want := f.rec.Counters(), (device.Counters{device.Launches: 3}); got != want {
		t.Errorf("counts %v, want %v", got, want)
	}
	if n := testing.AllocsPerRun(3, f.step); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
	f.must(f.Close())
	f.must(f.rec.Free(f.params))
}
