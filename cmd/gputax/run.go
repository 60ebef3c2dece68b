package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gputax/bench"
	"gputax/device"
	"gputax/device/catalog"
)

const runAbout = `Runs the benchmark matrix on the devices there are, prints a table, and writes
every result to DIR/bench.txt in Go benchmark format, ready for benchstat. An
earlier bench.txt is kept beside it. Results are written one by one: what has
finished survives an interrupted run.

  gputax run                                      everything, on every device
  gputax run -device sim:a6000-pytorch -run Cost  one benchmark, one device
  gputax run -shard 2/8 -o part2                  the second of eight machines`

// runCommand is gputax run.
func runCommand(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	var (
		s    selection
		f    = newFlags("run")
		dir  = f.String("o", "gputax-out", "write results to this `directory`")
		list = f.Bool("list", false, "print the names that would run, and run nothing")
		n    = f.Int("count", 1, "take `N` samples of each, in as many rounds")
		per  = f.Duration("time", 100*time.Millisecond, "measure at least this long a sample, on real devices")
	)
	f.StringVar(&s.run, "run", "", "only names that match this `regexp`")
	f.StringVar(&s.variants, "variant", "", "only these variants (comma-separated `list`)")
	f.StringVar(&s.devices, "device", "", "on these devices (comma-separated `list`; default all there are)")
	f.BoolVar(&s.full, "full", false, "train whole epochs of the reference workload instead of two steps")
	f.StringVar(&s.shard, "shard", "", "only part `i/n` of the matrix, to split it over machines")
	if err := parse(f, runAbout, stdout, args); err != nil {
		return err
	}
	if *n < 1 {
		return fmt.Errorf("-count %d: want at least 1", *n)
	}
	jobs, err := plan(s)
	if err != nil {
		return err
	}
	if *list {
		for _, j := range jobs {
			fmt.Fprintln(stdout, "Benchmark"+j.name)
		}
		return nil
	}
	out, err := createOutput(*dir)
	if err != nil {
		return err
	}
	p := newProgress(stderr, len(jobs)**n)
	results, runErr := runJobs(ctx, jobs, *n, *per, out, p)
	p.clear()
	if err := out.close(); runErr == nil {
		runErr = err
	}
	printTables(stdout, results)
	if out.kept != "" {
		fmt.Fprintf(stdout, "\nThe earlier results are now %s.", out.kept)
	}
	fmt.Fprintf(stdout, "\n%d of %d results in %s; compare two such files with gputax compare or benchstat.\n", out.lines, len(jobs)**n, out.path)
	if errors.Is(runErr, context.Canceled) {
		return fmt.Errorf("interrupted; %d finished results are in %s", out.lines, out.path)
	}
	return runErr
}

// result is all samples of one job.
type result struct {
	job
	samples []bench.Sample
}

// runJobs runs every job n times and writes each sample as it is done. The
// samples of a job are a whole round apart, so that a machine that is slow for a
// while is slow for all of them alike. It returns what finished, also with an
// error.
func runJobs(ctx context.Context, jobs []job, n int, per time.Duration, out *output, p *progress) ([]result, error) {
	results := make([]result, len(jobs))
	for i, j := range jobs {
		results[i].job = j
	}
	finished := func() []result {
		return slices.DeleteFunc(results, func(r result) bool { return len(r.samples) == 0 })
	}
	for range n {
		for i, j := range jobs {
			p.step(j.name)
			s, err := runJob(ctx, j, per)
			if err == nil {
				err = out.write(ctx, j.name, s)
			}
			if err != nil {
				return finished(), fmt.Errorf("%s: %w", j.name, err)
			}
			for _, w := range s.Warnings {
				p.say("%s: %v", j.name, w)
			}
			results[i].samples = append(results[i].samples, s)
		}
	}
	return finished(), nil
}

// runJob takes one sample on a device of its own.
func runJob(ctx context.Context, j job, per time.Duration) (s bench.Sample, err error) {
	dev, err := catalog.Open(j.device)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	rec := device.NewRecorder(dev)
	w, err := j.Setup(rec)
	if err != nil {
		return s, err
	}
	s, err = bench.Measure(ctx, rec, per, w)
	if w.Close != nil {
		err = errors.Join(err, w.Close())
	}
	return s, err
}
