package trainer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gputax/device"
	"gputax/device/host"
	"gputax/model"
	"gputax/vrp"
)

// whole is the reference epoch, 25 steps of 128, with a small network: what is
// counted does not depend on its width.
func whole() Options {
	opt := small()
	opt.Epoch = 3200
	return opt
}

// epochOf runs one epoch and returns its recorder's phases and time.
func epochOf(t *testing.T, dev, variant string) (map[string]device.Counters, device.Counters, time.Duration) {
	t.Helper()
	tr := open(t, openNamed(t, dev), whole(), factorsOf(t, variant))
	if tr.Steps() != 25 {
		t.Fatalf("%d steps", tr.Steps())
	}
	if err := tr.rec.Drain(); err != nil {
		t.Fatal(err)
	}
	tr.rec.Reset()
	start := tr.rec.Now()
	if _, err := tr.Epoch(); err != nil {
		t.Fatal(err)
	}
	if err := tr.rec.Drain(); err != nil {
		t.Fatal(err)
	}
	phases := map[string]device.Counters{}
	for _, p := range tr.rec.Phases() {
		phases[p.Name] = p.Counters
	}
	return phases, tr.rec.Counters(), tr.rec.Now() - start
}

// The story, on the GPU fitted to it.
func TestStory(t *testing.T) {
	const dev = "sim:a6000-pytorch"
	loopPhases, loop, loopTime := epochOf(t, dev, "cpu_loop")
	_, transfers, transferTime := epochOf(t, dev, "transfer_all")
	perRoute, _, _ := epochOf(t, dev, "gpu_per_route")
	fused, _, _ := epochOf(t, dev, "gpu_fused")
	dup, _, dupTime := epochOf(t, dev, "gpu_per_route_dup")
	_, _, paddedTime := epochOf(t, dev, "gpu_padded")

	if n := transfers[device.UploadCopies]; n < 3200 {
		t.Errorf("transfer_all makes %d uploads an epoch, want at least 3,200", n)
	}
	if n := loopPhases["upload"][device.UploadCopies]; n != 2*25 {
		t.Errorf("cpu_loop makes %d uploads of its two inputs in 25 steps", n)
	}
	if n := loop[device.UploadCopies]; n != 3*25+1 { // inputs and costs, and the statistics once
		t.Errorf("cpu_loop makes %d uploads in 25 steps", n)
	}
	if n := perRoute["cost"][device.Launches]; n < 128*25 {
		t.Errorf("gpu_per_route launches %d cost kernels in 25 steps", n)
	}
	once := perRoute["cost"][device.Launches] - 25 // less the copy of the result, a step
	if n := dup["cost"][device.Launches] - 25; n != 9*once {
		t.Errorf("gpu_per_route_dup launches %d cost kernels, nine times %d is %d", n, once, 9*once)
	}
	if n := fused["cost"][device.Launches]; n != 25 {
		t.Errorf("gpu_fused launches %d cost kernels in 25 steps", n)
	}
	if extra := (transferTime - loopTime).Seconds(); extra < 5.4 || extra > 6.6 {
		t.Errorf("transfer_all takes %.2f s more than cpu_loop, the write-up says 6", extra)
	}
	if loopTime >= dupTime || loopTime >= paddedTime {
		t.Errorf("cpu_loop %v, gpu_per_route_dup %v, gpu_padded %v", loopTime, dupTime, paddedTime)
	}
}

// Per-token embedding makes a tensor for every token of both encodings.
func TestPerTokenReallyDoes(t *testing.T) {
	_, got, _ := epochOf(t, "sim:h200", "embed_per_token")
	_, base, _ := epochOf(t, "sim:h200", "cpu_loop")
	const tokens = 25 * 2 * 128 * 11
	if n := got[device.Allocs] - base[device.Allocs]; n != tokens {
		t.Errorf("%d tensors, want %d", n, tokens)
	}
	if n := got[device.UploadCopies] - base[device.UploadCopies]; n != tokens {
		t.Errorf("%d uploads more, want %d", n, tokens)
	}
}

// Routes of a step are valid, and the costs are theirs.
func TestRoutesAndCosts(t *testing.T) {
	opt, f := small(), factorsOf(t, "gpu_fused", "batch=24")
	tr := open(t, host.New(), opt, f)
	if err := tr.Step(); err != nil {
		t.Fatal(err)
	}
	routes, err := tr.Routes()
	if err != nil {
		t.Fatal(err)
	}
	costs, err := tr.Costs()
	if err != nil {
		t.Fatal(err)
	}
	batch, err := vrp.Generate(24, vrp.Sizes[0], opt.Seed)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range costs {
		route := routes.Of(i)
		if err := batch.Validate(i%24, route); err != nil {
			t.Error(err)
		}
		var sum float32
		for j := 1; j < len(route); j++ {
			sum += batch.DistOf(i % 24)[int(route[j-1])*11+int(route[j])]
		}
		if c != sum {
			t.Errorf("route %d costs %v, its edges %v", i, c, sum)
		}
	}
}

// A trained policy is better than a fresh one, and replaces the baseline.
func TestLearns(t *testing.T) {
	opt := small()
	opt.Epoch, opt.Rate, opt.Model.Width = 150*64, 5e-3, 16
	tr := open(t, host.New(), opt, factorsOf(t, "gpu_fused", "batch=64"))
	e, err := NewEvaluator(tr.rec, opt.Model, 256)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	before, err := e.Greedy(tr.params, TestSet, 0, 512)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Epoch(); err != nil {
		t.Fatal(err)
	}
	c, err := tr.Challenge(e, 256)
	if err != nil {
		t.Fatal(err)
	}
	after, err := e.Greedy(tr.params, TestSet, 0, 512)
	if err != nil {
		t.Fatal(err)
	}
	was, _ := MeanError(before)
	is, _ := MeanError(after)
	if is > was-1 || !c.Replaced {
		t.Errorf("greedy mean %v before, %v after 150 steps; challenge %+v", was, is, c)
	}
	again, err := tr.Challenge(e, 256)
	if err != nil {
		t.Fatal(err)
	}
	if again.Replaced {
		t.Errorf("a policy replaced itself: %+v", again)
	}
	best, err := e.Best(tr.params, TestSet, 0, 512, 4)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := MeanError(best); b >= is {
		t.Errorf("best of 4 samples %v, greedy %v", b, is)
	}
}

func TestCheckpoint(t *testing.T) {
	opt, f := small(), factorsOf(t, "gpu_fused", "batch=24")
	path := filepath.Join(t.TempDir(), "c")
	steps := func(tr *Trainer, n int) {
		for range n {
			if err := tr.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := open(t, host.New(), opt, f)
	steps(first, 3)
	if err := first.Save(path); err != nil {
		t.Fatal(err)
	}
	steps(first, 3)
	want, err := first.Params()
	if err != nil {
		t.Fatal(err)
	}
	second := open(t, host.New(), opt, factorsOf(t, "graph", "batch=24", "workers=2")) // another variant may take it up
	steps(second, 1)
	if err := second.Restore(path); err != nil {
		t.Fatal(err)
	}
	if second.StepsDone() != 3 {
		t.Errorf("%d steps done", second.StepsDone())
	}
	steps(second, 3)
	if got, err := second.Params(); err != nil || !slices.Equal(got, want) {
		t.Errorf("a resumed run ends elsewhere, off by %g (%v)", relative(got, want), err)
	}
	if cfg, params, err := model.Load(path); err != nil || cfg != opt.Model || len(params) != len(want) {
		t.Errorf("a checkpoint is no parameter file: %+v, %d, %v", cfg, len(params), err)
	}
	refuseCheckpoints(t, opt, f, path)
}

// refuseCheckpoints holds Restore to refusing what is not this run's, and to
// changing nothing then.
func refuseCheckpoints(t *testing.T, opt Options, f Factors, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) string {
		p := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(p, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return p
	}
	altered := slices.Clone(data)
	altered[len(altered)/2] ^= 1
	otherSeed, otherRun := opt, opt
	otherSeed.Seed++
	otherRun.Run = "another learning rate"
	fused := f
	fused.Layers = "fused"
	for name, c := range map[string]struct {
		opt  Options
		f    Factors
		path string
		want string
	}{
		"truncated":      {opt, f, write(data[:len(data)-100]), "truncated"},
		"altered":        {opt, f, write(altered), "altered"},
		"foreign":        {opt, f, write([]byte("hello")), "bad"},
		"another seed":   {otherSeed, f, path, "another run"},
		"another rate":   {otherRun, f, path, "another run"},
		"another layers": {opt, fused, path, "another run"},
		"missing":        {opt, f, filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		tr := open(t, host.New(), c.opt, c.f)
		before, err := tr.Params()
		if err != nil {
			t.Fatal(err)
		}
		err = tr.Restore(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := tr.Params(); err != nil || !slices.Equal(after, before) {
			t.Errorf("%s: the parameters changed (%v)", name, err)
		}
	}
}

// What checkpoints say of layers: nothing where they run in parts, as before
// there was a choice.
func TestCheckpointLayers(t *testing.T) {
	for layers, want := range map[string]bool{"parts": false, "fused": true} {
		path := filepath.Join(t.TempDir(), "c")
		tr := open(t, host.New(), small(), factorsOf(t, "cpu_loop", "batch=8", "layers="+layers))
		if err := tr.Save(path); err != nil {
			t.Fatal(err)
		}
		if err := tr.Restore(path); err != nil {
			t.Error(err)
		}
		f, err := model.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var run map[string]any
		if err := f.Get(headerRun, &run); err != nil {
			t.Fatal(err)
		}
		if _, ok := run["layers"]; ok != want {
			t.Errorf("layers=%s: %v", layers, run)
		}
	}
}

// A number that is not finite stops the run, with its phase and step, and the
// parameters stay those before.
func TestNotFinite(t *testing.T) {
	tr := open(t, host.New(), small(), factorsOf(t, "gpu_fused", "batch=24"))
	if err := tr.Step(); err != nil {
		t.Fatal(err)
	}
	params, err := tr.Params()
	if err != nil {
		t.Fatal(err)
	}
	nan := make([]byte, 4)
	copy(nan, []byte{0, 0, 0xc0, 0x7f})
	if err := tr.rec.Upload(tr.params.Slice(4*tr.model.Layout().Params[0].Offset, 4), nan); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tr.Step(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = tr.Stats()
	var bad *NotFinite
	if !errors.As(err, &bad) || bad.Step != 2 || bad.Phase != "forward" {
		t.Errorf("got %v", err)
	}
	got, err := tr.Params()
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i := range got {
		if got[i] != params[i] {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d parameters changed besides the one that was spoiled", changed-1)
	}
}

func TestNoHostEngine(t *testing.T) {
	_, err := New(device.NewRecorder(host.New()), small(), factorsOf(t, "gorgonia", "batch=24"))
	if err == nil || !strings.Contains(err.Error(), "engine=gorgonia") {
		t.Errorf("a program without the library: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	opt := Tiny()
	opt.Epoch = 1 << 20
	f := DefaultFactors()
	f.Batch = 1 << 20
	_, err := New(device.NewRecorder(host.NewSize(1<<30)), opt, f)
	if !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("a batch larger than memory: %v", err)
	}
}
