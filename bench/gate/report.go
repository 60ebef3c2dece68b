package gate

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gputax/bench"

	"golang.org/x/perf/benchfmt"
)

// Report is what a gate has found.
type Report struct {
	// Comparison has every row with the gate's verdict on it. Rows of times that
	// are not decided have the verdict too few, and a note that says why.
	Comparison *bench.Comparison
	// Disturbed says why the machine is called disturbed; empty where it is not.
	// No row of times is then decided.
	Disturbed string
	// Untimed says that exact rows fail, so that no times were taken.
	Untimed bool
	// Old and New are all results that count, in the order they were taken:
	// every pair of runs, or the first run of benchmarks that are not timed.
	Old, New Samples
	// Taken and Dropped count pairs of runs, and those of them that were taken
	// again because the machine was not calm.
	Taken, Dropped int
	Profiles       []Profile            // of benchmarks that fail by time
	Causes         []*bench.Explanation // of failures; whoever has prices of events fills them in
	Seed           uint64               // of the order of runs
	Took           time.Duration        // in all
}

// Samples is one side's results.
type Samples struct {
	units   []*benchfmt.UnitMetadata
	Results []*benchfmt.Result
}

// Write writes the results in Go benchmark format, for benchstat, gputax
// compare and gputax why.
func (s *Samples) Write(w io.Writer) error { return writeResults(w, s.units, s.Results) }

// Profile is the CPU profiles of a benchmark on both sides, as files for pprof.
type Profile struct {
	Package   string `json:"package"`
	Benchmark string `json:"benchmark"` // without the number of CPUs
	Old       string `json:"old"`
	New       string `json:"new"`
}

// Verdict is what the gate comes to.
func (r *Report) Verdict() bench.Verdict { return r.Comparison.Verdict() }

// pooledAlpha is that of the last comparison of all samples together. It only
// has to find no less than the gate, whose verdicts then replace its own.
const pooledAlpha = 0.5

// report puts together what the phases have found.
func (g *gate) report() (*Report, error) {
	r := &Report{Disturbed: g.moved, Untimed: g.skipped, Seed: g.Seed, Took: g.Now().Sub(g.start)}
	for _, p := range g.phases {
		r.Taken += p.taken
		r.Dropped += p.dropped
	}
	pairs := g.allPairs()
	for side, s := range []*Samples{&r.Old, &r.New} {
		s.units = g.units[side]
		for _, key := range g.order {
			if len(pairs[key]) == 0 && g.first[side][key] != nil {
				s.Results = append(s.Results, g.first[side][key])
			}
			for _, p := range pairs[key] {
				s.Results = append(s.Results, p.runs[side])
			}
		}
	}
	var err error
	if r.Comparison, err = g.compare(pairs, pooledAlpha); err != nil {
		return nil, err
	}
	r.Comparison.Alpha = g.plan.Alpha()
	if g.skipped {
		r.Comparison.Rows = slices.DeleteFunc(r.Comparison.Rows, func(row bench.Row) bool { return g.states[g.rowID(&row)] != nil })
		r.Comparison.Timed = 0
		return r, nil
	}
	for i := range r.Comparison.Rows {
		row := &r.Comparison.Rows[i]
		if s := g.states[g.rowID(row)]; s != nil && !row.Exact {
			g.settleRow(row, s)
		}
	}
	return r, nil
}

// settleRow gives a row of times the gate's verdict.
func (g *gate) settleRow(row *bench.Row, s *state) {
	switch {
	case g.moved != "":
		row.Verdict, row.Note, row.Need = bench.RowTooFew, "undecided: machine disturbed", g.plan.Pairs[0]
	case s.verdict == bench.RowWorse && row.Verdict == bench.RowAccepted:
		row.Note += "; " + s.note
	default:
		row.Verdict, row.Note = s.verdict, s.note
		if s.verdict != bench.RowTooFew {
			row.Need = 0
		}
	}
}

// mostProfiles is how many benchmarks are profiled.
const mostProfiles = 3

// profileTime is how long a benchmark runs for a profile, that is to show where
// a relative change is: until chance in the sampling, a hundred samples a
// second, is a third of it, within reason.
func profileTime(change float64) time.Duration {
	seconds := 2 * math.Pow(3/change, 2) / 100
	return time.Duration(max(1, min(30, math.Ceil(seconds)))) * time.Second
}

// profile takes CPU profiles of the benchmarks that fail by time.
func (g *gate) profile(ctx context.Context, r *Report) error {
	if g.Profiles == "" {
		return nil
	}
	var done []id
	for _, row := range r.Comparison.Failed() {
		key := g.rowID(&row).id
		if row.Exact || row.Verdict != bench.RowWorse || slices.Contains(done, key) || len(done) == mostProfiles {
			continue
		}
		done = append(done, key)
		took := profileTime(row.Delta)
		g.Log("profile of both sides, %v each: %s", took, key.name)
		if err := os.MkdirAll(g.Profiles, 0o777); err != nil {
			return err
		}
		p := Profile{Package: key.pkg, Benchmark: key.name}
		for side, path := range []*string{&p.Old, &p.New} {
			*path = filepath.Join(g.Profiles, fmt.Sprintf("%s.%s.pprof", fileName(key.name), sideNames[side]))
			full, err := filepath.Abs(*path) // benchmarks run in another directory
			if err != nil {
				return err
			}
			request := Request{Package: key.pkg, Bench: Exactly(key.name), Time: took.String(), Count: 1, CPUProfile: full}
			if _, err := g.run(ctx, side, request); err != nil {
				return err
			}
		}
		r.Profiles = append(r.Profiles, p)
	}
	return nil
}

// fileName is a benchmark's name as part of a file's.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '=', c == '-', c == '.':
			return c
		}
		return '_'
	}, name)
}
