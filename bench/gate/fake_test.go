package gate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gputax/bench"
)

// fake is a side that makes its results up.
type fake struct {
	benches []fakeBench
	random  *rand.Rand
	world   *world
	side    int
	err     error
}

// fakeBench is a benchmark of a fake side. The line is what stands after the
// name and the number of ops, for the run asked for; empty is no result.
type fakeBench struct {
	name string
	line func(f *fake, r Request) string
}

// world is what the two fake sides of a test share.
type world struct {
	now   time.Time
	runs  []fakeRun
	last  int           // the side that ran last
	each  time.Duration // how long a run takes
	quiet time.Duration // the control's time; 0 is a millisecond
}

type fakeRun struct {
	side int
	Request
}

func (f *fake) Packages() []string { return []string{"example.com/p"} }

func (f *fake) Run(_ context.Context, r Request) ([]byte, error) {
	f.world.now = f.world.now.Add(f.world.each)
	f.world.runs = append(f.world.runs, fakeRun{f.side, r})
	f.world.last = f.side
	if f.err != nil {
		return nil, f.err
	}
	if r.CPUProfile != "" {
		if err := os.WriteFile(r.CPUProfile, []byte("profile"), 0o666); err != nil {
			return nil, err
		}
	}
	var out strings.Builder
	out.WriteString("Unit calls/op better=lower assume=exact\nUnit sim-ns/op better=lower assume=exact\npkg: example.com/p\n")
	for _, b := range f.benches {
		if r.Bench == "." || slices.Contains(strings.Split(r.Bench, "|"), Exactly(b.name)) {
			if line := b.line(f, r); line != "" {
				fmt.Fprintf(&out, "Benchmark%s-4\t1\t%s\n", b.name, line)
			}
		}
	}
	return []byte(out.String()), nil
}

// timed is a benchmark of a time with noise.
func timed(name string, ns, noise float64) fakeBench {
	return fakeBench{name, func(f *fake, _ Request) string {
		return fmt.Sprintf("%.6g ns/op", ns*math.Exp(noise*f.random.NormFloat64()))
	}}
}

// counted is a benchmark of an exact count.
func counted(name string, calls float64) fakeBench {
	return fakeBench{name, func(*fake, Request) string { return fmt.Sprintf("%g calls/op", calls) }}
}

// options are those of a test: no real clock, no real control.
func (w *world) options() Options {
	plan := DefaultPlan()
	return Options{Plan: &plan, CPUs: 4, Seed: 1,
		Now: func() time.Time { return w.now },
		Control: func() time.Duration {
			if w.quiet != 0 {
				return w.quiet
			}
			return time.Millisecond
		}}
}

// gateFakes gates head by base.
func gateFakes(t *testing.T, base, head []fakeBench, change func(w *world, o *Options)) (*Report, *world) {
	t.Helper()
	w := &world{now: time.Unix(0, 0), each: 50 * time.Millisecond}
	sides := [2]*fake{{benches: base}, {benches: head}}
	for side, f := range sides {
		f.side, f.world, f.random = side, w, rand.New(rand.NewPCG(7, uint64(side)))
	}
	opt := w.options()
	if change != nil {
		change(w, &opt)
	}
	r, err := Run(t.Context(), sides[0], sides[1], opt)
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// row finds a row of a report.
func row(t *testing.T, r *Report, name, unit string) bench.Row {
	t.Helper()
	for _, row := range r.Comparison.Rows {
		if row.Benchmark == name+"-4" && (row.Written == unit || row.Unit == unit) {
			return row
		}
	}
	t.Fatalf("no row %s %s in %+v", name, unit, r.Comparison.Rows)
	return bench.Row{}
}
