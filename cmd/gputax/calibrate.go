package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"gputax/cost"
	"gputax/device"
	"gputax/device/sim"
	"gputax/profiles"
	"gputax/trainer"
	"gputax/vrp"
)

const calibrateAbout = `Measures a device profile on the device there is and writes it to FILE: launches,
syncs, copies by kind, graphs, allocations, rates, the host's own rates, and the
time of every kernel that the trainer's variants launch. A simulated device runs
by it: -device sim:FILE.

  gputax calibrate -device cuda:0 -name mycard -o mycard.json`

// calibrateCommand is gputax calibrate.
func calibrateCommand(_ context.Context, stdout, stderr io.Writer, args []string) (err error) {
	var (
		f      = newFlags("calibrate")
		dev    = f.String("device", "cuda:0", "measure this device")
		name   = f.String("name", "", "the profile's `name` (required): the device will be sim:NAME")
		path   = f.String("o", "", "write the profile to this `FILE`, which must not exist (required)")
		rounds = f.Int("rounds", 9, "measure everything `N` times")
	)
	if err := parse(f, calibrateAbout, stdout, args); err != nil {
		return err
	}
	signal.Reset() // nothing to keep: a signal ends it at once
	if *name == "" || *path == "" {
		return errors.New("-name and -o are required")
	}
	if err := sim.CheckName(*name); err != nil {
		return fmt.Errorf("-name: %w", err)
	}
	if _, err := os.Lstat(*path); err == nil {
		return fmt.Errorf("-o %s: it exists; move it away or choose another", *path)
	}
	d, err := openNamed(*dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	about := d.Name()
	if n, ok := d.(interface{ Describe() string }); ok {
		about = n.Describe()
	}
	item, items, err := hostLoop()
	if err != nil {
		return err
	}
	workloads := variantSteps()
	line := newProgress(stderr, 7+len(workloads))
	p, err := profiles.Calibrate(profiles.Calibration{
		Dev: d, Name: *name, About: about + ", driven from Go without cgo", Date: time.Now().UTC().Format(time.DateOnly),
		Rounds: *rounds, Workloads: workloads, Item: item, Items: items, Progress: line.step,
	})
	line.clear()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(*path, text.Bytes(), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d constants and %d kernel times of %s in %s; use it as -device sim:%s\n", len(p.From), len(p.Kernels), about, *path, *path)
	return nil
}

// variantSteps is one step of every variant that runs on a device.
func variantSteps() []profiles.Workload {
	var all []profiles.Workload
	for _, v := range trainer.Variants {
		factors, err := v.Factors()
		if err != nil || factors.Engine != "kernels" {
			continue
		}
		all = append(all, profiles.Workload{Name: v.Name, Run: func(rec *device.Recorder) error {
			opt := trainer.Tiny()
			opt.Epoch = factors.Batch
			t, err := trainer.New(rec, opt, factors)
			if err != nil {
				return err
			}
			return errors.Join(t.Step(), t.Close())
		}})
	}
	return all
}

// hostLoop is the plain loop that prices a scalar step of the host.
func hostLoop() (loop func(), steps int, err error) {
	batch, err := vrp.Generate(128, vrp.Sizes[0], 1)
	if err != nil {
		return nil, 0, err
	}
	routes, costs := batch.RandomRoutes(1), make([]float32, 128)
	return func() { cost.Loop(costs, batch.Dist, batch.Nodes(), routes) }, routes.Edges(), nil
}
