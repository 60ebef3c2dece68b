package bench_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gputax/bench"
	"gputax/bench/suite"
	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/cuda/cupti"
	"gputax/profiles"
)

// The tests here need a card and CUPTI, and skip where either is missing.

// cuptiOnCard is CUPTI on a machine with a card.
func cuptiOnCard(t *testing.T) *cupti.Library {
	t.Helper()
	dev, err := catalog.Open("cuda:0")
	if err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	if err := dev.Close(); err != nil {
		t.Fatal(err)
	}
	lib, err := cupti.Open()
	if err != nil {
		t.Skipf("waits for CUPTI: %v", err)
	}
	t.Log(lib)
	return lib
}

// prepared is a case set up and warmed up on a card, closed when the test ends.
func prepared(t *testing.T, c bench.Case) (*device.Recorder, bench.Work) {
	t.Helper()
	dev, err := catalog.Open("cuda:0")
	if err != nil {
		t.Fatal(err)
	}
	rec := device.NewRecorder(dev)
	w, err := c.Setup(rec)
	if err != nil {
		t.Fatal(errors.Join(err, dev.Close()))
	}
	t.Cleanup(func() {
		if w.Close != nil {
			err = w.Close()
		}
		if err := errors.Join(err, dev.Close()); err != nil {
			t.Error(err)
		}
	})
	warm := w.Warm
	if warm == nil {
		warm = func() error { return w.Op(rec) }
	}
	if err := errors.Join(warm(), before(rec, w)); err != nil {
		t.Fatal(err)
	}
	return rec, w
}

// before sets the stage for an op.
func before(rec *device.Recorder, w bench.Work) error {
	if w.Before == nil {
		return rec.Drain()
	}
	return errors.Join(w.Before(), rec.Drain())
}

// differences is where two counts differ, but for what cannot be observed.
func differences(recorded, observed device.Counters) string {
	var all []string
	for c := range recorded {
		if device.Counter(c) != device.MappedBytes && recorded[c] != observed[c] {
			all = append(all, fmt.Sprintf("%s %d recorded, %d observed", device.Counter(c).Unit(), recorded[c], observed[c]))
		}
	}
	return strings.Join(all, "; ")
}

// TestCardObserve holds CUPTI's counts to the recorder's for every variant of
// every benchmark.
func TestCardObserve(t *testing.T) {
	cuptiOnCard(t)
	for _, c := range suite.Cases(suite.Options{}) {
		t.Run(c.Name("cuda"), func(t *testing.T) {
			rec, w := prepared(t, c)
			rec.Reset()
			seen, err := profiles.Observe(func() error { return errors.Join(w.Op(rec), rec.Drain()) })
			if err != nil {
				t.Fatal(err)
			}
			if d := differences(rec.Counters(), seen.Counters); d != "" {
				t.Error(d)
			}
			for _, warning := range seen.Warnings {
				t.Error(warning)
			}
			if seen.Memsets != 0 || seen.OtherCopies != 0 {
				t.Errorf("%d memsets and %d copies on the device, of which the recorder knows none", seen.Memsets, seen.OtherCopies)
			}
		})
	}
}

// TestCardCapture captures an epoch with CUPTI: every op is joined to its call
// and has a time of its own.
func TestCardCapture(t *testing.T) {
	cuptiOnCard(t)
	for _, c := range suite.Named("Epoch", suite.Options{}) {
		if !slices.Contains([]string{"cpu_loop", "pinned_async", "graph", "fastest"}, c.Variant) {
			continue
		}
		t.Run(c.Variant, func(t *testing.T) {
			dev, err := catalog.Open("cuda:0")
			if err != nil {
				t.Fatal(err)
			}
			defer dev.Close()
			ops, err := profiles.CUPTIOps()
			if err != nil {
				t.Fatal(err)
			}
			var w bench.Work
			r, err := profiles.Capture(context.Background(), dev, profiles.CaptureOptions{
				Ops: ops,
				Setup: func(rec *device.Recorder) error {
					if w, err = c.Setup(rec); err != nil {
						return err
					}
					return errors.Join(w.Warm(), before(rec, w))
				},
			}, func(rec *device.Recorder) error { return w.Op(rec) })
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			apart, timeless, early := 0, 0, 0
			var busy time.Duration
			for _, o := range r.Ops.All() {
				busy += time.Duration(o.Dur)
				if o.Dur <= 0 {
					timeless++
				}
				if o.Call < 0 {
					apart++
				} else if o.Start < r.Calls.At(int(o.Call)).Start {
					early++
				}
			}
			t.Logf("%d calls, %d ops, %v, device busy %v, %s", r.Calls.Len(), r.Ops.Len(), r.Duration(), busy, r.Source.Name)
			if apart > 0 || timeless > 0 || early > 0 {
				t.Errorf("of %d ops %d belong to no call, %d take no time, %d start before their call", r.Ops.Len(), apart, timeless, early)
			}
			for _, warning := range r.Warnings {
				t.Error(warning)
			}
		})
	}
}

// torchOverhead is what torch.profiler adds to an eager epoch of the reference
// workload, on the same card.
const torchOverhead = 0.75

// TestCardOverhead runs whole epochs with CUPTI on and off by turns, and prints
// what it costs.
func TestCardOverhead(t *testing.T) {
	lib := cuptiOnCard(t)
	const rounds = 7
	for _, c := range suite.Named("Epoch", suite.Options{Full: true}) {
		if !slices.Contains([]string{"cpu_loop", "gpu_per_route", "gpu_padded", "transfer_all", "graph", "fastest"}, c.Variant) {
			continue
		}
		t.Run(c.Variant, func(t *testing.T) {
			rec, w := prepared(t, c)
			epoch := func() time.Duration {
				if err := before(rec, w); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if err := errors.Join(w.Op(rec), rec.Drain()); err != nil {
					t.Fatal(err)
				}
				return time.Since(start)
			}
			var off, on, stop []time.Duration
			for range rounds {
				off = append(off, epoch())
				s, err := lib.Start()
				if err != nil {
					t.Fatal(err)
				}
				on = append(on, epoch())
				start := time.Now()
				if _, err := s.Stop(); err != nil {
					t.Fatal(err)
				}
				stop = append(stop, time.Since(start))
			}
			ratio := float64(middle(on)) / float64(middle(off))
			t.Logf("CUPTI off %v, on %v: %.3f times; %v to stop", middle(off), middle(on), ratio, middle(stop))
			if ratio > 1+torchOverhead {
				t.Errorf("CUPTI makes the epoch %.2f times as long, torch.profiler %.2f", ratio, 1+torchOverhead)
			}
		})
	}
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
