package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gputax/bench/gate"
)

// liveSource is benchmarks of different kinds of work, a thousand units of each
// an op; %d units of the first.
const liveSource = `package live

import (
	"slices"
	"testing"
)

var sink int

func BenchmarkArithmetic(b *testing.B) {
	for b.Loop() {
		x := uint32(1)
		for range %d {
			for range 10 {
				x = x*1664525 + 1013904223
			}
		}
		sink += int(x)
	}
}

func BenchmarkMemory(b *testing.B) {
	data := make([]int, 1<<14)
	for b.Loop() {
		for i := range 1000 {
			for j := range 16 {
				sink += data[(i*16+j)*7%%len(data)]
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	data, work := make([]int, 100), make([]int, 100)
	for i := range data {
		data[i] = i * 7919 %% 101
	}
	for b.Loop() {
		for range 10 {
			copy(work, data)
			slices.Sort(work)
		}
	}
}

func BenchmarkAllocate(b *testing.B) {
	for b.Loop() {
		m := map[int]int{}
		for i := range 100 {
			m[i] = i
		}
		sink += len(m)
	}
}
`

// live gates a slowdown of 5% that is in the code, for real, over and over.
func live(ctx context.Context, s *study) (err error) {
	dir, err := os.MkdirTemp("", "gputax-live-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := liveRepository(ctx, dir); err != nil {
		return err
	}
	sides, err := gate.Open(ctx, gate.Checkouts{Dir: dir, Base: "HEAD", Packages: []string{"."}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sides.Close()) }()
	s.header("Live: 5% more work in one of four benchmarks, gated for real.", "live")
	caught, wrong := 0, 0
	for i := range s.trials {
		r, err := gate.Run(ctx, sides.Base, sides.Head, gate.Options{Seed: s.seed + uint64(i)})
		if err != nil {
			return err
		}
		for _, row := range r.Comparison.Failed() {
			if strings.HasPrefix(row.Benchmark, "Arithmetic") {
				caught++
			} else {
				wrong++
			}
		}
		first := r.Comparison.Rows[0]
		fmt.Printf("  %d: %v: %+.1f%% in %d pairs %s; %v in all, %d of %d pairs dropped %s\n", i+1, first.Verdict, 100*first.Delta, first.New.N,
			first.Note, r.Took.Round(1e9), r.Dropped, r.Taken, r.Disturbed)
	}
	fmt.Printf("%d of %d caught; %d false failures of %d other rows\n", caught, s.trials, wrong, 3*s.trials)
	return nil
}

// liveRepository makes a repository whose working tree has 5% more work.
func liveRepository(ctx context.Context, dir string) error {
	write := func(name, text string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) }
	if err := errors.Join(write("go.mod", "module example.com/live\n\ngo 1.24\n"), write("live_test.go", fmt.Sprintf(liveSource, 1000))); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=study", "-c", "user.email=study@example.com", "commit", "-q", "-m", "base"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return write("live_test.go", fmt.Sprintf(liveSource, 1050))
}
