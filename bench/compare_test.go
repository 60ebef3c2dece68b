package bench_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gputax/bench"
)

const exactUnit = "Unit n better=lower assume=exact\n"

// samples is a line a value of one benchmark in one unit.
func samples(name, unit string, values ...float64) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "Benchmark%s 10 %v %s\n", name, v, unit)
	}
	return b.String()
}

// around is ten values within 1% of v, none of them equal.
func around(v float64) []float64 {
	out := make([]float64, 10)
	for i := range out {
		out[i] = v * (1 + 0.002*(float64(i)-4.5))
	}
	return out
}

func repeat(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }

// compareTexts compares two files' texts.
func compareTexts(t testing.TB, old, new string, opt bench.CompareOptions) *bench.Comparison {
	t.Helper()
	c, err := bench.Compare(readText(t, old), readText(t, new), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every kind of row gets its verdict, and the comparison the worst of them.
func TestCompareVerdicts(t *testing.T) {
	same := samples("Same", "ns/op", around(50)...)
	for _, c := range []struct {
		name     string
		old, new string
		opt      bench.CompareOptions
		row      bench.RowVerdict // of the first row
		want     bench.Verdict
	}{
		{"equal counts", exactUnit + samples("A", "n", 5), samples("A", "n", 5), bench.CompareOptions{}, bench.RowSame, bench.Pass},
		{"more", exactUnit + samples("A", "n", 5), samples("A", "n", 6), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"one more of many", exactUnit + samples("A", "n", 1e9), samples("A", "n", 1e9+1), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"from none", exactUnit + samples("A", "n", 0), samples("A", "n", 128), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"fewer", exactUnit + samples("A", "n", 5), samples("A", "n", 4), bench.CompareOptions{}, bench.RowBetter, bench.Pass},
		{"to none", exactUnit + samples("A", "n", 5), samples("A", "n", 0), bench.CompareOptions{}, bench.RowBetter, bench.Pass},
		{"announced in new only", samples("A", "n", 5), exactUnit + samples("A", "n", 6), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"exact, higher is better", "Unit n better=higher assume=exact\n" + samples("A", "n", 5), samples("A", "n", 6), bench.CompareOptions{}, bench.RowBetter, bench.Pass},
		{"exact, fewer is worse", "Unit n better=higher assume=exact\n" + samples("A", "n", 5), samples("A", "n", 4), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"exact without a direction", "Unit n assume=exact\n" + samples("A", "n", 5), samples("A", "n", 6), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"exact below zero", exactUnit + samples("A", "n", -5), samples("A", "n", -6), bench.CompareOptions{}, bench.RowBetter, bench.Pass},
		{"varies in new", exactUnit + samples("A", "n", 5, 5), samples("A", "n", 5, 4), bench.CompareOptions{}, bench.RowVaries, bench.Regression},
		{"varies in old", exactUnit + samples("A", "n", 5, 4, 5), samples("A", "n", 4, 4, 4), bench.CompareOptions{}, bench.RowVaries, bench.Regression},

		{"slower", samples("A", "ns/op", around(100)...), samples("A", "ns/op", around(105)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"faster", samples("A", "ns/op", around(100)...), samples("A", "ns/op", around(95)...), bench.CompareOptions{}, bench.RowBetter, bench.Pass},
		{"as fast", samples("A", "ns/op", around(100)...), samples("A", "ns/op", around(100)...), bench.CompareOptions{}, bench.RowSame, bench.Pass},
		{"slower by less than counts", samples("A", "ns/op", repeat(100, 30)...), samples("A", "ns/op", repeat(101.9, 30)...), bench.CompareOptions{}, bench.RowSame, bench.Pass},
		{"slower by more than counts", samples("A", "ns/op", repeat(100, 30)...), samples("A", "ns/op", repeat(102.1, 30)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"slower than a lower bar", samples("A", "ns/op", repeat(100, 30)...), samples("A", "ns/op", repeat(101.9, 30)...),
			bench.CompareOptions{MinEffect: map[string]float64{"ns/op": 0.01}}, bench.RowWorse, bench.Regression},
		{"slower than a lower bar for all", samples("A", "ns/op", repeat(100, 30)...), samples("A", "ns/op", repeat(101.9, 30)...),
			bench.CompareOptions{MinEffect: map[string]float64{"": 0.01}}, bench.RowWorse, bench.Regression},
		{"slower by less than a higher bar", samples("A", "ns/op", around(100)...), samples("A", "ns/op", around(105)...),
			bench.CompareOptions{MinEffect: map[string]float64{"sec/op": 0.1}}, bench.RowSame, bench.Pass},
		{"rate down", samples("A", "MB/s", around(100)...), samples("A", "MB/s", around(95)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"rate down by 1.96%, which is 2% of time", samples("A", "MB/s", repeat(100, 30)...), samples("A", "MB/s", repeat(98.03, 30)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"rate down by 1.95%", samples("A", "MB/s", repeat(100, 30)...), samples("A", "MB/s", repeat(98.05, 30)...), bench.CompareOptions{}, bench.RowSame, bench.Pass},
		{"rate up", samples("A", "MB/s", around(100)...), samples("A", "MB/s", around(105)...), bench.CompareOptions{}, bench.RowBetter, bench.Pass},
		{"any rate down", samples("A", "trees/s", around(100)...), samples("A", "trees/s", around(95)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"announced as better higher", "Unit hits better=higher\n" + samples("A", "hits", around(100)...), samples("A", "hits", around(95)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"allocations from none", samples("A", "allocs/op", repeat(0, 10)...), samples("A", "allocs/op", repeat(1, 10)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"rate to nothing", samples("A", "MB/s", around(100)...), samples("A", "MB/s", repeat(0, 10)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"a phase of our own", samples("A", "upload-ns/op", around(100)...), samples("A", "upload-ns/op", around(200)...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"zero throughout, once", samples("A", "ns/op", 0) + same, samples("A", "ns/op", 0) + same, bench.CompareOptions{}, bench.RowSame, bench.Pass},
		{"nobody knows the direction", samples("A", "hits", around(100)...) + same, samples("A", "hits", around(200)...) + same, bench.CompareOptions{}, bench.RowUnjudged, bench.Pass},
		{"nothing can be judged", samples("A", "hits", around(100)...), samples("A", "hits", around(100)...), bench.CompareOptions{}, bench.RowUnjudged, bench.Undecided},

		{"one sample", samples("A", "ns/op", 22), samples("A", "ns/op", 64), bench.CompareOptions{}, bench.RowTooFew, bench.Undecided},
		{"one sample, equal", samples("A", "ns/op", 22), samples("A", "ns/op", 22), bench.CompareOptions{}, bench.RowTooFew, bench.Undecided},
		{"four samples", samples("A", "ns/op", around(100)[:4]...), samples("A", "ns/op", around(200)[:4]...), bench.CompareOptions{}, bench.RowTooFew, bench.Undecided},
		{"five samples", samples("A", "ns/op", around(100)[:5]...), samples("A", "ns/op", around(200)[:5]...), bench.CompareOptions{}, bench.RowWorse, bench.Regression},
		{"five samples, two rows", samples("A", "ns/op", around(100)[:5]...) + same, samples("A", "ns/op", around(200)[:5]...) + same, bench.CompareOptions{}, bench.RowTooFew, bench.Undecided},
		{"seven pairs", samples("A", "ns/op", around(100)[:7]...), samples("A", "ns/op", around(200)[:7]...), bench.CompareOptions{Paired: true}, bench.RowTooFew, bench.Undecided},
		{"eight pairs", samples("A", "ns/op", around(100)[:8]...), samples("A", "ns/op", around(200)[:8]...), bench.CompareOptions{Paired: true}, bench.RowWorse, bench.Regression},

		{"benchmark gone", samples("A", "n", 5) + same, same, bench.CompareOptions{}, bench.RowMissing, bench.Regression},
		{"benchmark may go", samples("A", "n", 5) + same, same, bench.CompareOptions{AllowMissing: true}, bench.RowAccepted, bench.Pass},
		{"all may go, but not be nothing", samples("A", "ns/op", 5), samples("B", "ns/op", 5), bench.CompareOptions{AllowMissing: true}, bench.RowAccepted, bench.Undecided},
		{"another package", "pkg: a\n" + samples("A", "ns/op", around(5)...), "pkg: b\n" + samples("A", "ns/op", around(5)...), bench.CompareOptions{}, bench.RowMissing, bench.Regression},
		{"too few and worse", exactUnit + samples("A", "ns/op", 1) + samples("B", "n", 1), samples("A", "ns/op", 1) + samples("B", "n", 2), bench.CompareOptions{}, bench.RowTooFew, bench.Regression},
	} {
		got := compareTexts(t, c.old, c.new, c.opt)
		if got.Rows[0].Verdict != c.row || got.Verdict() != c.want {
			t.Errorf("%s: the row is %v, the comparison %v; want %v, %v: %+v", c.name, got.Rows[0].Verdict, got.Verdict(), c.row, c.want, got.Rows[0])
		}
	}
}

// A unit that is gone fails; one that came does not, nor a benchmark.
func TestUnitsComeAndGo(t *testing.T) {
	const old = exactUnit + "BenchmarkA 1 5 n 7 sim-ns/op\n"
	c := compareTexts(t, old, "BenchmarkA 1 5 n\n", bench.CompareOptions{})
	if len(c.Rows) != 2 || c.Rows[1].Verdict != bench.RowMissing || c.Rows[1].Unit != "sim-sec/op" || c.Verdict() != bench.Regression {
		t.Errorf("a unit is gone: %+v", c.Rows)
	}
	c = compareTexts(t, old, "BenchmarkA 1 5 n 7 sim-ns/op 8 m\nBenchmarkB 1 1 n\n", bench.CompareOptions{})
	if c.Count(bench.RowNew) != 2 || c.Rows[len(c.Rows)-1].Benchmark != "B" {
		t.Errorf("came: %+v", c.Rows)
	}
	if v := compareTexts(t, exactUnit+samples("A", "n", 5), samples("A", "n", 5)+samples("B", "ns/op", 1), bench.CompareOptions{}).Verdict(); v != bench.Pass {
		t.Errorf("a new benchmark: %v", v)
	}
	c = compareTexts(t, samples("A-8", "n", 5), samples("A-16", "n", 5), bench.CompareOptions{})
	if !strings.Contains(c.Rows[0].Note, "A-16: another number of CPUs") {
		t.Errorf("note %q", c.Rows[0].Note)
	}
}

// Configuration does not take benchmarks apart, but what times depend on is
// warned about.
func TestConfigurations(t *testing.T) {
	old := exactUnit + "cpu: A\ngpu-temperature: 37\n" + samples("A", "n", 1) + "gpu-temperature: 40\n" + samples("A", "n", 1)
	c := compareTexts(t, old, "cpu: B\ngpu: H200\ngpu-temperature: 50\n"+samples("A", "n", 1), bench.CompareOptions{})
	if c.Verdict() != bench.Pass || len(c.Rows) != 1 || c.Rows[0].Old.N != 2 {
		t.Errorf("%+v", c.Rows)
	}
	want := []string{`cpu differs: "A" in old, "B" in new: times are not comparable`, `gpu differs: none in old, "H200" in new: times are not comparable`}
	if got := fmt.Sprint(c.Warnings); got != "["+strings.Join(want, " ")+"]" {
		t.Errorf("warnings %s, want %s", got, want)
	}
	two := exactUnit + "cpu: A\nnote: x\n" + samples("A", "n", 1) + "cpu: B\n" + samples("A", "n", 1)
	if c := compareTexts(t, two, two, bench.CompareOptions{}); len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0].Error(), "cpu varies on both sides") {
		t.Errorf("warnings %v", c.Warnings)
	}
}

func TestCompareRefuses(t *testing.T) {
	good := readText(t, samples("A", "ns/op", 1, 2))
	directions := readText(t, "Unit ns/op better=higher\n"+samples("A", "ns/op", 1, 2))
	lower := readText(t, "Unit ns/op better=lower\n"+samples("A", "ns/op", 1, 2))
	for _, c := range []struct {
		name     string
		old, new *bench.Results
		opt      bench.CompareOptions
		want     string
	}{
		{"nothing old", new(bench.Results), good, bench.CompareOptions{}, "the old side has no results"},
		{"nothing new", good, nil, bench.CompareOptions{}, "the new side has no results"},
		{"alpha", good, good, bench.CompareOptions{Alpha: 1}, "alpha 1"},
		{"alpha", good, good, bench.CompareOptions{Alpha: -1}, "alpha -1"},
		{"alpha", good, good, bench.CompareOptions{Alpha: math.NaN()}, "alpha NaN"},
		{"effect", good, good, bench.CompareOptions{MinEffect: map[string]float64{"ns/op": -0.1}}, `minimum effect -0.1 of unit "ns/op"`},
		{"margin", good, good, bench.CompareOptions{Margin: 2}, "margin 2"},
		{"two directions", directions, lower, bench.CompareOptions{}, "unit sec/op: better=higher in one place and better=lower in another"},
		{"no pairs", good, readText(t, samples("A", "ns/op", 1)), bench.CompareOptions{Paired: true}, "benchmark A has 2 samples in old and 1 in new"},
		{"below zero", good, readText(t, samples("A", "ns/op", 1, -2)), bench.CompareOptions{}, "benchmark A has a sample below zero"},
	} {
		if _, err := bench.Compare(c.old, c.new, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// A drift that both sides share hides a change from the unpaired test, and
// does not from the paired one.
func TestPairedSeesThroughDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var old, new []float64
	for i := range 20 {
		drift := 100 + 5*float64(i*7%20)
		old, new = append(old, drift*(1+0.002*r.Float64())), append(new, 1.04*drift*(1+0.002*r.Float64()))
	}
	a, b := samples("A", "ns/op", old...), samples("A", "ns/op", new...)
	if c := compareTexts(t, a, b, bench.CompareOptions{}); c.Rows[0].Verdict != bench.RowSame || c.Rows[0].Need <= 20 || len(c.Undecided()) != 1 {
		t.Errorf("unpaired: %+v", c.Rows[0])
	}
	c := compareTexts(t, a, b, bench.CompareOptions{Paired: true})
	row := c.Rows[0]
	if want := math.Exp2(-19); math.Abs(row.P-want) > 1e-12 || math.Abs(row.PAdjusted-want) > 1e-12 {
		t.Errorf("twenty pairs that all agree have p=%v, adjusted %v; want %v", row.P, row.PAdjusted, want)
	}
	if row.Verdict != bench.RowWorse || math.Abs(row.Delta-0.04) > 0.002 || row.Effect.Lo < 0.03 || row.Effect.Hi > 0.05 || len(c.Undecided()) != 0 {
		t.Errorf("paired: %+v", row)
	}
}

// A comparison leaves the samples in the order they were taken.
func TestCompareKeepsOrder(t *testing.T) {
	r := readText(t, samples("A", "ns/op", 3, 1, 2))
	if _, err := bench.Compare(r, r, bench.CompareOptions{Paired: true}); err != nil {
		t.Fatal(err)
	}
	if got := r.Samples("A", "ns/op"); !(got[0] > got[2] && got[2] > got[1]) {
		t.Errorf("samples are now %v", got)
	}
}

// noisy is a benchmark's samples with noise and now and then an outlier.
func noisy(r *rand.Rand, n int, noise, slower float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1000 * (1 + slower) * math.Exp(noise*r.NormFloat64())
		if r.IntN(20) == 0 {
			out[i] *= 1 + 5*noise*math.Abs(r.NormFloat64())
		}
	}
	return out
}

// In comparisons of a program with itself nothing fails; a slowdown well above
// the minimum effect does, whatever the number of rows beside it.
func TestErrorRates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	build := func(rows, slow int, slower float64) string {
		var b strings.Builder
		for i := range rows {
			s := 0.0
			if i == slow {
				s = slower
			}
			b.WriteString(samples(fmt.Sprintf("B%d", i), "ns/op", noisy(r, 20, 0.01, s)...))
		}
		return b.String()
	}
	for _, paired := range []bool{false, true} {
		opt := bench.CompareOptions{Paired: paired}
		for range 100 {
			if c := compareTexts(t, build(6, -1, 0), build(6, -1, 0), opt); c.Verdict() != bench.Pass || c.Count(bench.RowBetter) > 0 {
				t.Errorf("paired %v: noise alone: %s", paired, c.Summary())
			}
		}
		found := 0
		for range 100 {
			if c := compareTexts(t, build(6, -1, 0), build(6, 3, 0.05), opt); len(c.Failed()) == 1 && c.Failed()[0].Benchmark == "B3" {
				found++
			}
		}
		if found < 97 {
			t.Errorf("paired %v: found %d of 100 slowdowns of 5%%", paired, found)
		}
	}
}

// A true change of half the minimum effect is never called a regression by
// having samples enough; without a margin it sometimes is.
func TestMargin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	failed := map[float64]int{}
	for range 150 {
		old, new := samples("A", "ns/op", noisy(r, 40, 0.03, 0)...), samples("A", "ns/op", noisy(r, 40, 0.03, 0.01)...)
		for _, margin := range []float64{-1, 0, 1} {
			failed[margin] += len(compareTexts(t, old, new, bench.CompareOptions{Margin: margin}).Failed())
		}
	}
	if failed[-1] < 2 || failed[0] > 1 || failed[1] > 0 {
		t.Errorf("failed of 150, by margin: %v", failed)
	}
}
