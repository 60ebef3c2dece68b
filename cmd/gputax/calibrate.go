package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
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
time of every kernel that the trainer's variants launch. It does so in several
processes, one after the other, and takes the median of each figure: what a
launch costs differs from one process to the next. A simulated device runs by
it: -device sim:FILE.

  gputax calibrate -device cuda:0 -name mycard -o mycard.json`

// calibrateCommand is gputax calibrate.
func calibrateCommand(ctx context.Context, stdout, stderr io.Writer, args []string) (err error) {
	var (
		f         = newFlags("calibrate")
		dev       = f.String("device", "cuda:0", "measure this device")
		name      = f.String("name", "", "the profile's `name` (required): the device will be sim:NAME")
		path      = f.String("o", "", "write the profile to this `FILE`, which must not exist (required)")
		rounds    = f.Int("rounds", 9, "measure everything `N` times a process")
		processes = f.Int("processes", 5, "measure in `N` processes; 1 measures in this one")
	)
	if err := parse(f, calibrateAbout, stdout, args); err != nil {
		return err
	}
	if *name == "" || *path == "" {
		return errors.New("-name and -o are required")
	}
	if err := sim.CheckName(*name); err != nil {
		return fmt.Errorf("-name: %w", err)
	}
	if *rounds < 1 || *processes < 1 {
		return fmt.Errorf("-rounds %d -processes %d: want at least 1", *rounds, *processes)
	}
	if _, err := os.Lstat(*path); err == nil {
		return fmt.Errorf("-o %s: it exists; move it away or choose another", *path)
	}
	var p *sim.Profile
	if *processes == 1 {
		signal.Reset() // nothing to keep: a signal ends it at once
		p, err = calibrateHere(stderr, *dev, *name, *rounds)
	} else {
		p, err = calibrateApart(ctx, stderr, *processes, *dev, *name, *rounds)
	}
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
	fmt.Fprintf(stdout, "%d constants and %d kernel times of %s in %s; use it as -device sim:%s\n", len(p.From), len(p.Kernels), p.About, *path, *path)
	return nil
}

// calibrateHere measures in this process.
func calibrateHere(stderr io.Writer, dev, name string, rounds int) (p *sim.Profile, err error) {
	d, err := openNamed(dev)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	about := d.Name()
	if n, ok := d.(interface{ Describe() string }); ok {
		about = n.Describe()
	}
	item, items, err := hostLoop()
	if err != nil {
		return nil, err
	}
	workloads := variantSteps()
	line := newProgress(stderr, 7+len(workloads))
	defer line.clear()
	return profiles.Calibrate(profiles.Calibration{
		Dev: d, Name: name, About: about + ", driven from Go without cgo", Date: time.Now().UTC().Format(time.DateOnly),
		Rounds: rounds, Workloads: workloads, Item: item, Items: items, Progress: line.step,
	})
}

// calibrateApart measures in n processes, one after the other.
func calibrateApart(ctx context.Context, stderr io.Writer, n int, dev, name string, rounds int) (p *sim.Profile, err error) {
	d, err := openNamed(dev) // what cannot be measured is said at once
	if err != nil {
		return nil, err
	}
	if err := errors.Join(profiles.Measurable(d), d.Close()); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gputax-calibrate")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var all []*sim.Profile
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		var said bytes.Buffer
		child := exec.CommandContext(ctx, self, "calibrate", "-device", dev, "-name", name, "-rounds", strconv.Itoa(rounds), "-processes", "1", "-o", file)
		child.Stderr = &said
		fmt.Fprintf(stderr, "process %d of %d\n", i+1, n)
		if err := child.Run(); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("process %d: %w: %s", i+1, err, strings.TrimSpace(said.String()))
		}
		one, err := profiles.Device(file)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return sim.Median(all...)
}

// variantSteps is one step of every variant that runs on a device, and of those
// with tensor cores also one without: ablations mix them.
func variantSteps() []profiles.Workload {
	var all []profiles.Workload
	for _, v := range trainer.Variants {
		factors, err := v.Factors()
		if err != nil || factors.Engine != "kernels" {
			continue
		}
		all = append(all, oneStep(v.Name, factors))
		if factors.TF32 {
			factors.TF32 = false
			all = append(all, oneStep(v.Name+" without tensor cores", factors))
		}
	}
	return all
}

// oneStep is one step with these factors.
func oneStep(name string, factors trainer.Factors) profiles.Workload {
	return profiles.Workload{Name: name, Run: func(rec *device.Recorder) error {
		opt := trainer.Tiny()
		opt.Epoch = factors.Batch
		t, err := trainer.New(rec, opt, factors)
		if err != nil {
			return err
		}
		return errors.Join(t.Step(), t.Close())
	}}
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
