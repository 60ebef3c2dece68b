package bench

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// measurer runs combinations and keeps what they measured.
type measurer struct {
	game    *game
	run     AblationRun
	opt     *AblateOptions
	samples map[uint64][]float64 // by combination
	done    int
	total   int
}

// measure runs each of list once, in that order, and adds what it measured to
// the samples. Exact runs may go on side by side.
func (m *measurer) measure(ctx context.Context, list []uint64) error {
	if m.samples == nil {
		m.samples = map[uint64][]float64{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan uint64)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range min(m.opt.Parallel, len(list)) {
		wait.Go(func() {
			for c := range next {
				mu.Lock()
				if m.opt.Progress != nil {
					m.opt.Progress(m.done, m.total)
				}
				m.done++
				mu.Unlock()
				ns, err := m.once(ctx, c)
				if err != nil {
					cancel(err)
					continue
				}
				mu.Lock()
				m.samples[c] = append(m.samples[c], ns)
				mu.Unlock()
			}
		})
	}
	for _, c := range list {
		select {
		case next <- c:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

func (m *measurer) once(ctx context.Context, c uint64) (float64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	ns, err := m.run(ctx, m.game.on(c))
	if err == nil && (math.IsNaN(ns) || ns < 0 || ns > 1e15) {
		err = fmt.Errorf("took %v ns", ns)
	}
	if err != nil {
		return 0, fmt.Errorf("bench: ablate: with %s: %w", m.game.describe(c), err)
	}
	return ns, nil
}

// describe names the players that a combination has switched.
func (g *game) describe(c uint64) string {
	var on []string
	for p, f := range g.players {
		if c&(1<<p) != 0 {
			on = append(on, strings.TrimSuffix(f.Name+"="+f.To, "="))
		}
	}
	if on == nil {
		return "no factor switched"
	}
	return strings.Join(on, ", ")
}

// combinations is everything measured, from none switched to all.
func (m *measurer) combinations() []Combination {
	var out []Combination
	for c := uint64(0); c <= m.game.all(); c++ {
		s, ok := m.samples[c]
		if !ok {
			continue
		}
		k := Combination{On: make([]bool, len(m.game.players)), NS: wholeMedian(s)}
		for p := range k.On {
			k.On[p] = c&(1<<p) != 0
		}
		if !m.opt.Exact {
			k.Samples = s
		}
		out = append(out, k)
	}
	return out
}

// enumerate runs all combinations and fills in shares and interactions.
func (a *Attribution) enumerate(ctx context.Context, m *measurer) error {
	n := len(m.game.players)
	list := make([]uint64, 1<<n)
	for c := range list {
		list[c] = uint64(c)
	}
	rng := m.rand()
	m.total = m.opt.Rounds << n
	for range m.opt.Rounds {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if err := m.measure(ctx, list); err != nil {
			return err
		}
	}
	v := make([]int64, 1<<n)
	for c := range v {
		v[c] = wholeMedian(m.samples[uint64(c)])
	}
	whole, delta := apportion(shapley(v, n), factorials(n)[n])
	all := len(v) - 1
	a.Before, a.After, a.Delta = v[0], v[all], delta
	for i, f := range m.game.players {
		a.Shares = append(a.Shares, Share{Factor: f, NS: whole[i], Alone: v[1<<i] - v[0], Last: v[all] - v[all&^(1<<i)]})
		for j := range i {
			a.Interactions = append(a.Interactions, Interaction{m.game.players[j].Name, f.Name, interaction(v, n, j, i)})
		}
	}
	a.intervals(rng, m.opt.Rounds, func(rounds []int) []float64 {
		v, some := make([]float64, 1<<n), make([]float64, len(rounds))
		for c := range v {
			for k, r := range rounds {
				some[k] = m.samples[uint64(c)][r]
			}
			v[c] = middle(some)
		}
		return append(shapleyFloat(v, n), v[all]-v[0])
	})
	return nil
}

// sample runs random orders of switching, each followed by its reverse, and
// fills in shares.
func (a *Attribution) sample(ctx context.Context, m *measurer) error {
	n, rng := len(m.game.players), m.rand()
	var orders [][]int
	for range m.opt.Permutations / 2 {
		order := rng.Perm(n)
		back := slices.Clone(order)
		slices.Reverse(back)
		orders = append(orders, order, back)
	}
	gains, err := m.follow(ctx, rng, orders)
	if err != nil {
		return err
	}
	parts := make([]*big.Int, n)
	for i := range parts {
		parts[i] = new(big.Int)
		for _, g := range gains {
			parts[i].Add(parts[i], big.NewInt(g[i]))
		}
	}
	whole, delta := apportion(parts, int64(len(orders)))
	a.Permutations, a.Delta = len(orders), delta
	a.Before = wholeMedian(m.samples[0])
	a.After = a.Before + delta
	for i, f := range m.game.players {
		s := Share{Factor: f, NS: whole[i]}
		s.Alone, s.Last = m.ends(i)
		a.Shares = append(a.Shares, s)
	}
	a.intervals(rng, len(orders)/2, func(pairs []int) []float64 {
		out := make([]float64, n+1)
		for _, p := range pairs {
			for _, g := range gains[2*p : 2*p+2] {
				for i, d := range g {
					out[i] += float64(d) / float64(2*len(pairs))
					out[n] += float64(d) / float64(2*len(pairs))
				}
			}
		}
		return out
	})
	return nil
}

// follow is what each player changes in each order, in whole nanoseconds.
// Exact combinations are run once; others anew for each order, its steps in
// random order.
func (m *measurer) follow(ctx context.Context, rng *rand.Rand, orders [][]int) ([][]int64, error) {
	paths := make([][]uint64, len(orders))
	for k, order := range orders {
		paths[k] = append(paths[k], 0)
		for i, p := range order {
			paths[k] = append(paths[k], paths[k][i]|1<<p)
		}
	}
	lists := paths
	if m.opt.Exact {
		every := slices.Concat(paths...)
		slices.Sort(every)
		lists = [][]uint64{slices.Compact(every)}
	}
	for _, list := range lists {
		m.total += len(list)
	}
	gains := make([][]int64, 0, len(orders))
	for k, list := range lists {
		list = slices.Clone(list)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if err := m.measure(ctx, list); err != nil {
			return nil, err
		}
		if !m.opt.Exact {
			gains = append(gains, m.gains(orders[k], paths[k]))
		}
	}
	for k := len(gains); k < len(orders); k++ {
		gains = append(gains, m.gains(orders[k], paths[k]))
	}
	return gains, nil
}

// gains is what each step of a path changed, by player, as last measured.
func (m *measurer) gains(order []int, path []uint64) []int64 {
	last := func(c uint64) int64 {
		s := m.samples[c]
		return int64(math.Round(s[len(s)-1]))
	}
	out := make([]int64, len(order))
	for i, p := range order {
		out[p] = last(path[i+1]) - last(path[i])
	}
	return out
}

// ends is what switching player i first and last changes, where an order began
// or ended with it; else 0.
func (m *measurer) ends(i int) (alone, last int64) {
	all := m.game.all()
	if s, ok := m.samples[1<<i]; ok {
		alone = wholeMedian(s) - wholeMedian(m.samples[0])
	}
	if s, ok := m.samples[all&^(1<<i)]; ok {
		last = wholeMedian(m.samples[all]) - wholeMedian(s)
	}
	return alone, last
}

func (m *measurer) rand() *rand.Rand { return rand.New(rand.NewPCG(m.opt.Seed, 0x616b6c61746500)) }

// resamples is how many times an interval's measurements are drawn anew.
const resamples = 1000

// intervals fills in the 95% intervals of the shares and of the difference, by
// drawing the n blocks that were measured anew, with replacement. Estimate is
// every share, and the difference after them, by the blocks it is given. A few
// blocks vary less than what they are drawn from; the ends are moved out by as
// much as Student's t is wider than the normal distribution.
func (a *Attribution) intervals(rng *rand.Rand, n int, estimate func(blocks []int) []float64) {
	if n < 2 {
		a.DeltaLow, a.DeltaHigh = a.Delta, a.Delta
		for i := range a.Shares {
			a.Shares[i].Low, a.Shares[i].High = a.Shares[i].NS, a.Shares[i].NS
		}
		return
	}
	draws := make([][]float64, len(a.Shares)+1)
	blocks := make([]int, n)
	for range resamples {
		for i := range blocks {
			blocks[i] = rng.IntN(n)
		}
		for i, v := range estimate(blocks) {
			draws[i] = append(draws[i], v)
		}
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) * math.Sqrt(float64(n)/float64(n-1))
	tail := distuv.UnitNormal.CDF(-t)
	ends := func(draws []float64, value int64) (low, high int64) {
		slices.Sort(draws)
		cut := int(tail * resamples)
		low, high = int64(math.Floor(draws[cut])), int64(math.Ceil(draws[resamples-1-cut]))
		return min(low, value), max(high, value)
	}
	for i := range a.Shares {
		a.Shares[i].Low, a.Shares[i].High = ends(draws[i], a.Shares[i].NS)
	}
	a.DeltaLow, a.DeltaHigh = ends(draws[len(a.Shares)], a.Delta)
}

// middle is the median; it sorts s.
func middle(s []float64) float64 {
	slices.Sort(s)
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

func wholeMedian(s []float64) int64 { return int64(math.Round(middle(slices.Clone(s)))) }
