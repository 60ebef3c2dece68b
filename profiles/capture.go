package profiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"

	"gputax/device"
	"gputax/device/sim"

	"github.com/google/pprof/profile"
)

// CaptureOptions says what Capture records beside calls and ops. The zero value
// is good.
type CaptureOptions struct {
	// Setup makes what the op needs and warms it up, before recording begins:
	// what happens only once is then not in it. It may be nil.
	Setup func(rec *device.Recorder) error
	// Config goes ahead of what Capture itself says of the run.
	Config []Setting
	// Contents hashes what is copied and what kernels are given, where the host
	// can see it: round trips and duplicate work are found by it. It takes as
	// long as reading all of that; on a virtual clock that is no time.
	Contents bool
	// Mallocs counts the program's own allocations in each phase, which stops
	// the program for some microseconds twice a phase.
	Mallocs bool
	// Ops sees the device's side. Where it is nil, ops are where a simulated
	// device says, or where their calls are.
	Ops OpSource
	// CPU profiles the process while the op runs, with phases as labels; Heap
	// takes a heap profile when it is done.
	CPU, Heap bool
}

// Capture runs op once on dev and records all it does there. Its time is not to
// be reported: recording costs. Device work still running when op returns is
// waited for and is part of the recording.
//
// Setup and op get a recorder of their own, and must do all their work on dev
// through it; whatever they allocate can be freed through it after Capture.
func Capture(ctx context.Context, dev device.Device, opt CaptureOptions, op func(rec *device.Recorder) error) (*Recording, error) {
	l := newLogbook(dev, opt)
	t := newTap(dev, l)
	rec := device.NewRecorder(t)
	if opt.Setup != nil {
		if err := opt.Setup(rec); err != nil {
			return nil, fmt.Errorf("capture: setup: %w", err)
		}
	}
	if err := errors.Join(rec.Drain(), ctx.Err()); err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	rec.Reset()
	rec.Phase("")
	if opt.Ops != nil {
		if err := opt.Ops.Start(l.now); err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
	}
	cpu := l.startCPU(ctx, opt.CPU)
	defer l.abandon(cpu)
	if t.sim != nil {
		t.sim.Observe(l.sawSim)
		defer t.sim.Observe(nil)
	}
	l.open()
	err := op(rec)
	counted := rec.Counters()
	err = errors.Join(err, rec.Drain())
	l.close()
	err = errors.Join(err, l.stopCPU(cpu), l.stopOps())
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	if opt.Heap {
		if l.rec.Heap, err = heapProfile(); err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
	}
	l.finish(dev, t, opt, counted)
	return l.rec, l.rec.CheckValid()
}

// finish puts the recording in order and says what is to know about it.
func (l *logbook) finish(dev device.Device, t *tap, opt CaptureOptions, counted device.Counters) {
	r := l.rec
	r.Sort()
	r.Config = slices.Concat(opt.Config, aboutDevice(dev), r.Config, aboutProgram())
	unseen := r.Source.Unseen
	if !l.contents {
		unseen[Contents] = "contents were not hashed"
	}
	if !l.mallocs {
		unseen[HeapAllocs] = "allocations were not counted"
	}
	if len(r.Steps) == 0 {
		unseen[StepBounds] = "the op marks no steps; Recorder.Step does"
	}
	if !slices.ContainsFunc(r.Phases, func(s Span) bool { return s.Name != 0 }) {
		unseen[PhaseNames] = "the op names no phases; Recorder.Phase does"
	}
	switch {
	case t.timer != nil:
		unseen[DeviceTimes] = "CUPTI is not there; each op was waited for, and its duration is between two events around it"
	case t.sim == nil && t.host == nil && l.ops == nil:
		unseen[DeviceTimes] = "nothing tells when the device ran an op; times are those of the calls"
	}
	if got := r.Counters(); got != counted {
		for c := range got {
			if got[c] != counted[c] {
				r.Warnings = append(r.Warnings, fmt.Sprintf("the recording has %d %s, the recorder counted %d",
					got[c], device.Counter(c).Unit(), counted[c]))
			}
		}
	}
}

// aboutDevice is the configuration that a device tells by itself.
func aboutDevice(dev device.Device) []Setting {
	s := []Setting{{"device", dev.Name()}}
	if d, ok := dev.(interface{ Describe() string }); ok {
		s = append(s, Setting{"device is", d.Describe()})
	}
	if d, ok := dev.(*sim.Device); ok {
		s = append(s, Setting{"device is", fmt.Sprintf("simulated, %s: %s", d.Profile().Status, d.Profile().About)})
	}
	return s
}

// aboutProgram is the configuration that the program knows by itself.
func aboutProgram() []Setting {
	s := []Setting{{"go", fmt.Sprintf("%s %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return s
	}
	for _, b := range info.Settings {
		switch b.Key {
		case "vcs.revision":
			s = append(s, Setting{"commit", b.Value})
		case "vcs.modified":
			if b.Value == "true" {
				s = append(s, Setting{"tree", "modified since that commit"})
			}
		}
	}
	return s
}

// startCPU starts the CPU profile, where it is wanted and can be had.
func (l *logbook) startCPU(ctx context.Context, wanted bool) *bytes.Buffer {
	if !wanted {
		return nil
	}
	out := &bytes.Buffer{}
	if err := pprof.StartCPUProfile(out); err != nil {
		l.rec.Warnings = append(l.rec.Warnings, fmt.Sprintf("no CPU profile: %v", err))
		return nil
	}
	l.base, l.labels = ctx, map[string]context.Context{}
	l.label("")
	return out
}

// abandon ends what an op that never returned has left on: it panicked, or ended
// its goroutine as testing.T.Fatal does. After others it does nothing.
func (l *logbook) abandon(cpu *bytes.Buffer) {
	if !l.on {
		return
	}
	l.on = false
	if cpu != nil {
		pprof.StopCPUProfile()
		pprof.SetGoroutineLabels(l.base)
	}
	if l.ops != nil {
		l.ops.Stop(&Recording{})
	}
}

// ownFrames matches what recording itself runs.
var ownFrames = regexp.MustCompile(`^gputax/profiles\.\(\*logbook\)\.`)

// stopCPU ends the CPU profile and takes the recording's own samples out of it.
func (l *logbook) stopCPU(out *bytes.Buffer) error {
	if out == nil {
		return nil
	}
	pprof.StopCPUProfile()
	pprof.SetGoroutineLabels(l.base)
	l.labels = nil
	p, err := profile.Parse(out)
	if err != nil {
		return fmt.Errorf("CPU profile: %w", err)
	}
	p.FilterSamplesByName(nil, ownFrames, nil, nil)
	var clean bytes.Buffer
	if err := p.Write(&clean); err != nil {
		return fmt.Errorf("CPU profile: %w", err)
	}
	l.rec.CPU = clean.Bytes()
	return nil
}

// heapProfile is the heap as it is now.
func heapProfile() ([]byte, error) {
	runtime.GC()
	var out bytes.Buffer
	if err := pprof.WriteHeapProfile(&out); err != nil {
		return nil, fmt.Errorf("heap profile: %w", err)
	}
	return out.Bytes(), nil
}
