package bench

import (
	"math"
	"slices"
)

// Sizes up to which the distributions are exact; above them they are close
// enough to normal, and the normal's tails are the heavier ones.
const (
	exactSize     = 50  // samples a side
	exactTiedSize = 25  // samples a side where some are equal
	exactPairs    = 100 // pairs
)

// rankTests are the two rank tests, with the tables they have made so far.
// The zero value is ready to use.
type rankTests struct {
	u map[[2]int][]float64 // Mann-Whitney: P(U <= i) by sizes
	w map[int][]float64    // signed ranks: P(T <= i) by size

	space []float64 // of tiedTail, used again
}

// mannWhitney is the chance of y being this much larger than x, or more, were
// they samples of one distribution: the one-sided Mann-Whitney U test. Both
// are sorted.
func (t *rankTests) mannWhitney(x, y []float64) float64 {
	ties, twoU := mergeRanks(x, y)
	return t.uTail(ties, len(x), len(y), twoU)
}

// mannWhitneyTwoSided is the chance of x and y being this far apart or further:
// twice the smaller tail of x's U, as benchstat has it. Package benchmath has
// the same test; this one remembers its tables and takes a fraction of a
// millisecond where there are ties, which there take ten.
func (t *rankTests) mannWhitneyTwoSided(x, y []float64) float64 {
	n, m := len(x), len(y)
	ties, twoU := mergeRanks(x, y)
	if len(ties) == 1 || twoU == n*m {
		return 1
	}
	return min(1, 2*t.uTail(ties, n, m, min(twoU, 2*n*m-twoU)))
}

// uTail is P(2U <= twoU) for samples of n and m values, of which ties[i]
// share the i-th rank.
func (t *rankTests) uTail(ties []int, n, m, twoU int) float64 {
	switch {
	case len(ties) == n+m && n <= exactSize && m <= exactSize:
		return t.uTable(n, m)[twoU/2]
	case n <= exactTiedSize && m <= exactTiedSize:
		return t.tiedTail(ties, n, twoU)
	}
	total := float64(n + m)
	tied := 0.0
	for _, k := range ties {
		tied += float64(k) * (float64(k)*float64(k) - 1)
	}
	mean := float64(n) * float64(m) / 2
	variance := float64(n) * float64(m) / 12 * (total + 1 - tied/(total*(total-1)))
	return lowerTail(float64(twoU)/2, mean, variance)
}

// mergeRanks counts the equal values at each rank of x and y together, and
// twice the number of pairs in which x is the larger; an equal pair is a half.
func mergeRanks(x, y []float64) (ties []int, twoU int) {
	ties = make([]int, 0, len(x)+len(y))
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		v := math.Inf(1)
		if i < len(x) {
			v = x[i]
		}
		if j < len(y) {
			v = min(v, y[j])
		}
		i0, j0 := i, j
		for i < len(x) && x[i] == v {
			i++
		}
		for j < len(y) && y[j] == v {
			j++
		}
		ties = append(ties, i-i0+j-j0)
		twoU += (i - i0) * (2*j0 + j - j0)
	}
	return ties, twoU
}

// lowerTail is P(X <= v) of a normal variable that stands for a discrete one.
func lowerTail(v, mean, variance float64) float64 {
	if variance == 0 { // all values are equal
		return 1
	}
	return math.Erfc(-(v+0.5-mean)/math.Sqrt(2*variance)) / 2
}

// uTable is P(U <= i) for samples without equal values, from Mann and
// Whitney's recurrence: the largest of all values is one of the n, and then
// above all m of the other sample, or it is one of the m.
func (t *rankTests) uTable(n, m int) []float64 {
	if table := t.u[[2]int{n, m}]; table != nil {
		return table
	}
	// rows[i] is P(U = u) for sizes i and j, as j grows to m.
	rows := make([][]float64, n+1)
	for i := range rows {
		rows[i] = make([]float64, n*m+1)
		rows[i][0] = 1
	}
	for j := 1; j <= m; j++ {
		for i := 1; i <= n; i++ {
			for u := i * j; u >= 0; u-- {
				p := float64(j) * rows[i][u]
				if u >= j {
					p += float64(i) * rows[i-1][u-j]
				}
				rows[i][u] = p / float64(i+j)
			}
		}
	}
	table := cumulate(rows[n])
	if t.u == nil {
		t.u = map[[2]int][]float64{}
	}
	t.u[[2]int{n, m}] = table
	return table
}

// tiedTail is P(2U <= twoU) where n values are drawn from all, ties[i] of
// which share the i-th rank: it counts the draws, rank by rank.
func (t *rankTests) tiedTail(ties []int, n, twoU int) float64 {
	total := 0
	for _, tie := range ties {
		total += tie
	}
	// ways[k][u]: draws of k values, among those so far, with 2U = u. The
	// arrays are as long as u has become.
	ways := make([][]float64, n+1)
	ways[0] = []float64{1}
	t.space = slices.Grow(t.space[:0], n*(twoU+1))
	for k := 1; k <= n; k++ {
		ways[k] = t.space[(k-1)*(twoU+1) : (k-1)*(twoU+1) : k*(twoU+1)]
	}
	seen := 0
	for _, tie := range ties {
		left := total - seen - tie
		for k := min(n, seen+tie); k >= max(1, n-left); k-- {
			draws := 1.0 // of c out of tie
			for c := 1; c <= min(tie, k); c++ {
				draws *= float64(tie-c+1) / float64(c)
				// Each of the c is above those before it that were not drawn, and
				// level with the rest of its rank.
				step := 2*c*(seen-(k-c)) + c*(tie-c)
				ways[k] = addShifted(ways[k], ways[k-c], step, twoU, draws)
			}
		}
		seen += tie
	}
	sum := 0.0
	for _, w := range ways[n] {
		sum += w
	}
	return min(1, sum/choose(total, n))
}

// addShifted adds draws times from, moved up by step, to to, and drops what
// comes to lie above limit. A negative step means from has no draws.
func addShifted(to, from []float64, step, limit int, draws float64) []float64 {
	if len(from) == 0 || step < 0 || step > limit {
		return to
	}
	end := min(len(from)+step, limit+1)
	for len(to) < end {
		to = append(to, 0)
	}
	for i, w := range from[:end-step] {
		to[i+step] += draws * w
	}
	return to
}

// signedRank is the chance of differences this far above zero, or further,
// were they as likely above it as below: Wilcoxon's one-sided signed-rank
// test. Differences of zero are left out, as he did.
func (t *rankTests) signedRank(differences []float64) float64 {
	var d []float64
	for _, v := range differences {
		if v != 0 {
			d = append(d, v)
		}
	}
	if len(d) == 0 {
		return 1
	}
	slices.SortFunc(d, func(a, b float64) int {
		switch a, b := math.Abs(a), math.Abs(b); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	// Ranks are doubled, so that the mean of ranks that are shared is whole.
	ranks := make([]int, len(d))
	negative, tied := 0, 0.0
	for i := 0; i < len(d); {
		j := i
		for j < len(d) && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		tied += float64(j-i) * (float64(j-i)*float64(j-i) - 1)
		for k := i; k < j; k++ {
			ranks[k] = i + j + 1
			if d[k] < 0 {
				negative += ranks[k]
			}
		}
		i = j
	}
	n := float64(len(d))
	switch {
	case tied == 0 && len(d) <= exactPairs:
		return t.wTable(len(d))[negative/2]
	case len(d) <= exactPairs:
		return signedSum(ranks, negative)[negative]
	}
	return lowerTail(float64(negative)/2, n*(n+1)/4, n*(n+1)*(2*n+1)/24-tied/48)
}

// wTable is P(T <= i) for n differences of different sizes.
func (t *rankTests) wTable(n int) []float64 {
	if table := t.w[n]; table != nil {
		return table
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	if t.w == nil {
		t.w = map[int][]float64{}
	}
	t.w[n] = signedSum(ranks, n*(n+1)/2)
	return t.w[n]
}

// signedSum is P(sum <= i), for i up to limit, of the sum of ranks each of
// which counts or not with even chances.
func signedSum(ranks []int, limit int) []float64 {
	p := make([]float64, limit+1)
	p[0] = 1
	for _, r := range ranks {
		for s := limit; s >= 0; s-- {
			p[s] /= 2
			if s >= r {
				p[s] += p[s-r] / 2
			}
		}
	}
	return cumulate(p)
}

func cumulate(p []float64) []float64 {
	sum := 0.0
	for i := range p {
		sum += p[i]
		p[i] = min(1, sum)
	}
	return p
}

// choose is the number of ways to choose k of n, as near as a float64 can be.
func choose(n, k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c = c * float64(n-k+i) / float64(i)
	}
	return c
}
