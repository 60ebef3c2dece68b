package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"gputax/bench"
	"gputax/device"
	"gputax/profiles"
	"gputax/profiles/kineto"
	"gputax/profiles/nsys"
)

// importFlags is how recordings of other profilers are read, by every command
// that reads them.
type importFlags struct {
	step  string
	skip  int
	times bool

	warn  io.Writer           // is told what the recordings warn of; may be nil
	costs [eventCount][]int64 // of the recordings read so far, in ns; see hostCosts
}

// register adds the flags.
func (o *importFlags) register(f *flag.FlagSet) {
	f.StringVar(&o.step, "step", "", "of a trace or export, names of ranges that are steps match this `regexp` (default ProfilerStep#N and step N)")
	f.IntVar(&o.skip, "skip", 0, "of a trace or export, leave the first `N` steps out of the results: they warm up")
}

// timesFlag adds the flag for times, where they are not asked for anyway.
func (o *importFlags) timesFlag(f *flag.FlagSet) {
	f.BoolVar(&o.times, "times", false, "of a trace or export, take times too: one sample a step, of a run that was profiled")
}

// largeFile is from where on memory is saved at the price of time.
const largeFile = 64 << 20

// read reads a recording.
func (o *importFlags) read(path string, kind importKind) (*profiles.Recording, error) {
	if o.skip < 0 {
		return nil, fmt.Errorf("-skip %d: want 0 or more", o.skip)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > largeFile {
		// A recording is large pieces without pointers: collecting more often
		// costs little, and by default as much again would be garbage.
		debug.SetGCPercent(10)
	}
	rec, err := kind.read(path, o.step)
	if err != nil {
		return nil, err
	}
	if o.skip > 0 && o.skip >= len(rec.Steps) {
		return nil, fmt.Errorf("%s: -skip %d: there are %d steps", path, o.skip, len(rec.Steps))
	}
	rec.Config = append(rec.Config, deviceTotals(rec)...)
	if why, unseen := rec.Source.Unseen[profiles.StepBounds]; unseen {
		rec.Warnings = append(rec.Warnings, "the whole counts as one step: "+why+"; -step names other ranges")
	}
	rec.Warnings = append(rec.Warnings, unsteady(rec, o.skip)...)
	return rec, nil
}

// importKind is one kind of recording that others make.
type importKind struct {
	name string
	is   func(head []byte) bool
	read func(path, step string) (*profiles.Recording, error)
}

var (
	nsysExport = importKind{"Nsight Systems export", nsys.Is, func(path, step string) (*profiles.Recording, error) {
		return nsys.ReadFile(path, nsys.Options{Step: step})
	}}
	kinetoTrace = importKind{"torch.profiler trace", kineto.Is, func(path, step string) (*profiles.Recording, error) {
		return kineto.ReadFile(path, kineto.Options{Step: step})
	}}
)

// side reads a recording into a side of a comparison: a result a step.
func (k importKind) side(side *bench.Results, path string, o *importFlags) error {
	rec, err := o.read(path, k)
	if err != nil {
		return err
	}
	if o.warn != nil {
		for _, w := range rec.Warnings {
			fmt.Fprintf(o.warn, "%s: %s\n", path, w)
		}
	}
	if o.times {
		o.hostCosts(rec)
	}
	var text bytes.Buffer
	if err := rec.WriteBench(&text, profiles.BenchOptions{Skip: o.skip, Times: o.times, NoOps: true}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return side.Read(&text, path)
}

// unsteady says which counters are not the same in every step after the first.
func unsteady(rec *profiles.Recording, skip int) (out []string) {
	steps := rec.StepTotals()[skip:]
	for c := range len(device.Counters{}) {
		var values []int64
		for _, s := range steps {
			values = append(values, s.Counters[c])
		}
		if len(values) == 0 {
			continue
		}
		if least, most := slices.Min(values), slices.Max(values); least != most {
			out = append(out, fmt.Sprintf("%s differs from step to step, %d to %d: it is compared as a time is, by statistics; -skip leaves steps out that warm up",
				device.Counter(c).Unit(), least, most))
		}
	}
	return out
}

// deviceTotals is what each device did, where there are several.
func deviceTotals(rec *profiles.Recording) (out []profiles.Setting) {
	type total struct {
		kernels, copies, bytes int64
		busy                   time.Duration
	}
	var all [256]total
	devices := 0
	for _, o := range rec.Ops.All() {
		t := &all[o.Device]
		if *t == (total{}) {
			devices++
		}
		switch o.Kind {
		case profiles.OpKernel:
			t.kernels++
		case profiles.OpCopy:
			t.copies++
			t.bytes += o.Bytes
		}
		t.busy += time.Duration(o.Dur)
	}
	for i, t := range all {
		if devices > 1 && t != (total{}) {
			out = append(out, profiles.Setting{Key: fmt.Sprintf("gpu %d", i),
				Value: fmt.Sprintf("%d kernels, %d copies of %d bytes, %s of work", t.kernels, t.copies, t.bytes, timeText(float64(t.busy)))})
		}
	}
	return out
}
