package model

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/device/host/f32"
	"gputax/device/sim"
	"gputax/profiles"
)

// The same bits on any number of threads, on the host and on simulated
// devices, and whatever the options.
func TestSameBits(t *testing.T) {
	profile, err := profiles.Device("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []Config{Tiny(), small} {
		run := func(dev device.Device, opt Options) result {
			f := newFixture(t, dev, cfg, 24, opt)
			f.step()
			r := f.result()
			f.must(f.Close())
			return r
		}
		want := run(host.New(), Options{})
		for _, procs := range []int{1, 2, 8} {
			before := runtime.GOMAXPROCS(procs)
			run(host.New(), Options{}).same(t, want, fmt.Sprintf("GOMAXPROCS=%d", procs))
			runtime.GOMAXPROCS(before)
		}
		run(sim.New(profile), Options{}).same(t, want, "sim")
		run(host.New(), Options{TF32: true}).same(t, want, "TF32")
		run(host.New(), Options{Embed: EmbedHoisted}).same(t, want, "hoisted")
		run(host.New(), Options{Embed: EmbedPerToken}).same(t, want, "per token")
	}
}

// The vector paths of the host's library give the same bits. The portable path
// rounds products apart, and may differ.
func TestSameBitsOnPaths(t *testing.T) {
	defer func(before string) {
		if err := f32.Select(before); err != nil {
			t.Error(err)
		}
	}(f32.Path())
	var want *result
	for _, path := range f32.Paths() {
		if path == "portable" {
			continue
		}
		if err := f32.Select(path); err != nil {
			t.Fatal(err)
		}
		f := onHost(t, small, 9)
		f.step()
		got := f.result()
		if want != nil {
			got.same(t, *want, path)
		}
		want = &got
	}
}

// A captured step, replayed, gives what the calls give, and follows what is
// uploaded after the capture.
func TestCapture(t *testing.T) {
	for _, opt := range []Options{{}, {Embed: EmbedHoisted}} {
		f := newFixture(t, host.New(), small, 7, opt)
		f.must(f.rec.BeginCapture(device.Default))
		f.step()
		graph, err := f.rec.EndCapture()
		f.must(err)
		for seed := range int32(3) {
			f.seed(seed, 1)
			f.step()
			want := f.result()
			f.upload(f.Grads, make([]byte, f.Grads.Size()))
			f.upload(f.Actions, make([]byte, f.Actions.Size()))
			f.must(f.rec.Replay(device.Default, graph))
			f.result().same(t, want, fmt.Sprintf("embed %v, seed %d", opt.Embed, seed))
		}
	}
	f := newFixture(t, host.New(), small, 2, Options{Embed: EmbedPerToken})
	f.must(f.rec.BeginCapture(device.Default))
	if err := f.Encode(f.params); !errors.Is(err, device.ErrCapturing) {
		t.Errorf("embedding per token in a graph: got %v", err)
	}
}

// After a first step nothing allocates on the host.
func TestNoAllocations(t *testing.T) {
	for _, opt := range []Options{{}, {Embed: EmbedHoisted, TF32: true}} {
		f := newFixture(t, host.New(), Tiny(), 32, opt)
		f.step()
		if n := testing.AllocsPerRun(3, f.step); n != 0 {
			t.Errorf("%+v: %v allocations a step", opt, n)
		}
	}
}

// What each method launches, copies and allocates.
func TestCounters(t *testing.T) {
	const batch = 3
	tokens := int64(batch * small.Nodes())
	for _, c := range []struct {
		opt  Options
		want device.Counters // of Encode
	}{
		{Options{}, device.Counters{device.Launches: 18}},
		{Options{Embed: EmbedHoisted}, device.Counters{device.Launches: 19}},
		{Options{Embed: EmbedPerToken}, device.Counters{device.Launches: 17 + tokens, device.Allocs: tokens, device.Frees: tokens,
			device.UploadCopies: tokens, device.UploadBytes: 4 * tokens, device.PageableCopies: tokens}},
	} {
		f := newFixture(t, host.New(), small, batch, c.opt)
		count := func(run func(device.Buffer) error) device.Counters {
			f.rec.Reset()
			f.must(run(f.params))
			return f.rec.Counters()
		}
		if got := count(f.Encode); got != c.want {
			t.Errorf("embed %v: Encode counts %v, want %v", c.opt.Embed, got, c.want)
		}
		for name, part := range map[string]struct {
			run      func(device.Buffer) error
			launches int64
		}{
			"Rollout":  {func(p device.Buffer) error { return f.Rollout(p, false) }, int64(1 + 7*small.Steps())},
			"Evaluate": {f.Evaluate, 7},
			"Backward": {f.Backward, int64(15 + 14*small.Layers)},
		} {
			if got, want := count(part.run), (device.Counters{device.Launches: part.launches}); got != want {
				t.Errorf("%s counts %v, want %v", name, got, want)
			}
		}
		f.must(f.Close())
	}
}

// A decoding step past the last is refused.
func TestStepRange(t *testing.T) {
	if err := checkStep(19, 20); err != nil {
		t.Error(err)
	}
	if err := checkStep(20, 20); !errors.Is(err, device.ErrArguments) {
		t.Errorf("step 20 of 20: got %v", err)
	}
}

// spy keeps every launch.
type spy struct {
	*host.Device
	kernels []*device.Kernel
	args    []device.Args
}

func (s *spy) Launch(stream device.Stream, k *device.Kernel, args device.Args) error {
	s.kernels, s.args = append(s.kernels, k), append(s.args, slices.Clone(args))
	return s.Device.Launch(stream, k, args)
}

// Every kernel refuses a buffer half as long as it should be, and a negative
// int, before it runs; and declares work.
func TestKernelChecks(t *testing.T) {
	dev := &spy{Device: host.New()}
	f := newFixture(t, dev, small, 4, Options{Embed: EmbedHoisted})
	f.step()
	other := newFixture(t, dev, small, 4, Options{Rollout: RolloutFused})
	other.must(other.Encode(other.params))
	other.must(other.Rollout(other.params, false))
	kernels, args := dev.kernels, dev.args
	for i, k := range kernels {
		if w := k.WorkOf(args[i]); w.WriteBytes == 0 || w.Flops < 0 || w.ReadBytes < 0 {
			t.Errorf("%s declares %+v", k.Symbol, w)
		}
		for j := range args[i] {
			bad := slices.Clone(args[i])
			switch b := bad.Buffer(j); {
			case bad.Kind(j) == device.KindInt:
				bad[j] = device.Int(-1)
			case bad.Kind(j) == device.KindFloat || b.Size() == 0:
				continue
			default:
				bad[j] = device.Buf(b.Slice(0, b.Size()/8*4))
			}
			if err := f.rec.Launch(device.Default, k, bad...); !errors.Is(err, device.ErrArguments) {
				t.Fatalf("%s, argument %d (%s): got %v", k.Symbol, j, k.Params[j].Name, err)
			}
		}
	}
}

// With TF32 the products are other kernels, and all their arithmetic is for
// the matrix units.
func TestTF32(t *testing.T) {
	dev := &spy{Device: host.New()}
	f := newFixture(t, dev, small, 2, Options{TF32: true})
	f.step()
	products := 0
	for i, k := range dev.kernels {
		if !strings.HasPrefix(k.Symbol, "model_matmul") {
			continue
		}
		products++
		w := k.WorkOf(dev.args[i])
		if !strings.HasSuffix(k.Symbol, "_tf32") || w.Flops != 0 || w.TensorFlops == 0 {
			t.Fatalf("%s declares %+v", k.Symbol, w)
		}
	}
	if products == 0 {
		t.Error("no matrix product was launched")
	}
}
