package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gputax/bench"
	"gputax/bench/gate"
)

// defaultBench is quick benchmarks on the host, of different kinds.
const defaultBench = `Cost/^variant=(loop|per_route|padded)$/^device=host$/^batch=128$|` +
	`Transfer/^variant=round_trip$/^device=host$/^batch=128$|Launch/^variant=(launch|graph)$/^device=host$`

// The units under which samples keep a run's whole time in nanoseconds, and
// which of its side's binaries ran.
const (
	wallUnit   = "wall"
	layoutUnit = "layout"
)

// roundPairs is how many pairs of a benchmark are taken before the next round
// over all: one of each layout.
var roundPairs = 2 * gate.DefaultPlan().Layouts

// collect gates the working tree by itself, linked twice, round after round,
// and keeps the pairs.
func collect(ctx context.Context, s *study) (err error) {
	temp, err := os.MkdirTemp("", "gputax-study-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	built, err := gate.Build(ctx, gate.Source{Name: "study", Dir: ".", Patterns: []string{"./bench"}, Out: temp})
	if err != nil {
		return err
	}
	plan := gate.DefaultPlan()
	plan.Budget, plan.Pairs = 24*time.Hour, []int{roundPairs}
	plan.Layouts *= 2      // those of the first samples, and those that confirm
	plan.Disturbed = 0.999 // samples are wanted whatever the machine does
	opt := gate.Options{Plan: &plan, Bench: s.bench,
		Compare: bench.CompareOptions{MinEffect: map[string]float64{"": 9}}, // nothing is to be confirmed
		Log:     func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	var old, new gate.Samples
	taken, dropped := 0, 0
	for start := time.Now(); time.Since(start) < s.time; opt.Log = nil {
		opt.Seed++
		report, err := gate.Run(ctx, relinked{built, 0}, relinked{built, 1000}, opt)
		if err != nil {
			return err
		}
		taken, dropped = taken+report.Taken, dropped+report.Dropped
		if old.Results == nil {
			old, new = report.Old, report.New
		} else {
			old.Results, new.Results = append(old.Results, report.Old.Results...), append(new.Results, report.New.Results...)
		}
		for name, side := range map[string]*gate.Samples{"old.txt": &old, "new.txt": &new} {
			var out bytes.Buffer
			if err := side.Write(&out); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(s.dir, name), out.Bytes(), 0o666); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "%v: %d pairs of runs, %d of them taken again as the machine was not calm\n", time.Since(start).Round(time.Second), taken, dropped)
	}
	fmt.Printf("samples are in %s\n", s.dir)
	return nil
}

// relinked is a side in layouts of its own, that notes how long runs take.
type relinked struct {
	*gate.Built
	layouts int
}

func (r relinked) Link(ctx context.Context, pkg string, layout int) error {
	return r.Built.Link(ctx, pkg, layout+r.layouts)
}

func (r relinked) Unlink(string, int) error { return nil } // there is another round

func (r relinked) Run(ctx context.Context, q gate.Request) ([]byte, error) {
	layout := q.Layout
	if layout != 0 {
		q.Layout += r.layouts
	}
	start := time.Now()
	text, err := r.Built.Run(ctx, q)
	took := time.Since(start).Nanoseconds()
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("Benchmark")) {
			line = fmt.Appendf(nil, "%s\t%d %s\t%d %s\n", bytes.TrimSpace(line), took, wallUnit, layout, layoutUnit)
		}
		out.Write(line)
	}
	return out.Bytes(), err
}
