package trainer

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/host"
	"gputax/device/host/f32"
	"gputax/model"
	"gputax/model/gorgonia"
)

// small is a run that trains in milliseconds, of a size that fused layers take.
func small() Options {
	return Options{Model: model.Config{Customers: 10, Capacity: 20, Width: 32, Heads: 2, Layers: 1, Hidden: 32},
		Epoch: 64, Rate: 1e-3, Clip: 1, Seed: 5}
}

// library is Gorgonia as a host engine.
type library struct{}

func (library) Open(cfg model.Config, batch int) (HostGradient, error) {
	return gorgonia.NewSingle(cfg, batch)
}

func open(tb testing.TB, dev device.Device, opt Options, f Factors) *Trainer {
	tb.Helper()
	opt.HostEngine = library{}
	t, err := New(device.NewRecorder(dev), opt, f)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := t.Close(); err != nil {
			tb.Error(err)
		}
	})
	return t
}

func openNamed(tb testing.TB, name string) device.Device {
	tb.Helper()
	dev, err := catalog.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	return dev
}

func factorsOf(tb testing.TB, name string, settings ...string) Factors {
	tb.Helper()
	v, err := Named(name)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := v.Factors(settings...)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// outcome is what a run of a few steps leaves.
type outcome struct {
	nodes  []int32
	costs  []float32
	params []float32
}

func train(tb testing.TB, dev device.Device, opt Options, f Factors, steps int) outcome {
	tb.Helper()
	opt.Epoch = steps * f.Batch
	t := open(tb, dev, opt, f)
	if _, err := t.Epoch(); err != nil {
		tb.Fatal(err)
	}
	routes, err := t.Routes()
	if err != nil {
		tb.Fatal(err)
	}
	costs, err := t.Costs()
	if err != nil {
		tb.Fatal(err)
	}
	params, err := t.Params()
	if err != nil {
		tb.Fatal(err)
	}
	return outcome{routes.Nodes, costs, params}
}

// relative is the largest difference, relative to the norm of want.
func relative(got, want []float32) float64 {
	var diff, norm float64
	for i := range want {
		diff += (float64(got[i]) - float64(want[i])) * (float64(got[i]) - float64(want[i]))
		norm += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(diff / norm)
}

// Every variant, on the host and on a simulated device, does what cpu_loop
// does: the same routes, costs and parameters after two steps, to the bit. Only
// another engine, fused layers and the fused rollout may round differently.
func TestVariantsAgree(t *testing.T) {
	opt := small()
	for _, v := range Variants {
		f := factorsOf(t, v.Name)
		if f.Batch == 128 { // the others are about their batch
			f.Batch = 24
		}
		base := DefaultFactors()
		base.Batch = f.Batch
		want := train(t, host.New(), opt, base, 2)
		for _, dev := range []string{"host", "sim:a6000-pytorch"} {
			got := train(t, openNamed(t, dev), opt, f, 2)
			if f.rounds() {
				if !slices.Equal(got.nodes, want.nodes) || relative(got.costs, want.costs) > 1e-4 || relative(got.params, want.params) > 1e-4 {
					t.Errorf("%s on %s: costs are off by %g, parameters by %g", v.Name, dev, relative(got.costs, want.costs), relative(got.params, want.params))
				}
				continue
			}
			if !slices.Equal(got.nodes, want.nodes) {
				t.Errorf("%s on %s: other routes", v.Name, dev)
			}
			if !slices.Equal(got.costs, want.costs) {
				t.Errorf("%s on %s: other costs, off by %g", v.Name, dev, relative(got.costs, want.costs))
			}
			if !slices.Equal(got.params, want.params) {
				t.Errorf("%s on %s: other parameters, off by %g", v.Name, dev, relative(got.params, want.params))
			}
		}
	}
}

// Factors combine freely: a few combinations no variant has.
func TestCombinations(t *testing.T) {
	opt := small()
	base := factorsOf(t, "cpu_loop", "batch=24")
	want := train(t, host.New(), opt, base, 3)
	for _, settings := range [][]string{
		{"cost=padded", "dup=9", "dist=one_by_one"},
		{"graph=on", "upload=pinned"},
		{"graph=on", "cost=per_route_item", "dist=one_by_one", "upload=async"},
		{"cost=fused", "dup=2", "workers=3", "prefetch=1", "collate=append"},
		{"load=device"},
		{"load=device", "cost=device", "graph=on", "upload=async"},
		{"load=device", "dist=one_by_one", "cost=padded", "workers=2"},
		{"embed=per_token", "cost=device", "dup=3", "tf32=on", "upload=async", "workers=1"},
	} {
		got := train(t, host.New(), opt, factorsOf(t, "cpu_loop", append(settings, "batch=24")...), 3)
		if !slices.Equal(got.nodes, want.nodes) || !slices.Equal(got.costs, want.costs) || !slices.Equal(got.params, want.params) {
			t.Errorf("%v: another result; parameters off by %g", settings, relative(got.params, want.params))
		}
	}
}

// The same seed gives the same parameters with any number of workers and of
// CPUs, and another seed gives others.
func TestDeterministic(t *testing.T) {
	opt := small()
	want := train(t, host.New(), opt, factorsOf(t, "cpu_loop", "batch=24"), 4).params
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		for _, workers := range []int{0, 1, 5} {
			f := factorsOf(t, "cpu_loop", "batch=24", fmt.Sprintf("workers=%d", workers))
			if got := train(t, host.New(), opt, f, 4).params; !slices.Equal(got, want) {
				t.Errorf("%d workers, GOMAXPROCS=%d: other parameters, off by %g", workers, procs, relative(got, want))
			}
		}
	}
	opt.Seed++
	if got := train(t, host.New(), opt, factorsOf(t, "cpu_loop", "batch=24"), 4).params; slices.Equal(got, want) {
		t.Error("another seed gave the same parameters")
	}
}

// epochRecord is everything exact about an epoch on a simulated device.
func epochRecord(tb testing.TB, dev string, opt Options, f Factors) string {
	tb.Helper()
	tr := open(tb, openNamed(tb, dev), opt, f)
	if _, err := tr.Epoch(); err != nil { // warm-up: allocations, capture
		tb.Fatal(err)
	}
	if err := tr.Rewind(); err != nil {
		tb.Fatal(err)
	}
	tr.rec.Reset()
	start := tr.rec.Now()
	if _, err := tr.Epoch(); err != nil {
		tb.Fatal(err)
	}
	if err := tr.rec.Drain(); err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprint(int64(tr.rec.Now()-start), tr.rec.Phases())
}

// Simulated time and counters of every variant's epoch are the same to the last
// digit with each path of the host kernels, with any number of CPUs, and from
// run to run.
func TestSimulatedEpochsAreExact(t *testing.T) {
	opt := small()
	opt.Epoch = 3 * 24
	path, procs := f32.Path(), runtime.GOMAXPROCS(0)
	defer func() {
		runtime.GOMAXPROCS(procs)
		if err := f32.Select(path); err != nil {
			t.Error(err)
		}
	}()
	var paths []string
	for _, p := range []string{"portable", "avx2", "avx512"} {
		if err := f32.Select(p); err != nil {
			t.Logf("path %s waits for a CPU that has it: %v", p, err)
			continue
		}
		paths = append(paths, p)
	}
	for _, v := range Variants {
		f := factorsOf(t, v.Name)
		if f.Batch == 128 {
			f.Batch = 24
		} else {
			f.Batch /= 16
		}
		want := ""
		for _, p := range paths {
			for _, n := range []int{1, 2, 8} {
				runtime.GOMAXPROCS(n)
				if err := f32.Select(p); err != nil {
					t.Fatal(err)
				}
				got := epochRecord(t, "sim:h200", opt, f) + epochRecord(t, "sim:a6000-pytorch", opt, f)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, path %s, GOMAXPROCS=%d:\n got %s\nwant %s", v.Name, p, n, got, want)
				}
			}
		}
	}
}

// After the first, a step allocates nothing, but for the variants that are about
// allocating and the library that does.
func TestStepAllocatesNothing(t *testing.T) {
	for _, v := range Variants {
		name := v.Name
		if name == "embed_per_token" || name == "collate_append" || name == "gorgonia" {
			continue
		}
		tr := open(t, host.New(), small(), factorsOf(t, name, "batch=24"))
		step := func() {
			if err := tr.Step(); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			step()
		}
		if n := testing.AllocsPerRun(10, step); n != 0 {
			t.Errorf("%s: %v allocations a step", name, n)
		}
	}
}
