package profiles_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/device/sim"
	"gputax/model"
	"gputax/profiles"
	"gputax/trainer"
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
