package profiles_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gputax/device"
	"gputax/device/host"
	"gputax/device/sim"
	"gputax/model"
	"gputax/profiles"
	"gputax/trainer"

	"github.com/google/pprof/profile"
)

// small is a workload that takes no time, in the shape of the reference one.
func small(batch int) trainer.Options {
	o := trainer.Tiny()
	o.Model = model.Config{Customers: 4, Capacity: 20, Width: 8, Heads: 2, Layers: 1, Hidden: 8}
	o.Epoch = 3 * batch
	return o
}

// capture is three steps of a variant, and the recorder that ran them.
func capture(t testing.TB, dev device.Device, variant string, opt profiles.CaptureOptions) (*profiles.Recording, *device.Recorder) {
	t.Helper()
	v, err := trainer.Named(variant)
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.Factors()
	if err != nil {
		t.Fatal(err)
	}
	f.Batch = min(f.Batch, 8)
	var tr *trainer.Trainer
	var rec *device.Recorder
	opt.Setup = func(r *device.Recorder) (err error) {
		rec = r
		if tr, err = trainer.New(r, small(f.Batch), f); err != nil {
			return err
		}
		if err := tr.Step(); err != nil {
			return err
		}
		return tr.Rewind()
	}
	recording, err := profiles.Capture(context.Background(), dev, opt, func(*device.Recorder) error {
		_, err := tr.Epoch()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return recording, rec
}

func simulated(t testing.TB) *sim.Device {
	t.Helper()
	p, err := profiles.Device("h200")
	if err != nil {
		t.Fatal(err)
	}
	return sim.New(p)
}

// What a recording counts is what the recorder counted, in all and by phase, in
// every variant; on the virtual clock the times of the phases too.
func TestCountersAreTheRecorders(t *testing.T) {
	for _, v := range trainer.Variants {
		if v.Name == "gorgonia" { // is not built in
			continue
		}
		for _, dev := range []device.Device{host.New(), simulated(t)} {
			t.Run(v.Name+"/"+dev.Name(), func(t *testing.T) {
				got, rec := capture(t, dev, v.Name, profiles.CaptureOptions{Contents: true})
				if got.Counters() != rec.Counters() {
					t.Errorf("recorded %v, counted %v", got.Counters(), rec.Counters())
				}
				if len(got.Warnings) > 0 {
					t.Errorf("warnings: %q", got.Warnings)
				}
				want := slices.DeleteFunc(rec.Phases(), func(p device.Phase) bool {
					return p.Name != "" && p.Counters == device.Counters{} && p.Time == 0
				})
				phases := got.PhaseCounters()
				if dev.Clock() == device.Real {
					for i := range want {
						want[i].Time = 0
					}
					for i := range phases {
						phases[i].Time = 0
					}
				}
				sortPhases(want)
				sortPhases(phases)
				if fmt.Sprint(phases) != fmt.Sprint(want) {
					t.Errorf("phases\n%v, want\n%v", phases, want)
				}
			})
		}
	}
}

func sortPhases(p []device.Phase) {
	slices.SortFunc(p, func(a, b device.Phase) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// spin keeps a CPU busy where a profile can see it.
//
//go:noinline
func spin(d time.Duration) (n int) {
	for start := time.Now(); time.Since(start) < d; n++ {
	}
	return n
}

// The CPU profile has the phases as labels, and nothing of the recording; the
// heap profile can be read.
func TestCaptureHostProfiles(t *testing.T) {
	dev := simulated(t)
	r, err := profiles.Capture(t.Context(), dev, profiles.CaptureOptions{CPU: true, Heap: true, Contents: true}, func(rec *device.Recorder) error {
		b, err := rec.Alloc(1 << 20)
		if err != nil {
			return err
		}
		data := make([]byte, 1<<20)
		rec.Phase("busy")
		spin(200 * time.Millisecond)
		rec.Phase("hashing")
		for range 300 { // most of it is the recording's own
			if err := rec.Upload(b, data); err != nil {
				return err
			}
		}
		rec.Phase("")
		return rec.Free(b)
	})
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := profile.ParseData(r.CPU)
	if err != nil {
		t.Fatal(err)
	}
	labelled := false
	for _, s := range cpu.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if strings.Contains(line.Function.Name, "spin") {
					labelled = labelled || slices.Equal(s.Label["phase"], []string{"busy"})
				}
				if strings.Contains(line.Function.Name, "logbook") {
					t.Errorf("%s is in the profile", line.Function.Name)
				}
			}
		}
	}
	if !labelled {
		t.Error("no sample of the busy phase has its label")
	}
	heap, err := profile.ParseData(r.Heap)
	if err != nil || len(heap.SampleType) != 4 {
		t.Errorf("heap profile: %v", err)
	}
}

// What cannot be captured says why.
func TestCaptureErrors(t *testing.T) {
	fail := errors.New("it broke")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(*device.Recorder) error { return nil }
	broken := func(*device.Recorder) error { return fail }
	for _, c := range []struct {
		name  string
		ctx   context.Context
		setup func(*device.Recorder) error
		op    func(*device.Recorder) error
		want  error
	}{
		{"a setup that fails", t.Context(), broken, nothing, fail},
		{"an op that fails", t.Context(), nothing, broken, fail},
		{"a context that is done", done, nothing, nothing, context.Canceled},
	} {
		if r, err := profiles.Capture(c.ctx, host.New(), profiles.CaptureOptions{Setup: c.setup, CPU: true}, c.op); r != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", c.name, r, err)
		}
	}
	r, err := profiles.Capture(t.Context(), host.New(), profiles.CaptureOptions{}, nothing)
	if err != nil || r.Knows(profiles.StepBounds) || r.Knows(profiles.PhaseNames) || r.Knows(profiles.Contents) {
		t.Errorf("of nothing, %v is unseen; error %v", r.Source.Unseen, err)
	}
}
