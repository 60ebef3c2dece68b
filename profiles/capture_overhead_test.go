package profiles_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gputax/device"
	"gputax/device/host"
	"gputax/profiles"
	"gputax/trainer"
)

// script is a device that notes every call of a workload, so that the calls can
// be made again with a recorder and without.
type script struct {
	device.Device
	calls []func(rec *device.Recorder) error // without one they go to the device
	on    bool
}

// idle is a device that does nothing at once.
type idle struct{ device.Device }

func (idle) Launch(device.Stream, *device.Kernel, device.Args) error { return nil }
func (idle) Copy(device.Copy) error                                  { return nil }

func (s *script) Launch(st device.Stream, k *device.Kernel, args device.Args) error {
	if s.on {
		own := slices.Clone(args)
		s.calls = append(s.calls, func(rec *device.Recorder) error {
			if rec != nil {
				return rec.Launch(st, k, own...)
			}
			return s.Device.Launch(st, k, own)
		})
	}
	return s.Device.Launch(st, k, args)
}

func (s *script) Copy(c device.Copy) error {
	if s.on {
		s.calls = append(s.calls, func(rec *device.Recorder) error {
			switch {
			case rec == nil:
				return s.Device.Copy(c)
			case c.Mode != device.Pageable:
				return fmt.Errorf("a copy of mode %d cannot be made again", c.Mode)
			case c.Direction == device.HostToDevice:
				return rec.Upload(c.Device, c.Host)
			}
			return rec.Download(c.Host, c.Device)
		})
	}
	return s.Device.Copy(c)
}

func (s *script) Sync(st device.Stream) error {
	if s.on {
		s.calls = append(s.calls, func(rec *device.Recorder) error {
			if rec != nil {
				return rec.Sync(st)
			}
			return s.Device.Sync(st)
		})
	}
	return s.Device.Sync(st)
}

func (s *script) EnterPhase(name string) {
	if s.on {
		s.calls = append(s.calls, func(rec *device.Recorder) error {
			if rec != nil {
				rec.Phase(name)
			}
			return nil
		})
	}
}

func (s *script) EnterStep(int)       {}
func (s *script) Padded(int64, int64) {}
func (s *script) Draining(bool)       {}

// newScript is one step of a variant of the reference workload on the host.
func newScript(variant string) (s *script, rec *device.Recorder, err error) {
	v, err := trainer.Named(variant)
	if err != nil {
		return nil, nil, err
	}
	f, err := v.Factors()
	if err != nil {
		return nil, nil, err
	}
	s = &script{Device: host.New()}
	rec = device.NewRecorder(s)
	tr, err := trainer.New(rec, trainer.Tiny(), f)
	if err != nil {
		return nil, nil, err
	}
	if err := tr.Step(); err != nil {
		return nil, nil, err
	}
	s.on = true
	err = tr.Step()
	s.on = false
	return s, rec, err
}

// BenchmarkRecorderOnHost is what recording takes of a step on the host. The
// recorder's share is tens of nanoseconds in kernels that vary by microseconds,
// so it is measured where the kernels do nothing: the calls of a step, made with
// the recorder and without. recorder-% is the difference over the step's time.
func BenchmarkRecorderOnHost(b *testing.B) {
	for _, variant := range []string{"cpu_loop", "gpu_padded", "gpu_per_route", "gpu_per_route_dup"} {
		b.Run("variant="+variant, func(b *testing.B) {
			s, rec, err := newScript(variant)
			if err != nil {
				b.Fatal(err)
			}
			working := s.Device
			var step, with, without []time.Duration
			timed := func(by *device.Recorder, on device.Device, times *[]time.Duration) {
				s.Device = on
				start := time.Now()
				for _, call := range s.calls {
					if err := call(by); err != nil {
						b.Fatal(err)
					}
				}
				*times = append(*times, time.Since(start))
			}
			for b.Loop() {
				timed(rec, working, &step)
				for range 10 {
					timed(nil, idle{working}, &without)
					timed(rec, idle{working}, &with)
				}
			}
			extra := float64(slices.Min(with) - slices.Min(without))
			b.ReportMetric(float64(len(s.calls)), "events/op")
			b.ReportMetric(float64(slices.Min(step)), "step-ns/op")
			b.ReportMetric(extra/float64(len(s.calls)), "recorder-ns/event")
			b.ReportMetric(100*extra/float64(slices.Min(step)), "recorder-%")
		})
	}
}

// BenchmarkCapture is what a capture takes an event, beyond what the device
// does: finding the call site is most of it.
func BenchmarkCapture(b *testing.B) {
	for _, contents := range []bool{false, true} {
		b.Run(fmt.Sprintf("contents=%v", contents), func(b *testing.B) {
			const events = 50_000
			for b.Loop() {
				_, err := profiles.Capture(b.Context(), host.New(), profiles.CaptureOptions{Contents: contents}, func(rec *device.Recorder) error {
					buf, err := rec.Alloc(64)
					for range events {
						err = errors.Join(err, rec.Launch(device.Default, nothing, device.Buf(buf)))
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

var nothing = &device.Kernel{Symbol: "nothing", Params: []device.Param{{Name: "x"}}, Body: func(device.Args) {}}
