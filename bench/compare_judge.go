package bench

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"golang.org/x/perf/benchmath"
)

// judge makes a comparison's rows.
type judge struct {
	old, new *Results
	opt      *CompareOptions
	c        *Comparison
	tests    rankTests
	timed    []int                 // rows judged by statistics
	byName   map[string]*benchmark // of new, without the number of CPUs
}

// rows pairs up what the two sides have.
func (j *judge) rows() error {
	for _, a := range j.old.order {
		b := j.new.get(a)
		if b == nil {
			j.add(Row{Pkg: a.pkg, Benchmark: a.name, Verdict: RowMissing, Note: j.elsewhere(a)})
			continue
		}
		for i := range a.series {
			if err := j.row(a, &a.series[i], b.find(a.series[i].unit)); err != nil {
				return err
			}
		}
		for i := range b.series {
			if a.find(b.series[i].unit) == nil {
				if err := j.row(b, nil, &b.series[i]); err != nil {
					return err
				}
			}
		}
	}
	for _, b := range j.new.order {
		if j.old.get(b) == nil {
			j.add(Row{Pkg: b.pkg, Benchmark: b.name, Verdict: RowNew})
		}
	}
	return nil
}

func (j *judge) add(r Row) {
	if r.Verdict == RowMissing && j.opt.AllowMissing {
		r.Verdict, r.Note = RowAccepted, "may be missing"
	}
	r.P, r.PAdjusted = 1, 1
	j.c.Rows = append(j.c.Rows, r)
}

// elsewhere says where a missing benchmark may have gone.
func (j *judge) elsewhere(a *benchmark) string {
	if j.byName == nil {
		j.byName = map[string]*benchmark{}
		for _, b := range j.new.order {
			j.byName[trimProcs(b.name)] = b
		}
	}
	switch b := j.byName[trimProcs(a.name)]; {
	case b == nil:
		return ""
	case b.name != a.name:
		return fmt.Sprintf("new has %s: another number of CPUs", b.name)
	default:
		return fmt.Sprintf("new has it in package %q", b.pkg)
	}
}

// trimProcs cuts the number of CPUs that go test adds to a name.
func trimProcs(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name
	}
	return name[:i]
}

// row adds the row of one unit; a side that has no samples is nil.
func (j *judge) row(of *benchmark, a, b *series) error {
	unit := ""
	if a != nil {
		unit = a.unit
	} else {
		unit = b.unit
	}
	info, err := unitOf(j.old, j.new, unit)
	if err != nil {
		return err
	}
	r := Row{Pkg: of.pkg, Benchmark: of.name, Unit: unit, Written: cmp.Or(j.old.wrote[unit], j.new.wrote[unit], unit),
		Exact: info.exact, Better: info.better, MinEffect: j.opt.minEffect(unit)}
	if info.exact {
		r.MinEffect = 0
	}
	assume := benchmath.Assumption(benchmath.AssumeNothing)
	if info.exact {
		assume = benchmath.AssumeExact
	}
	var x, y *benchmath.Sample
	if a != nil {
		x = sortedSample(a.values)
		r.Old = summarize(assume, x)
	}
	if b != nil {
		y = sortedSample(b.values)
		r.New = summarize(assume, y)
	}
	switch {
	case b == nil:
		r.Verdict = RowMissing
		j.add(r)
		return nil
	case a == nil:
		r.Verdict = RowNew
		j.add(r)
		return nil
	}
	r.Delta = relative(r.Old.Center, r.New.Center)
	if info.exact {
		judgeExact(&r)
		j.add(r)
		return nil
	}
	return j.timedRow(r, a.values, b.values, x, y)
}

func sortedSample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(append([]float64(nil), values...), &benchmath.DefaultThresholds)
}

func summarize(a benchmath.Assumption, s *benchmath.Sample) Summary {
	sum := a.Summary(s, confidence)
	return Summary{Center: sum.Center, Lo: sum.Lo, Hi: sum.Hi, N: len(s.Values)}
}

// relative is the change from old to new as a fraction of old.
func relative(old, new float64) float64 {
	switch {
	case old == new:
		return 0
	case old == 0:
		return math.Copysign(math.Inf(1), new)
	}
	return (new - old) / math.Abs(old)
}

// judgeExact compares values that have no noise.
func judgeExact(r *Row) {
	r.Effect = Interval{r.Delta, r.Delta}
	worse := (r.New.Center - r.Old.Center) * float64(r.Better)
	switch {
	case r.Old.Lo != r.Old.Hi || r.New.Lo != r.New.Hi:
		r.Verdict = RowVaries
		r.Note = "announced as exact, but " + variation(r)
	case worse < 0:
		r.Verdict = RowWorse
	case worse > 0:
		r.Verdict = RowBetter
	}
}

func variation(r *Row) string {
	var parts []string
	for _, s := range []struct {
		side string
		Summary
	}{{"old", r.Old}, {"new", r.New}} {
		if s.Lo != s.Hi {
			parts = append(parts, fmt.Sprintf("%s has %s to %s", s.side, exactText(s.Lo, r.Written), exactText(s.Hi, r.Written)))
		}
	}
	return strings.Join(parts, ", ")
}
