package bench

import "fmt"

// CompareOptions say how sure a comparison must be. The zero value has the
// defaults.
type CompareOptions struct {
	// Alpha bounds the chance that one comparison calls any row of times better
	// or worse that is neither, over all its rows together; 0 means 0.01. Who
	// compares again and again as samples come in, and stops when it suits,
	// must share one Alpha out among those looks.
	Alpha float64
	// MinEffect is the least change that counts, as a fraction (0.02), by unit;
	// units not in it have DefaultMinEffect, or that of the key "".
	MinEffect map[string]float64
	// Margin is the part of MinEffect that the test itself must exclude, up to
	// 1; 0 means DefaultMargin, and anything below it none.
	Margin float64
	// Paired says that the i-th samples of both sides were taken together, in
	// alternation, so that what disturbed the one disturbed the other.
	Paired bool
	// AllowMissing lets pass what is only in the old results.
	AllowMissing bool
	// Accept lets named changes pass.
	Accept []Acceptance
}

const (
	// DefaultAlpha is the chance of any false verdict in a comparison.
	DefaultAlpha = 0.01
	// DefaultMinEffect is the least change of a time that counts.
	DefaultMinEffect = 0.02
	// DefaultMargin tests against half the minimum effect. With none, a true
	// change of a hair, such as another code layout, becomes significant once
	// there are samples enough, and then noise alone may lift it over the
	// minimum effect. With all of it, a change must be about twice the minimum
	// effect to be found in a bearable time.
	DefaultMargin = 0.5
	// confidence is that of all intervals shown.
	confidence = 0.95
)

func (o *CompareOptions) alpha() float64 {
	if o.Alpha == 0 {
		return DefaultAlpha
	}
	return o.Alpha
}

func (o *CompareOptions) minEffect(unit string) float64 {
	if e, ok := o.MinEffect[unit]; ok {
		return e
	}
	if e, ok := o.MinEffect[""]; ok {
		return e
	}
	return DefaultMinEffect
}

func (o *CompareOptions) margin() float64 {
	if o.Margin == 0 {
		return DefaultMargin
	}
	return max(0, o.Margin)
}

// check refuses nonsense, and returns options whose units are in base units.
func (o CompareOptions) check() (CompareOptions, error) {
	if a := o.alpha(); !(a > 0 && a < 1) {
		return o, fmt.Errorf("alpha %v: want a chance above 0 and below 1", a)
	}
	if o.Margin > 1 || o.Margin != o.Margin {
		return o, fmt.Errorf("margin %v: want a part of the minimum effect, at most 1", o.Margin)
	}
	effects := map[string]float64{}
	for unit, e := range o.MinEffect {
		if !(e >= 0 && e < 10) {
			return o, fmt.Errorf("minimum effect %v of unit %q: want a fraction such as 0.02", e, unit)
		}
		effects[tidyUnit(unit)] = e
	}
	o.MinEffect = effects
	return o, nil
}

// Verdict is what a comparison comes to.
type Verdict int

const (
	Undecided  Verdict = iota // not enough samples to say, or nothing to judge: not a pass
	Pass                      // nothing got worse
	Regression                // something got worse, is gone, or is not what it was announced to be
)

func (v Verdict) String() string { return [...]string{"undecided", "pass", "regression"}[v] }

// RowVerdict is what one row comes to.
type RowVerdict int

const (
	RowSame     RowVerdict = iota // equal, or no change that counts was found
	RowBetter                     // improved
	RowWorse                      // fails
	RowMissing                    // only in the old results; fails
	RowNew                        // only in the new results
	RowTooFew                     // no number of its samples could show a change; not a pass
	RowVaries                     // announced as exact, but its samples differ; fails
	RowAccepted                   // would fail, but someone let it pass; Note says why
	RowUnjudged                   // nobody says which way the unit is better
)

func (v RowVerdict) String() string {
	return [...]string{"same", "better", "worse", "missing", "new", "too few", "varies", "accepted", "not judged"}[v]
}

// Fails says whether a row of this verdict makes a regression.
func (v RowVerdict) Fails() bool { return v == RowWorse || v == RowMissing || v == RowVaries }

// Row is one benchmark in one unit, old and new.
type Row struct {
	Pkg       string // the package, where the results name one
	Benchmark string // the name without "Benchmark"
	Unit      string // in base units, sec/op; empty where the whole benchmark is new or missing
	Written   string // the unit as the results have it, ns/op
	Exact     bool   // equal runs give equal numbers; no statistics
	Better    Direction
	Old, New  Summary

	// Delta is the change as a fraction of the old: the ratio of the centers
	// less 1, as benchstat has it, or in a paired comparison the ratio that
	// pairs have in the middle. From zero it is +Inf.
	Delta float64
	// Effect holds the true change with 95% confidence. It is unbounded where
	// there are too few samples, and NaN in rows that are not judged.
	Effect Interval
	// MinEffect is the least Delta that counts for this unit.
	MinEffect float64
	// P is the two-sided p-value of the two sides being alike: Mann-Whitney's,
	// the same as benchstat's, or Wilcoxon's signed-rank in a paired comparison.
	P float64
	// PAdjusted is the p-value that decides: of the change being within Margin
	// of MinEffect, with Holm's correction for all rows of times.
	PAdjusted float64

	Verdict RowVerdict
	// Need is how many samples a side it takes: with RowTooFew for any verdict,
	// else, where it is not 0, about how many to exclude a change that counts.
	Need int
	Note string // what a reader of the row should know; may be empty
}

// Summary is one side of a row. N is 0 where the side has no samples.
type Summary struct {
	Center float64 // the median; the value itself in exact units
	Lo, Hi float64 // hold the true median with 95% confidence; the range in exact units
	N      int     // samples
}

// Interval is a range of relative changes.
type Interval struct{ Lo, Hi float64 }

// Comparison is the result of Compare.
type Comparison struct {
	OldName, NewName string // what was compared
	Rows             []Row  // in the order benchmarks and units first appear
	Timed            int    // rows of times that were judged together
	Alpha            float64
	Paired           bool
	Warnings         []error // what a reader of the comparison should know
}

// Compare judges new results by old ones, row by row.
//
// Rows in exact units must be equal: a change for the worse fails, from zero
// too. Other rows fail where both hold: the change is above MinEffect for the
// worse, and chance hardly explains it (PAdjusted is below Alpha). What is
// missing in new fails, and so does an exact unit whose samples differ.
//
// An error means that the two cannot be compared at all.
func Compare(old, new *Results, opt CompareOptions) (*Comparison, error) {
	opt, err := opt.check()
	if err != nil {
		return nil, err
	}
	if err := old.check("old"); err != nil {
		return nil, err
	}
	if err := new.check("new"); err != nil {
		return nil, err
	}
	c := &Comparison{OldName: old.Name(), NewName: new.Name(), Alpha: opt.alpha(), Paired: opt.Paired,
		Warnings: differences(&old.config, &new.config)}
	j := &judge{old: old, new: new, opt: &opt, c: c}
	if err := j.rows(); err != nil {
		return nil, err
	}
	j.decide()
	for _, unit := range distinct(c.pick(func(r *Row) bool { return r.Verdict == RowUnjudged }), func(r *Row) string { return r.Written }) {
		c.Warnings = append(c.Warnings, fmt.Errorf("%s is not judged: no Unit line says which way it is better", unit))
	}
	c.Warnings = append(c.Warnings, accept(c.Rows, opt.Accept)...)
	return c, nil
}

// Verdict is the worst of the rows. Fewer samples than any verdict needs, or
// no row that could be judged, is not a pass.
func (c *Comparison) Verdict() Verdict {
	v := Undecided
	for i := range c.Rows {
		switch r := c.Rows[i].Verdict; {
		case r.Fails():
			return Regression
		case r == RowSame, r == RowBetter, r == RowAccepted && c.Rows[i].New.N > 0:
			v = Pass
		}
	}
	if c.Count(RowTooFew) > 0 {
		return Undecided
	}
	return v
}

// Count is how many rows have a verdict.
func (c *Comparison) Count(v RowVerdict) int {
	n := 0
	for i := range c.Rows {
		if c.Rows[i].Verdict == v {
			n++
		}
	}
	return n
}

// Undecided is the rows that more samples may still turn: those with too few,
// and those in which a change for the worse that counts was neither found nor
// excluded with 95% confidence. The latter pass, as noise must.
func (c *Comparison) Undecided() []Row {
	var out []Row
	for _, r := range c.Rows {
		if r.Need > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Failed is the rows that make a regression.
func (c *Comparison) Failed() []Row {
	var out []Row
	for _, r := range c.Rows {
		if r.Verdict.Fails() {
			out = append(out, r)
		}
	}
	return out
}
