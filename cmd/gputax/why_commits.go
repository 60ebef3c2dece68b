package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"gputax/bench"
	"gputax/bench/gate"
)

// commitsFlags is which two commits are explained, and by which benchmarks.
type commitsFlags struct {
	base, head, bench, packages string
}

// whyCommits builds the benchmarks of two commits, runs both in alternation,
// and explains the differences.
func whyCommits(ctx context.Context, stdout, stderr io.Writer, o whyFlags) (err error) {
	p := newProgress(stderr, 0)
	defer p.clear()
	sides, err := gate.Open(ctx, gate.Checkouts{Dir: ".", Base: o.commits.base, Head: o.commits.head, Packages: splitList(o.commits.packages), Log: p.say})
	if err != nil {
		if e := (*gate.UnknownRefError)(nil); errors.As(err, &e) {
			return fmt.Errorf("-base: %w%s", err, suggest(e.Ref, e.Known))
		}
		return err
	}
	defer func() { err = errors.Join(err, sides.Close()) }()
	pair := &sidePair{sides: sides, o: &o, show: p.show}
	if err := pair.run(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gputax-why-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.results.oldCPU, o.results.newCPU, err = pair.profile(ctx, dir); err != nil {
		return err
	}
	p.clear()
	return whyResults(stdout, stderr, o.results, o.out, &pair.old, &pair.new)
}

// sidePair runs the benchmarks of two sides.
type sidePair struct {
	sides    *gate.Sides
	o        *whyFlags
	show     func(format string, args ...any)
	old, new bench.Results
}

// run runs every package of both sides in rounds, the sides in alternation;
// once is enough where all times are simulated.
func (s *sidePair) run(ctx context.Context) error {
	for round := range s.o.rounds {
		order := []int{0, 1}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, pkg := range s.sides.Head.Packages() {
			if !slices.Contains(s.sides.Base.Packages(), pkg) {
				continue
			}
			s.show("round %d of %d: %s", round+1, s.o.rounds, pkg)
			for _, i := range order {
				if err := s.once(ctx, i, pkg, ""); err != nil {
					return err
				}
			}
		}
		if allSimulated(&s.old) && allSimulated(&s.new) {
			break
		}
	}
	return nil
}

// once runs the benchmarks of a package on side 0, the base, or 1, and keeps
// their results; with a CPU profile it only profiles.
func (s *sidePair) once(ctx context.Context, side int, pkg, profile string) error {
	built, name, to := s.sides.Base, s.sides.BaseName, &s.old
	if side == 1 {
		built, name, to = s.sides.Head, s.sides.HeadName, &s.new
	}
	out, err := built.Run(ctx, gate.Request{Package: pkg, Bench: s.o.commits.bench, Time: s.o.per.String(), Count: 1, CPUs: runtime.GOMAXPROCS(0), CPUProfile: profile})
	if err != nil || profile != "" {
		return err
	}
	if err := to.Read(bytes.NewReader(out), name); err != nil {
		return fmt.Errorf("%w; -bench %q chose them in %s", err, s.o.commits.bench, pkg)
	}
	return nil
}

// allSimulated says that no benchmark has a measured time.
func allSimulated(r *bench.Results) bool {
	return !slices.ContainsFunc(r.Benchmarks(), func(name string) bool { return len(r.Samples(name, "ns/op")) > 0 })
}

// profile takes a CPU profile of each side where one benchmark was run and its
// time is measured; else there are none.
func (s *sidePair) profile(ctx context.Context, dir string) (oldCPU, newCPU string, err error) {
	if len(s.old.Benchmarks()) != 1 || len(s.new.Benchmarks()) != 1 || allSimulated(&s.old) {
		return "", "", nil
	}
	paths := [2]string{filepath.Join(dir, "old.pb.gz"), filepath.Join(dir, "new.pb.gz")}
	for side, path := range paths {
		s.show("CPU profile %d of 2", side+1)
		for _, pkg := range s.sides.Head.Packages() {
			err = errors.Join(err, s.once(ctx, side, pkg, path))
		}
	}
	return paths[0], paths[1], err
}
