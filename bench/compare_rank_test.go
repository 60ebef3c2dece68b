package bench

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
)

// critical is the largest statistic whose two-sided p-value is at most alpha.
func critical(table []float64, alpha float64) int {
	k := -1
	for k+1 < len(table) && 2*table[k+1] <= alpha {
		k++
	}
	return k
}

// The critical values printed in tables of Wilcoxon's signed-rank test.
func TestSignedRankTables(t *testing.T) {
	for alpha, want := range map[float64]map[int]int{
		0.05: {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 16: 29, 17: 34, 18: 40, 19: 46, 20: 52,
			21: 58, 22: 65, 23: 73, 24: 81, 25: 89, 26: 98, 27: 107, 28: 116, 29: 126, 30: 137},
		0.01: {8: 0, 9: 1, 10: 3, 11: 5, 12: 7, 13: 9, 14: 12, 15: 15, 16: 19, 17: 23, 18: 27, 19: 32, 20: 37,
			21: 42, 22: 48, 23: 54, 24: 61, 25: 68, 26: 75, 27: 83, 28: 91, 29: 100, 30: 109},
	} {
		var tests rankTests
		for n, w := range want {
			if got := critical(tests.wTable(n), alpha); got != w {
				t.Errorf("n=%d, alpha %v: critical value %d, tables say %d", n, alpha, got, w)
			}
		}
	}
}

// The critical values printed in tables of the Mann-Whitney U test.
func TestMannWhitneyTables(t *testing.T) {
	for alpha, want := range map[float64]map[[2]int]int{
		0.05: {{3, 8}: 2, {5, 5}: 2, {6, 6}: 5, {7, 7}: 8, {8, 8}: 13, {9, 9}: 17, {10, 10}: 23, {11, 11}: 30, {12, 12}: 37, {13, 13}: 45,
			{14, 14}: 55, {15, 15}: 64, {16, 16}: 75, {17, 17}: 87, {18, 18}: 99, {19, 19}: 113, {20, 20}: 127,
			{5, 10}: 8, {8, 12}: 22, {12, 8}: 22, {10, 20}: 55},
		0.01: {{5, 5}: 0, {6, 6}: 2, {7, 7}: 4, {8, 8}: 7, {9, 9}: 11, {10, 10}: 16, {11, 11}: 21, {12, 12}: 27, {15, 15}: 51, {20, 20}: 105},
	} {
		var tests rankTests
		for n, w := range want {
			if got := critical(tests.uTable(n[0], n[1]), alpha); got != w {
				t.Errorf("n=%v, alpha %v: critical value %d, tables say %d", n, alpha, got, w)
			}
		}
	}
}

// randomSample draws from few values, so that some are equal, or from many.
func randomSample(r *rand.Rand, n, values int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(1 + r.IntN(values))
	}
	slices.Sort(x)
	return x
}

// The one-sided test is the share of all ways to deal the values out again
// that are as extreme.
func TestMannWhitneyByEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var tests rankTests
	for range 200 {
		n, m := 1+r.IntN(6), 1+r.IntN(6)
		values := []int{3, 8, 1 << 40}[r.IntN(3)]
		x, y := randomSample(r, n, values), randomSample(r, m, values)
		_, observed := mergeRanks(x, y)
		all := append(slices.Clone(x), y...)
		extreme, ways := 0, 0
		for set := range uint(1) << (n + m) {
			if bits.OnesCount(set) != n {
				continue
			}
			var a, b []float64
			for i, v := range all {
				if set>>i&1 == 1 {
					a = append(a, v)
				} else {
					b = append(b, v)
				}
			}
			slices.Sort(a)
			slices.Sort(b)
			ways++
			if _, u := mergeRanks(a, b); u <= observed {
				extreme++
			}
		}
		got, want := tests.mannWhitney(x, y), float64(extreme)/float64(ways)
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%v, %v: p=%v, want %v", x, y, got, want)
		}
	}
}

// The same of the signed-rank test, over all signs.
func TestSignedRankByEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var tests rankTests
	for range 200 {
		d := make([]float64, 1+r.IntN(9))
		values := []int{2, 6, 1 << 40}[r.IntN(3)]
		for i := range d {
			d[i] = float64(r.IntN(2*values+1) - values)
		}
		got := tests.signedRank(d)
		d = slices.DeleteFunc(d, func(v float64) bool { return v == 0 })
		negative := func(sign uint) (sum float64) {
			for i, v := range d {
				below, same := 0, 0
				for _, w := range d {
					switch {
					case math.Abs(w) < math.Abs(v):
						below++
					case math.Abs(w) == math.Abs(v):
						same++
					}
				}
				if sign>>i&1 == 1 {
					sum += float64(below) + float64(same+1)/2
				}
			}
			return sum
		}
		var signs uint
		for i, v := range d {
			if v < 0 {
				signs |= 1 << i
			}
		}
		extreme := 0
		for s := range uint(1) << len(d) {
			if negative(s) <= negative(signs) {
				extreme++
			}
		}
		if want := float64(extreme) / math.Exp2(float64(len(d))); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: p=%v, want %v", d, got, want)
		}
	}
}

// The two-sided test is benchstat's, in every size and with and without ties.
func TestMannWhitneyIsBenchmaths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var tests rankTests
	for _, n := range []int{1, 2, 3, 5, 10, 13, 25, 26, 50, 51, 60} {
		for _, m := range []int{1, 4, 10, 25, 50, 60} {
			for _, values := range []int{1, 3, 40, 1 << 40} {
				if n*m > 400 && values == 40 && n <= 25 && m <= 25 {
					continue // there benchmath takes long
				}
				x, y := randomSample(r, n, values), randomSample(r, m, values)
				want := benchmath.AssumeNothing.Compare(benchmath.NewSample(x, &benchmath.DefaultThresholds),
					benchmath.NewSample(y, &benchmath.DefaultThresholds)).P
				if got := tests.mannWhitneyTwoSided(x, y); math.Abs(got-min(1, want)) > 1e-9 {
					t.Errorf("n=%d, m=%d, %d values: p=%v, benchmath says %v", n, m, values, got, want)
				}
			}
		}
	}
}

// Where the exact distributions end, the normal one takes over without a jump,
// and errs on the side of caution in the tail.
func TestNormalApproximation(t *testing.T) {
	var tests rankTests
	check := func(name string, exact []float64, mean, variance float64) {
		t.Helper()
		for _, z := range []float64{-4.5, -4, -3, -2, -1, 0} {
			k := int(mean + z*math.Sqrt(variance))
			if p, approx := exact[k], lowerTail(float64(k), mean, variance); approx < 0.98*p || approx > 3*p {
				t.Errorf("%s at %v sigma: %v, approximately %v", name, z, p, approx)
			}
		}
	}
	n := float64(exactSize)
	check("U", tests.uTable(exactSize, exactSize), n*n/2, n*n*(2*n+1)/12)
	n = exactPairs
	check("T", tests.wTable(exactPairs), n*(n+1)/4, n*(n+1)*(2*n+1)/24)
	// Two sizes of difference, each shared by many.
	r := rand.New(rand.NewPCG(9, 9))
	d := make([]float64, exactPairs+20)
	for i := range d {
		d[i] = float64(1+i%2) * math.Copysign(1, r.Float64()-0.4)
	}
	approx := tests.signedRank(d)
	ranks, negative := doubledRanks(d)
	if exact := signedSum(ranks, negative)[negative]; math.Abs(approx/exact-1) > 0.02 {
		t.Errorf("%d tied pairs: p=%v, exactly %v", len(d), approx, exact)
	}
	if p := lowerTail(3, 3, 0); p != 1 {
		t.Errorf("no variance: p=%v", p)
	}
}

// doubledRanks is each difference's rank by size, doubled, and the sum of the
// negative ones'.
func doubledRanks(d []float64) (ranks []int, negative int) {
	for _, v := range d {
		rank := 1
		for _, w := range d {
			switch {
			case math.Abs(w) < math.Abs(v):
				rank += 2
			case math.Abs(w) == math.Abs(v):
				rank++
			}
		}
		ranks = append(ranks, rank)
		if v < 0 {
			negative += rank
		}
	}
	return ranks, negative
}

func BenchmarkTiedTail(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	x, y := randomSample(r, 25, 40), randomSample(r, 25, 40)
	var tests rankTests
	for b.Loop() {
		tests.mannWhitneyTwoSided(x, y)
	}
}
