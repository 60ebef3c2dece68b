package bench

import (
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// game is the factors as players that can be switched in any combination.
type game struct {
	factors int
	players []Factor
	members [][]int  // which factors each player switches
	ties    []string // why a player switches more than one
}

// newGame ties factors together until every combination of players can run.
func newGame(factors []Factor, feasible func(on []bool) error) (*game, error) {
	g := &game{factors: len(factors)}
	for i := range factors {
		g.members = append(g.members, []int{i})
	}
	for feasible != nil {
		bad, why := g.infeasible(feasible)
		if why == nil {
			break
		}
		if bad == 0 || bad == g.all() {
			return nil, fmt.Errorf("bench: ablate: one side by itself cannot run: %w", why)
		}
		g.tie(bad, feasible, factors, why)
	}
	for _, m := range g.members {
		g.players = append(g.players, joined(factors, m))
	}
	return g, nil
}

// infeasible is a combination of the fewest players that cannot run.
func (g *game) infeasible(feasible func(on []bool) error) (uint64, error) {
	var bad uint64
	var why error
	for c := uint64(0); c <= g.all(); c++ {
		if why != nil && bits.OnesCount64(c) >= bits.OnesCount64(bad) {
			continue
		}
		if err := feasible(g.on(c)); err != nil {
			bad, why = c, err
		}
	}
	return bad, why
}

// tie joins a player of bad, which cannot run, with the first other that makes
// it run, or else with the first other.
func (g *game) tie(bad uint64, feasible func(on []bool) error, factors []Factor, why error) {
	i := bits.TrailingZeros64(bad)
	j := bits.TrailingZeros64(^bad)
	for k := range g.members {
		if bad&(1<<k) == 0 && feasible(g.on(bad|1<<k)) == nil {
			j = k
			break
		}
	}
	i, j = min(i, j), max(i, j)
	merged := append(slices.Clone(g.members[i]), g.members[j]...)
	slices.Sort(merged)
	g.members[i] = merged
	g.members = slices.Delete(g.members, j, j+1)
	g.ties = append(g.ties, fmt.Sprintf("%s are switched as one, since not every combination of them can run: %v", joined(factors, merged).Name, why))
}

// joined is factors as one.
func joined(factors []Factor, members []int) Factor {
	var names, from, to []string
	for _, i := range members {
		names, from, to = append(names, factors[i].Name), append(from, factors[i].From), append(to, factors[i].To)
	}
	return Factor{strings.Join(names, "+"), strings.Join(from, "+"), strings.Join(to, "+")}
}

// all is the combination with every player switched.
func (g *game) all() uint64 { return 1<<len(g.members) - 1 }

// on is which factors a combination of players switches.
func (g *game) on(c uint64) []bool {
	on := make([]bool, g.factors)
	for p, m := range g.members {
		for _, i := range m {
			on[i] = c&(1<<p) != 0
		}
	}
	return on
}

// factorials is 0! to n!.
func factorials(n int) []int64 {
	f := make([]int64, n+1)
	f[0] = 1
	for i := 1; i <= n; i++ {
		f[i] = f[i-1] * int64(i)
	}
	return f
}

// shapley is each of n players' Shapley value in the game v, by combination,
// times n!, so that it is whole.
func shapley(v []int64, n int) []*big.Int {
	f, values := factorials(n), make([]*big.Int, n)
	for i := range n {
		sum := new(big.Int)
		for c := range v {
			if c&(1<<i) != 0 {
				continue
			}
			size := bits.OnesCount(uint(c))
			addProduct(sum, f[size]*f[n-1-size], v[c|1<<i]-v[c])
		}
		values[i] = sum
	}
	return values
}

// shapleyFloat is shapley for resampling: in floating point, and not times n!.
func shapleyFloat(v []float64, n int) []float64 {
	f, values := factorials(n), make([]float64, n)
	for c := range v {
		size := bits.OnesCount(uint(c))
		for i := range n {
			if c&(1<<i) == 0 {
				values[i] += float64(f[size]*f[n-1-size]) / float64(f[n]) * (v[c|1<<i] - v[c])
			}
		}
	}
	return values
}

// interaction is the Shapley interaction index of players i and j in the game
// v, rounded to a whole number.
func interaction(v []int64, n, i, j int) int64 {
	f, sum, both := factorials(n), new(big.Int), 1<<i|1<<j
	for c := range v {
		if c&both != 0 {
			continue
		}
		size := bits.OnesCount(uint(c))
		addProduct(sum, f[size]*f[n-2-size], v[c|both]-v[c|1<<i]-v[c|1<<j]+v[c])
	}
	return rounded(sum, f[n-1])
}

func addProduct(sum *big.Int, a, b int64) {
	sum.Add(sum, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
}

// rounded is n/d, to the nearest whole number, halves up.
func rounded(n *big.Int, d int64) int64 {
	twice := new(big.Int).Lsh(n, 1)
	twice.Add(twice, big.NewInt(d))
	return floorDiv(twice, 2*d).Int64()
}

func floorDiv(n *big.Int, d int64) *big.Int {
	q, _ := new(big.Int).DivMod(n, big.NewInt(d), new(big.Int)) // Euclidean: d is above 0
	return q
}

// apportion is each of parts over d, as whole numbers that add up to their sum
// over d, itself rounded: parts are rounded down, and what is missing goes to
// those that lost most. The opposite of parts gets the opposite of shares.
func apportion(parts []*big.Int, d int64) (whole []int64, total int64) {
	sum, sign := new(big.Int), int64(1)
	for _, p := range parts {
		sum.Add(sum, p)
	}
	if sum.Sign() < 0 {
		sign = -1
	}
	lost, order := make([]*big.Int, len(parts)), make([]int, len(parts))
	missing := rounded(sum.Abs(sum), d)
	total = sign * missing
	for i, p := range parts {
		q, r := new(big.Int).DivMod(new(big.Int).Mul(p, big.NewInt(sign)), big.NewInt(d), new(big.Int))
		whole, lost[i], order[i] = append(whole, q.Int64()), r, i
		missing -= q.Int64()
	}
	slices.SortStableFunc(order, func(a, b int) int { return lost[b].Cmp(lost[a]) })
	for _, i := range order[:missing] {
		whole[i]++
	}
	for i := range whole {
		whole[i] *= sign
	}
	return whole, total
}
