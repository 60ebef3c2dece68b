package gate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"gputax/bench"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// id is a benchmark: its package, and its name without "Benchmark" and without
// the number of CPUs.
type id struct{ pkg, name string }

// output is what a run printed: for each benchmark its windows' median result,
// and what Unit lines said.
type output struct {
	order   []id
	results map[id]*benchfmt.Result
	units   []*benchfmt.UnitMetadata
}

// parse reads a run's output. The suffix is what names end in that tells the
// number of CPUs.
func parse(text []byte, pkg, suffix string) (*output, error) {
	out := &output{results: map[id]*benchfmt.Result{}}
	windows := map[id][]*benchfmt.Result{}
	lines := benchfmt.NewReader(bytes.NewReader(text), "the output of "+pkg)
	for lines.Scan() {
		switch rec := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("%w; does a benchmark print to standard output?", rec)
		case *benchfmt.UnitMetadata:
			out.units = append(out.units, rec)
		case *benchfmt.Result:
			key := id{pkg, strings.TrimSuffix(string(rec.Name), suffix)}
			if windows[key] == nil {
				out.order = append(out.order, key)
			}
			windows[key] = append(windows[key], rec.Clone())
		}
	}
	for key, results := range windows {
		slices.SortStableFunc(results, func(a, b *benchfmt.Result) int { return cmp.Compare(nanoseconds(a), nanoseconds(b)) })
		out.results[key] = results[(len(results)-1)/2]
	}
	return out, lines.Err()
}

// nanoseconds is a result's time an op, 0 where it has none.
func nanoseconds(r *benchfmt.Result) float64 {
	v, _ := r.Value("sec/op")
	return v * 1e9
}

func opTime(r *benchfmt.Result) time.Duration { return time.Duration(math.Round(nanoseconds(r))) }

// cpuSuffix is what testing adds to names for a number of CPUs.
func cpuSuffix(cpus int) string {
	if cpus == 1 {
		return ""
	}
	return fmt.Sprintf("-%d", cpus)
}

// written is a value's unit as the result had it.
func written(v benchfmt.Value) string {
	if v.OrigUnit != "" {
		return v.OrigUnit
	}
	return v.Unit
}

// ledger is a comparison's two sides in the making. Index 0 is base, 1 head.
type ledger struct {
	sides [2]bench.Results
}

// announce takes what Unit lines say.
func (l *ledger) announce(units [2][]*benchfmt.UnitMetadata) error {
	for side := range units {
		for _, u := range units[side] {
			var better bench.Direction
			switch u.Key + "=" + u.Value {
			case "better=lower":
				better = bench.LowerBetter
			case "better=higher":
				better = bench.HigherBetter
			}
			if err := l.sides[side].SetUnit(u.Unit, better, u.Key == "assume" && u.Value == "exact"); err != nil {
				return fmt.Errorf("%s: %w", sideNames[side], err)
			}
		}
	}
	return nil
}

// add adds those values of a result, if there is one, whose unit keep lets
// through.
func (l *ledger) add(side int, r *benchfmt.Result, keep func(unit string) bool) error {
	if r == nil {
		return nil
	}
	kept := *r
	kept.Values = slices.DeleteFunc(slices.Clone(r.Values), func(v benchfmt.Value) bool { return !keep(written(v)) })
	if len(kept.Values) == 0 {
		return nil
	}
	return l.sides[side].Add(&kept)
}

func (l *ledger) compare(opt bench.CompareOptions, alpha float64) (*bench.Comparison, error) {
	opt.Alpha, opt.Paired = alpha, true
	return bench.Compare(&l.sides[0], &l.sides[1], opt)
}

// sideNames is what messages call the sides.
var sideNames = [2]string{"base", "head"}

// phaseTime says whether a unit is the time of a part of the op, which is in
// the op's own time already.
func phaseTime(unit string) bool {
	phase, ok := strings.CutSuffix(unit, "-ns/op")
	return ok && phase != "gpu" && !bench.Exact(unit)
}

// baseUnit is a unit as comparisons have it.
func baseUnit(unit string) string {
	_, tidied := benchunit.Tidy(1, unit)
	return tidied
}

// writeResults writes results in Go benchmark format.
func writeResults(w io.Writer, units []*benchfmt.UnitMetadata, results []*benchfmt.Result) error {
	out := benchfmt.NewWriter(w)
	var errs []error
	for _, u := range units {
		errs = append(errs, out.Write(u))
	}
	for _, r := range results {
		errs = append(errs, out.Write(r))
	}
	return errors.Join(errs...)
}
