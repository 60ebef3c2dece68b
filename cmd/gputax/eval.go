package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"time"

	"gputax/device"
	"gputax/model"
	"gputax/trainer"
)

const evalAbout = `Evaluates trained parameters on a fixed set of instances: the mean length of the
greedy routes and of the best of K sampled ones. Every route is held to the
rules. Published for 10 customers and capacity 20 (Nazari et al. 2018):
Clarke-Wright 5.06, RL greedy 4.84, RL beam of ten 4.68, OR-Tools 4.67,
optimal 4.55.`

// evalCommand is gputax eval.
func evalCommand(_ context.Context, stdout, _ io.Writer, args []string) (err error) {
	var (
		f         = newFlags("eval")
		path      = f.String("params", "gputax-train/"+checkpointName, "parameters or checkpoint `FILE`")
		dev       = f.String("device", "host", "evaluate on this device")
		instances = f.Int("instances", 10000, "evaluate on this many `instances`")
		samples   = f.Int("samples", 10, "best of `K` sampled routes; 0 for none")
	)
	if err := parse(f, evalAbout, stdout, args); err != nil {
		return err
	}
	signal.Reset() // nothing to keep: a signal ends it at once
	if *instances < 1 || *samples < 0 {
		return fmt.Errorf("-instances %d, -samples %d: want at least 1 and 0", *instances, *samples)
	}
	cfg, params, err := model.Load(*path)
	if err != nil {
		return err
	}
	d, err := openNamed(*dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	rec := device.NewRecorder(d)
	e, err := trainer.NewEvaluator(rec, cfg, min(*instances, 1000))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	buf, err := rec.Alloc(4 * len(params))
	if err != nil {
		return err
	}
	if err := rec.Upload(buf, device.Bytes(params)); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d instances of %d customers, capacity %d\n", *instances, cfg.Customers, cfg.Capacity)
	start := time.Now()
	costs, err := e.Greedy(buf, trainer.TestSet, 0, *instances)
	if err != nil {
		return err
	}
	report(stdout, "greedy", costs, start)
	if *samples == 0 {
		return nil
	}
	start = time.Now()
	if costs, err = e.Best(buf, trainer.TestSet, 0, *instances, *samples); err != nil {
		return err
	}
	report(stdout, fmt.Sprintf("best of %d samples", *samples), costs, start)
	return nil
}

// report prints a mean with its standard error.
func report(w io.Writer, name string, costs []float32, start time.Time) {
	mean, stderr := trainer.MeanError(costs)
	fmt.Fprintf(w, "%-20s mean %.4f +- %.4f  in %.1f s\n", name, mean, stderr, time.Since(start).Seconds())
}
