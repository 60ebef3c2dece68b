package gate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"gputax/bench"

	"golang.org/x/perf/benchfmt"
)

// Options say what is gated and how. The zero value gates all benchmarks by
// the default plan.
type Options struct {
	Plan  *Plan  // nil is DefaultPlan
	Bench string // a regular expression, as go test -bench takes it; empty for all
	// Compare has the minimum effects, what may be missing and what is accepted;
	// Alpha and Paired are the plan's.
	Compare bench.CompareOptions
	Phases  bool   // judge <phase>-ns/op too, beside the ns/op that they are part of
	All     bool   // time also where counters have failed already
	Seed    uint64 // of the order of runs
	CPUs    int    // GOMAXPROCS of the runs; 0 is this process's
	// Profiles is the directory for CPU profiles of both sides of benchmarks
	// that fail by time; empty takes none.
	Profiles string
	// Log is told what is going on, a line at a time, and Progress which run is
	// next; nil for nobody.
	Log      func(format string, args ...any)
	Progress func(format string, args ...any)
	// Control times a fixed piece of work; nil is a new [Control]'s Read.
	Control func() time.Duration
	// Now is the clock that the budget goes by; nil is time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Plan == nil {
		p := DefaultPlan()
		o.Plan = &p
	}
	if o.Bench == "" {
		o.Bench = "."
	}
	if o.CPUs == 0 {
		o.CPUs = runtime.GOMAXPROCS(0)
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if o.Control == nil {
		o.Control = NewControl().Read
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Run gates head by base: it runs every benchmark of both once, judges their
// exact units, samples the others in alternation until they are decided, takes
// fresh samples of those that would fail, and returns the verdict with all it
// rests on. It is an error if benchmarks cannot be run or compared; a
// regression is none.
func Run(ctx context.Context, base, head Side, opt Options) (*Report, error) {
	opt = opt.withDefaults()
	if err := opt.Plan.Check(); err != nil {
		return nil, err
	}
	g := &gate{
		Options: opt, plan: opt.Plan, sides: [2]Side{base, head}, suffix: cpuSuffix(opt.CPUs), start: opt.Now(),
		random: rand.New(rand.NewPCG(opt.Seed, 0)), exact: map[string]bool{},
		first: [2]map[id]*benchfmt.Result{{}, {}}, again: [2]map[id]*benchfmt.Result{{}, {}}, states: map[rowID]*state{},
	}
	if err := g.survey(ctx); err != nil {
		return nil, err
	}
	exact, err := g.judgeExact(ctx)
	if err != nil {
		return nil, err
	}
	switch failed := len(exact.Failed()); {
	case failed == 0 || g.All:
		if err := g.judgeTimes(ctx); err != nil {
			return nil, err
		}
	default:
		g.Log("times are not taken: %s already", count(failed, "row fails", "rows fail"))
		g.skipped = len(g.timed) > 0
	}
	report, err := g.report()
	if err != nil {
		return nil, err
	}
	return report, g.profile(ctx, report)
}

// gate is one gate under way.
type gate struct {
	Options
	plan   *Plan
	sides  [2]Side
	suffix string
	start  time.Time
	random *rand.Rand

	order    []id                        // benchmarks of both sides, as they were found
	units    [2][]*benchfmt.UnitMetadata // what each side announces
	exact    map[string]bool             // units that are exact
	first    [2]map[id]*benchfmt.Result  // each benchmark's first run
	again    [2]map[id]*benchfmt.Result  // the second, of those that would fail by the first
	timed    []id                        // benchmarks with rows to decide by statistics
	states   map[rowID]*state            // those rows
	phases   []*phase                    // the samples: the first, and those that confirm
	deadline time.Time                   // of timed runs
	skipped  bool                        // no times are judged, as exact rows fail
	moved    string                      // why the machine is called disturbed
}

// survey runs every benchmark of both sides once. That is enough for exact
// units, and tells which benchmarks there are.
func (g *gate) survey(ctx context.Context) error {
	for side, s := range g.sides {
		for _, pkg := range s.Packages() {
			g.Log("%s: one op of every benchmark of %s", sideNames[side], pkg)
			out, err := g.run(ctx, side, Request{Package: pkg, Bench: g.Bench, Time: "1x", Count: 1})
			if err != nil {
				return err
			}
			g.units[side] = append(g.units[side], out.units...)
			for _, key := range out.order {
				g.first[side][key] = out.results[key]
				if !slices.Contains(g.order, key) {
					g.order = append(g.order, key)
				}
			}
		}
	}
	for side := range g.first {
		if len(g.first[side]) == 0 {
			return fmt.Errorf("gate: %s has no benchmarks that match %q: there is nothing to compare", sideNames[side], g.Bench)
		}
	}
	return nil
}

// run runs one side and parses what it printed.
func (g *gate) run(ctx context.Context, side int, r Request) (*output, error) {
	r.CPUs = g.CPUs
	text, err := g.sides[side].Run(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sideNames[side], err)
	}
	out, err := parse(text, r.Package, g.suffix)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sideNames[side], err)
	}
	return out, nil
}

// judgeExact compares the first runs, runs again what would fail, and notes
// which rows are left to statistics.
func (g *gate) judgeExact(ctx context.Context) (*bench.Comparison, error) {
	first, err := g.compare(nil, g.plan.Alpha())
	if err != nil {
		return nil, err
	}
	var again []id
	for i := range first.Rows {
		r := &first.Rows[i]
		key := g.rowID(r)
		switch {
		case r.Exact:
			g.exact[r.Unit] = true
			if r.Verdict == bench.RowWorse && !slices.Contains(again, key.id) {
				again = append(again, key.id)
			}
		case r.Verdict == bench.RowTooFew: // one sample decides no time
			g.states[key] = &state{}
			if !slices.Contains(g.timed, key.id) {
				g.timed = append(g.timed, key.id)
			}
		}
	}
	if len(again) == 0 {
		return first, nil
	}
	for _, key := range again {
		g.Log("again, as it would fail: %s", key.name)
		for side := range g.sides {
			out, err := g.run(ctx, side, Request{Package: key.pkg, Bench: Exactly(key.name), Time: "1x", Count: 1})
			if err != nil {
				return nil, err
			}
			if g.again[side][key] = out.results[key]; g.again[side][key] == nil {
				return nil, noResult(side, key)
			}
		}
	}
	return g.compare(nil, g.plan.Alpha())
}

// compare compares exact units by the first runs, and the others by pairs of
// runs: those of pairs, or the first runs where there are none.
func (g *gate) compare(pairs map[id][]pair, alpha float64) (*bench.Comparison, error) {
	var l ledger
	if err := l.announce(g.units); err != nil {
		return nil, err
	}
	exact := func(unit string) bool { return g.exact[baseUnit(unit)] }
	noisy := func(unit string) bool { return !exact(unit) && (g.Phases || !phaseTime(unit)) }
	for _, key := range g.order {
		for side := range g.sides {
			keep := func(unit string) bool { return exact(unit) || noisy(unit) && len(pairs[key]) == 0 }
			if err := l.add(side, g.first[side][key], keep); err != nil {
				return nil, err
			}
			if err := l.add(side, g.again[side][key], exact); err != nil {
				return nil, err
			}
			for _, p := range pairs[key] {
				if err := l.add(side, p.runs[side], noisy); err != nil {
					return nil, err
				}
			}
		}
	}
	return l.compare(g.Compare, alpha)
}

func noResult(side int, key id) error {
	return fmt.Errorf("%s: Benchmark%s of %s gave no result when it was run again by itself; it must not depend on other benchmarks, nor print to standard output", sideNames[side], key.name, key.pkg)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
