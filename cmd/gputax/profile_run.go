package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/sim"
	"gputax/profiles"
	"gputax/trainer"
)

// workload is an epoch that can be run over and over, each time on a device of
// its own.
type workload struct {
	device  string
	opt     trainer.Options
	factors trainer.Factors
}

// capture records a variant.
func (o *profileFlags) capture(ctx context.Context, variant string, prices *sim.Profile, p *progress) (*profiles.Folder, *sim.Profile, error) {
	defer p.clear()
	variant = strings.Join(append([]string{variant}, o.set...), "+")
	w, err := o.workload(variant)
	if err != nil {
		return nil, nil, err
	}
	dev, err := openNamed(w.device)
	if err != nil {
		return nil, nil, err
	}
	defer dev.Close()
	opt, warnings := o.options(dev)
	opt.Config = o.config(w, variant)
	p.step(fmt.Sprintf("record %s on %s", variant, w.device))
	rec, _, err := w.capture(ctx, dev, opt)
	if err != nil {
		return nil, nil, err
	}
	rec.Warnings = append(rec.Warnings, warnings...)
	if _, ordinal, ok := strings.Cut(w.device, "cuda:"); ok {
		for _, c := range gpuConfig(ctx, ordinal) {
			rec.Config = append(rec.Config, profiles.Setting{Key: c.Key, Value: string(c.Value)})
		}
	}
	if !hasSetting(rec.Config, "commit") {
		rec.Config = append(rec.Config, commit(ctx)...)
	}
	folder := &profiles.Folder{Recording: rec, Title: variant + " on " + dev.Name(),
		Bench: profiles.BenchOptions{Times: rec.Clock == device.Virtual, Labels: fmt.Sprintf("variant=%s/batch=%d/n=%d",
			variant, w.factors.Batch, w.opt.Model.Customers)}}
	p.step("measure what recording costs")
	if folder.Overheads, err = w.overheads(ctx, opt, o.overhead); err != nil {
		return nil, nil, fmt.Errorf("measure what recording costs: %w", err)
	}
	p.step("write " + o.dir)
	if prices == nil {
		prices = deviceProfile(dev)
	}
	return folder, prices, nil
}

// workload is what to run of VARIANT[+KEY=VALUE...].
func (o *profileFlags) workload(variant string) (w workload, err error) {
	w = workload{device: o.device, opt: trainer.Tiny()}
	if w.factors, err = trainer.ParseFactors(variant); err != nil {
		name, _, _ := strings.Cut(variant, "+")
		if slices.Contains(variantNames(), name) {
			return w, err // of a factor
		}
		return w, fmt.Errorf("%w%s", err, suggest(name, variantNames()))
	}
	if !o.full {
		w.opt.Epoch = o.steps * w.factors.Batch
	}
	if w.device != "" {
		return w, nil
	}
	w.device = "sim:h200"
	there, err := available()
	if slices.Contains(there, "cuda:0") {
		w.device = "cuda:0"
	}
	return w, err
}

// options is what is recorded on a device, and what a reader should know of it.
func (o *profileFlags) options(dev device.Device) (opt profiles.CaptureOptions, warnings []string) {
	virtual := dev.Clock() == device.Virtual
	opt = profiles.CaptureOptions{Contents: virtual || o.contents, Mallocs: virtual || o.contents, CPU: true, Heap: true}
	if strings.HasPrefix(dev.Name(), "cuda:") {
		ops, err := profiles.CUPTIOps()
		if err != nil {
			return opt, []string{fmt.Sprintf("without CUPTI: %v", err)}
		}
		opt.Ops = ops
	}
	return opt, nil
}

// config is what the recording is of.
func (o *profileFlags) config(w workload, variant string) []profiles.Setting {
	factors := w.factors.String()
	if factors == "" {
		factors = "those of cpu_loop"
	}
	return []profiles.Setting{
		{Key: "command", Value: o.command},
		{Key: "variant", Value: variant},
		{Key: "factors", Value: factors},
		{Key: "workload", Value: fmt.Sprintf("batch %d, %d customers, %d steps", w.factors.Batch, w.opt.Model.Customers, w.opt.Epoch/w.factors.Batch)},
	}
}

// deviceProfile is the profile that describes a device; nil where none does.
func deviceProfile(dev device.Device) *sim.Profile {
	if d, ok := dev.(*sim.Device); ok {
		return d.Profile()
	}
	if d, ok := dev.(interface{ Describe() string }); ok && strings.Contains(d.Describe(), "H200") {
		if p, err := profiles.Device("h200"); err == nil {
			return p
		}
	}
	return nil
}

// epoch is a workload on one recorder.
type epoch struct {
	workload
	ctx     context.Context
	trainer *trainer.Trainer
	took    time.Duration // wall time of the last op
}

// setUp makes the trainer, and has done a step before the first.
func (e *epoch) setUp(rec *device.Recorder) (err error) {
	if e.trainer, err = trainer.New(rec, e.opt, e.factors); err != nil {
		return err
	}
	err = errors.Join(e.trainer.Step(), e.trainer.Rewind(), rec.Drain())
	runtime.GC() // so that it falls into no epoch for what another left
	return err
}

// op trains for an epoch.
func (e *epoch) op(rec *device.Recorder) error {
	start := time.Now()
	_, err := e.trainer.EpochContext(e.ctx)
	err = errors.Join(err, rec.Drain())
	e.took = time.Since(start)
	return err
}

func (e *epoch) close() error {
	if e.trainer == nil {
		return nil
	}
	return e.trainer.Close()
}

// capture records the epoch on dev, and says how long it took by the clock on
// the wall.
func (w workload) capture(ctx context.Context, dev device.Device, opt profiles.CaptureOptions) (*profiles.Recording, time.Duration, error) {
	e := &epoch{workload: w, ctx: ctx}
	opt.Setup = e.setUp
	rec, err := profiles.Capture(ctx, dev, opt, e.op)
	if rec != nil {
		rec.EpochSteps = trainer.Tiny().Epoch / w.factors.Batch
	}
	return rec, e.took, errors.Join(err, e.close())
}

// time is how long the epoch takes on a device of its own, recorded as opt says
// or, where opt is nil, not at all.
func (w workload) time(ctx context.Context, opt *profiles.CaptureOptions) (took time.Duration, err error) {
	dev, err := catalog.Open(w.device)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	if opt != nil {
		_, took, err = w.capture(ctx, dev, *opt)
		return took, err
	}
	e := &epoch{workload: w, ctx: ctx}
	rec := device.NewRecorder(dev)
	if err = e.setUp(rec); err == nil {
		err = e.op(rec)
	}
	return e.took, errors.Join(err, e.close())
}

// overheadBudget is after how long no further run is begun.
const overheadBudget = 10 * time.Second

// overheads is what recording costs: calls and ops alone, and all that opt
// says. Runs with and without take turns, so that a machine that slows down
// slows both.
func (w workload) overheads(ctx context.Context, opt profiles.CaptureOptions, runs int) ([]profiles.Overhead, error) {
	kinds := []struct {
		what string
		opt  *profiles.CaptureOptions
	}{{"", nil}, {"calls and ops", &profiles.CaptureOptions{Ops: opt.Ops}}, {"all that is in this profile", &opt}}
	times := make([][]time.Duration, len(kinds))
	start, done := time.Now(), 0
	for done < runs && (done == 0 || time.Since(start) < overheadBudget) {
		for i := range kinds {
			i = (i + done) % len(kinds) // each comes after each of the others
			t, err := w.time(ctx, kinds[i].opt)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
		done++
	}
	if done == 0 {
		return nil, nil
	}
	var out []profiles.Overhead
	for i, k := range kinds[1:] {
		out = append(out, profiles.Overhead{What: k.what, Without: slices.Min(times[0]), With: slices.Min(times[i+1]), Runs: done})
	}
	return out, nil
}
