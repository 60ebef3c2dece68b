package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHolm(t *testing.T) {
	p := []float64{0.04, 0.001, 0.03, 0.9, 0.012}
	want := []float64{0.09, 0.005, 0.09, 0.9, 0.048}
	var at []*float64
	for i := range p {
		at = append(at, &p[i])
	}
	holm(at)
	for i := range p {
		if math.Abs(p[i]-want[i]) > 1e-15 {
			t.Errorf("adjusted to %v, want %v", p, want)
			break
		}
	}
}

func TestSamplesNeeded(t *testing.T) {
	for _, c := range []struct {
		alpha  float64
		rows   int
		paired bool
		want   int
	}{
		{0.05, 1, false, 4}, // benchstat's own figure: 2/70 is below 0.05, 2/20 is not
		{0.01, 1, false, 5},
		{0.01, 24, false, 8}, // 2/12870 is below 0.01/24, 2/3432 is not
		{0.01, 0, false, 5},
		{0.01, 1, true, 8},
		{0.01, 24, true, 13},
		{0.01, 4000, false, 12},
		{0, 1, false, math.MaxInt},
	} {
		if got := SamplesNeeded(c.alpha, c.rows, c.paired); got != c.want {
			t.Errorf("alpha %v, %d rows, paired %v: %d, want %d", c.alpha, c.rows, c.paired, got, c.want)
		}
	}
}

func TestKthRatio(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		x, y := randomSample(r, 1+r.IntN(8), 9), randomSample(r, 1+r.IntN(8), 9)
		var all []float64
		for _, a := range x {
			for _, b := range y {
				all = append(all, b/a)
			}
		}
		slices.Sort(all)
		for k, want := range all {
			if got := kthRatio(x, y, k+1); math.Abs(got-want) > 1e-12*want {
				t.Fatalf("%v over %v: ratio %d is %v, want %v", y, x, k+1, got, want)
			}
		}
	}
	if got := kthRatio([]float64{0, 1}, []float64{2, 2}, 3); !math.IsInf(got, 1) {
		t.Errorf("2/0 is %v", got)
	}
}

// An interval holds the true change in 95 of 100 comparisons.
func TestEffectCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var tests rankTests
	for _, n := range []int{8, 20, 60} {
		const trials, change = 1000, 1.1
		missed := [2]int{}
		for range trials {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				drift := math.Exp(0.05 * r.NormFloat64())
				x[i], y[i] = drift*math.Exp(0.02*r.NormFloat64()), change*drift*math.Exp(0.02*r.NormFloat64())
			}
			paired := tests.pairedEffect(walshRatios(x, y), n)
			slices.Sort(x)
			slices.Sort(y)
			for i, e := range []Interval{tests.effect(x, y), paired} {
				if change-1 < e.Lo || change-1 > e.Hi {
					missed[i]++
				}
			}
		}
		// The pairs of the unpaired test have their noise in common, so it
		// misses less than 5%.
		if missed[0] > trials*5/100 || missed[1] < trials*3/100 || missed[1] > trials*7/100 {
			t.Errorf("n=%d: of %d intervals %d miss, of paired ones %d", n, trials, missed[0], missed[1])
		}
	}
}

// With six pairs the 95% interval is the whole range of the Walsh ratios, with
// six samples a side it leaves out five ratios at each end.
func TestEffectBounds(t *testing.T) {
	var tests rankTests
	x, y := []float64{1, 1, 1, 1, 1, 1}, []float64{1.1, 1.2, 1.3, 1.4, 1.5, 1.6}
	if e := tests.pairedEffect(walshRatios(x, y), 6); math.Abs(e.Lo-0.1) > 1e-12 || math.Abs(e.Hi-0.6) > 1e-12 {
		t.Errorf("pairs: %v", e)
	}
	if e := tests.effect([]float64{1, 2, 3, 4, 5, 6}, []float64{10, 20, 30, 40, 50, 60}); math.Abs(e.Lo-3) > 1e-9 || math.Abs(e.Hi-24) > 1e-9 {
		t.Errorf("sides: %v", e)
	}
	for _, e := range []Interval{tests.effect(x[:3], y[:3]), tests.pairedEffect(walshRatios(x[:5], y[:5]), 5)} {
		if e.Lo != -1 || !math.IsInf(e.Hi, 1) {
			t.Errorf("too few samples for an interval: %v", e)
		}
	}
}
