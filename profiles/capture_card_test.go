package profiles_test

import (
	"bytes"
	"testing"

	"gputax/device"
	"gputax/device/cuda"
	"gputax/profiles"
	"gputax/trainer"
)

// onCard opens a card, and skips where there is none.
func onCard(t *testing.T) device.Device {
	t.Helper()
	if err := cuda.Why(); err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	d, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// On a card what CUPTI saw is joined to the calls: nothing is lost, nothing is
// new, the counters are the recorder's, and the trace holds to the format.
func TestCaptureOnCard(t *testing.T) {
	for _, v := range trainer.Variants {
		if v.Name == "gorgonia" {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			dev := onCard(t)
			ops, err := profiles.CUPTIOps()
			if err != nil {
				t.Skipf("waits for CUPTI: %v", err)
			}
			got, rec := capture(t, dev, v.Name, profiles.CaptureOptions{Ops: ops, Contents: true})
			if got.Counters() != rec.Counters() || len(got.Warnings) > 0 {
				t.Errorf("recorded %v, counted %v; warnings %q", got.Counters(), rec.Counters(), got.Warnings)
			}
			for i, o := range got.Ops.All() {
				if o.Call < 0 || o.Dur <= 0 || o.Kind != profiles.OpMemset && o.Detail < 0 {
					t.Fatalf("op %d, %s: %+v", i, got.Names.Name(o.Name), o)
				}
				if c := got.Calls.At(int(o.Call)); o.Start < c.Start-20_000 {
					t.Fatalf("op %d, %s, begins %d ns before its call", i, got.Names.Name(o.Name), c.Start-o.Start)
				}
			}
			var out bytes.Buffer
			if _, err := got.WriteTrace(&out, 1000); err != nil {
				t.Fatal(err)
			}
			readTrace(t, out.Bytes())
		})
	}
}

// Without CUPTI ops are timed by events, and the recording says so.
func TestCaptureByEventsOnCard(t *testing.T) {
	got, rec := capture(t, onCard(t), "cpu_loop", profiles.CaptureOptions{})
	if got.Counters() != rec.Counters() || len(got.Warnings) > 0 || got.Knows(profiles.DeviceTimes) {
		t.Errorf("recorded %v, counted %v; warnings %q, unseen %v", got.Counters(), rec.Counters(), got.Warnings, got.Source.Unseen)
	}
	for i, o := range got.Ops.All() {
		if o.Dur <= 0 || o.Dur > 10_000_000 {
			t.Fatalf("op %d, %s: %d ns", i, got.Names.Name(o.Name), o.Dur)
		}
	}
}

// A function that never returns, as one that calls testing.T.Fatal, leaves CUPTI
// to the next.
func TestObserveAbandonedOnCard(t *testing.T) {
	onCard(t)
	o, err := profiles.NewObserver()
	if err != nil {
		t.Skipf("waits for CUPTI: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		o.Observe(func() error { panic("it broke") })
	}()
	if _, err := o.Observe(func() error { return nil }); err != nil {
		t.Errorf("after it: %v", err)
	}
}
