package bench

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// SamplesNeeded is the fewest samples a side with which a comparison of so
// many rows of times can find any change: with fewer, even two sides that do
// not overlap at all are no surprise. Alpha is above 0.
func SamplesNeeded(alpha float64, rows int, paired bool) int {
	if !(alpha > 0) {
		return math.MaxInt
	}
	n := 2
	for leastP(n, n, paired) >= alpha/float64(max(rows, 1)) {
		n++
	}
	return n
}

// leastP is the smallest two-sided p-value that samples of these sizes can
// come to.
func leastP(n, m int, paired bool) float64 {
	if paired {
		return 2 * math.Exp2(-float64(min(n, m)))
	}
	return 2 / choose(n+m, n)
}

// timedRow adds a row that statistics are to judge, with everything but the
// verdict, for which all rows are needed. a and b are in the order they were
// taken; x and y are the same values sorted.
func (j *judge) timedRow(r Row, a, b []float64, x, y *benchmath.Sample) error {
	if j.opt.Paired && len(a) != len(b) {
		return fmt.Errorf("benchmark %s has %d samples in old and %d in new in %s: they cannot be paired", r.Benchmark, len(a), len(b), r.Unit)
	}
	if r.Better == NoDirection {
		r.Verdict, r.Effect = RowUnjudged, Interval{math.NaN(), math.NaN()}
		j.add(r)
		j.c.Rows[len(j.c.Rows)-1].P = j.plainP(a, b, x, y)
		return nil
	}
	if x.Values[0] < 0 || y.Values[0] < 0 {
		return fmt.Errorf("benchmark %s has a sample below zero in %s: a relative change then means nothing; leave the unit out", r.Benchmark, r.Unit)
	}
	j.add(r)
	row := &j.c.Rows[len(j.c.Rows)-1]
	if x.Values[len(x.Values)-1] == 0 && y.Values[len(y.Values)-1] == 0 {
		return nil // zero throughout: a phase that does not happen; there is nothing to test
	}
	j.timed = append(j.timed, len(j.c.Rows)-1)
	row.P = j.plainP(a, b, x, y)
	shift := 1 + j.opt.margin()*r.MinEffect
	if j.opt.Paired {
		ratios := walshRatios(a, b)
		row.Delta = kth(ratios, (len(ratios)+1)/2, (len(ratios)+2)/2) - 1
		row.Effect = j.tests.pairedEffect(ratios, len(a))
		row.PAdjusted = j.pairedP(a, b, shift)
		return nil
	}
	row.Effect = j.tests.effect(x.Values, y.Values)
	row.PAdjusted = j.unpairedP(x.Values, y.Values, shift)
	return nil
}

// plainP is the two-sided p-value of the sides being alike.
func (j *judge) plainP(a, b []float64, x, y *benchmath.Sample) float64 {
	if j.opt.Paired {
		return j.pairedP(a, b, 1)
	}
	return j.tests.mannWhitneyTwoSided(x.Values, y.Values)
}

// unpairedP is the two-sided p-value of y being within a factor of shift of x,
// both sorted: of the larger side's surplus with that factor taken off.
func (j *judge) unpairedP(x, y []float64, shift float64) float64 {
	_, twoU := mergeRanks(x, y)
	if twoU > len(x)*len(y) { // x is the larger
		x, y = y, x
	}
	x = scaled(x, shift)
	if _, twoU = mergeRanks(x, y); twoU >= len(x)*len(y) {
		return 1
	}
	return min(1, 2*j.tests.mannWhitney(x, y))
}

// pairedP is unpairedP for samples taken in pairs.
func (j *judge) pairedP(a, b []float64, shift float64) float64 {
	p := 1.0
	for _, side := range [][2][]float64{{a, b}, {b, a}} {
		d := make([]float64, len(a))
		for i := range d {
			d[i] = side[1][i] - shift*side[0][i]
		}
		p = min(p, 2*j.tests.signedRank(d))
	}
	return p
}

func scaled(x []float64, by float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * by
	}
	return out
}

// effect is the 95% interval of the ratio of y to x, less 1: the range of
// factors by which the U test cannot tell x from y. Both are sorted.
func (t *rankTests) effect(x, y []float64) Interval {
	pairs := len(x) * len(y)
	k := 0
	if len(x) <= exactSize && len(y) <= exactSize {
		k = below(t.uTable(len(x), len(y)), (1-confidence)/2)
	} else {
		k = normalBelow(float64(pairs)/2, float64(pairs)*float64(len(x)+len(y)+1)/12)
	}
	if k == 0 {
		return Interval{-1, math.Inf(1)}
	}
	return Interval{kthRatio(x, y, k) - 1, kthRatio(x, y, pairs+1-k) - 1}
}

// pairedEffect is effect for n pairs, from their sorted Walsh ratios.
func (t *rankTests) pairedEffect(ratios []float64, n int) Interval {
	k := 0
	if n <= exactPairs {
		k = below(t.wTable(n), (1-confidence)/2)
	} else {
		f := float64(n)
		k = normalBelow(f*(f+1)/4, f*(f+1)*(2*f+1)/24)
	}
	if k == 0 {
		return Interval{-1, math.Inf(1)}
	}
	return Interval{ratios[k-1] - 1, ratios[len(ratios)-k] - 1}
}

// below is how many of a table's probabilities are at most p.
func below(table []float64, p float64) int {
	k := 0
	for k < len(table) && table[k] <= p {
		k++
	}
	return k
}

// normalBelow is below for a distribution that is nearly normal.
func normalBelow(mean, variance float64) int {
	z := math.Sqrt2 * math.Erfinv(confidence)
	return max(0, int(mean-z*math.Sqrt(variance)))
}

// kthRatio is the k-th smallest of all y/x, from 1, to about 1e-12. Both are
// sorted. It halves an interval instead of sorting len(x)*len(y) ratios.
func kthRatio(x, y []float64, k int) float64 {
	count := func(r float64) int { // of ratios up to r
		n, j := 0, 0
		for _, v := range x {
			for j < len(y) && y[j] <= r*v {
				j++
			}
			n += j
		}
		return n
	}
	lo, hi := 0.0, 1.0
	for count(hi) < k {
		if lo, hi = hi, hi*2; math.IsInf(hi, 1) {
			return hi // something over nothing
		}
	}
	for range 100 {
		mid := lo + (hi-lo)/2
		if hi-lo <= 1e-13*hi || mid == lo || mid == hi {
			break
		}
		if count(mid) >= k {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// walshRatios is (b[i]+b[j])/(a[i]+a[j]) for all i <= j, sorted: the factors at
// which the signed-rank statistic of b against the scaled a takes a step.
func walshRatios(a, b []float64) []float64 {
	out := make([]float64, 0, len(a)*(len(a)+1)/2)
	for i := range a {
		for j := i; j < len(a); j++ {
			r := 1.0
			if x, y := a[i]+a[j], b[i]+b[j]; x != y {
				r = y / x
			}
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}

// kth is the mean of the i-th and j-th values, from 1.
func kth(sorted []float64, i, j int) float64 {
	if sorted[i-1] == sorted[j-1] {
		return sorted[i-1]
	}
	return (sorted[i-1] + sorted[j-1]) / 2
}

// holm replaces p-values by those adjusted for their number: the smallest
// times n, the next times n-1, and none below one before it.
func holm(p []*float64) {
	slices.SortFunc(p, func(a, b *float64) int {
		switch {
		case *a < *b:
			return -1
		case *a > *b:
			return 1
		}
		return 0
	})
	last := 0.0
	for i, v := range p {
		last = max(last, min(1, *v*float64(len(p)-i)))
		*v = last
	}
}

// decide gives the timed rows their verdicts.
func (j *judge) decide() {
	c := j.c
	c.Timed = len(j.timed)
	need := SamplesNeeded(c.Alpha, c.Timed, c.Paired)
	ps := make([]*float64, 0, len(j.timed))
	for _, i := range j.timed {
		ps = append(ps, &c.Rows[i].PAdjusted)
	}
	holm(ps)
	j.warnUneven()
	for _, i := range j.timed {
		r := &c.Rows[i]
		if leastP(r.Old.N, r.New.N, c.Paired) >= c.Alpha/float64(c.Timed) {
			r.Verdict, r.Need = RowTooFew, need
			r.Note = fmt.Sprintf("too few samples: %d and %d, need at least %d each for %s", r.Old.N, r.New.N, need, count(c.Timed, "row"))
			continue
		}
		change := worsening(r.Delta, r.Better)
		switch counts := r.PAdjusted < c.Alpha; {
		case counts && change > r.MinEffect:
			r.Verdict = RowWorse
		case counts && worsening(r.Delta, -r.Better) > r.MinEffect:
			r.Verdict = RowBetter
		default:
			r.Need = stillNeeded(r)
		}
	}
}

// warnUneven warns of rows that have more samples on one side: a run that was
// cut short still makes a sound test, but may not be what was meant.
func (j *judge) warnUneven() {
	var first *Row
	n := 0
	for _, i := range j.timed {
		if r := &j.c.Rows[i]; r.Old.N != r.New.N {
			if n++; first == nil {
				first = r
			}
		}
	}
	if n > 0 {
		have := "have"
		if n == 1 {
			have = "has"
		}
		j.c.Warnings = append(j.c.Warnings, fmt.Errorf("%s %s more samples on one side, such as %d and %d of %s in %s: was a run cut short?",
			count(n, "row"), have, first.Old.N, first.New.N, first.Benchmark, first.Unit))
	}
}

// worsening turns a change into how many times worse it is, less 1, whichever
// way the unit is better: half the rate is as bad as twice the time.
func worsening(delta float64, better Direction) float64 {
	if better == HigherBetter {
		return 1/(1+delta) - 1
	}
	return delta
}

// stillNeeded is about how many samples a side would exclude a change for the
// worse that counts, 0 where it is excluded.
func stillNeeded(r *Row) int {
	worst := worsening(r.Effect.Hi, r.Better)
	if r.Better == HigherBetter {
		worst = worsening(r.Effect.Lo, r.Better)
	}
	if worst <= r.MinEffect || r.Delta == 0 && r.P == 1 {
		return 0
	}
	n := float64(max(r.Old.N, r.New.N))
	if math.IsInf(worst, 1) || r.MinEffect == 0 {
		return int(2 * n)
	}
	// An interval shrinks with the root of the number of samples; one of half
	// the minimum effect decides most rows.
	times := (worst - worsening(r.Delta, r.Better)) / (r.MinEffect / 2)
	return int(math.Ceil(n * min(100, max(1.1, times*times))))
}
