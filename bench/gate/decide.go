package gate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gputax/bench"
)

// rowID is a benchmark in one unit, the unit as comparisons have it.
type rowID struct {
	id
	unit string
}

func (g *gate) rowID(r *bench.Row) rowID {
	name := r.Benchmark
	if n := len(name) - len(g.suffix); n > 0 && name[n:] == g.suffix {
		name = name[:n]
	}
	return rowID{id{r.Pkg, name}, r.Unit}
}

// state is how far a row of times has come.
type state struct {
	row     bench.Row  // as it was last judged
	decided bool       // in the phase under way
	suspect *bench.Row // what the first samples said, where they said worse
	verdict bench.RowVerdict
	note    string
}

// screenShare is the part of the budget that the first samples may take while
// there is something to confirm.
const screenShare = 2. / 3

// judgeTimes samples the rows that statistics must decide, and confirms those
// that would fail on fresh samples, from binaries of other layouts.
func (g *gate) judgeTimes(ctx context.Context) error {
	if len(g.timed) == 0 {
		return nil
	}
	screen := g.newPhase(g.timedRows(), g.plan.Screen, 0)
	g.phases = append(g.phases, screen)
	if _, err := screen.link(ctx); err != nil {
		return err
	}
	start := g.Now()
	g.deadline = start.Add(g.plan.Budget)
	g.Log("time %s, for %v at most", count(len(g.timed), "benchmark", "benchmarks"), g.plan.Budget)
	if err := screen.run(ctx, start.Add(time.Duration(screenShare*float64(g.plan.Budget)))); err != nil {
		return err
	}
	if len(g.suspects()) == 0 && screen.short == 0 {
		if err := screen.run(ctx, g.deadline); err != nil {
			return err
		}
	}
	if err := screen.end(); err != nil {
		return err
	}
	screen.settle()
	if err := screen.unlink(); err != nil {
		return err
	}
	suspects := g.suspects()
	if len(suspects) == 0 || g.moved != "" {
		return nil
	}
	for _, r := range suspects {
		s := g.states[r]
		s.decided, s.row = false, bench.Row{}
	}
	confirm := g.newPhase(suspects, g.plan.Confirm, g.plan.Layouts)
	g.phases = append(g.phases, confirm)
	took, err := confirm.link(ctx)
	if err != nil {
		return err
	}
	g.deadline = g.deadline.Add(took)
	if err := confirm.run(ctx, g.deadline); err != nil {
		return err
	}
	if err := confirm.end(); err != nil {
		return err
	}
	confirm.settle()
	return confirm.unlink()
}

// timedRows is the rows that statistics must decide, in the order they were
// found.
func (g *gate) timedRows() []rowID { return g.rowsWhere(func(*state) bool { return true }) }

// suspects is the rows that the first samples call worse.
func (g *gate) suspects() []rowID {
	return g.rowsWhere(func(s *state) bool { return s.suspect != nil })
}

func (g *gate) rowsWhere(want func(*state) bool) []rowID {
	var out []rowID
	for _, key := range g.timed {
		for _, unit := range g.noisyUnits(key) {
			if s := g.states[rowID{key, unit}]; s != nil && want(s) {
				out = append(out, rowID{key, unit})
			}
		}
	}
	return out
}

// noisyUnits is the units of a benchmark that are not exact.
func (g *gate) noisyUnits(key id) []string {
	var out []string
	for _, v := range g.first[0][key].Values {
		if unit := baseUnit(v.Unit); !g.exact[unit] {
			out = append(out, unit)
		}
	}
	return out
}

// judge takes the next look: it compares all samples so far and decides what
// can be decided.
func (p *phase) judge() error {
	open := p.openRows()
	// The rows that are decided keep their share.
	look := p.looks[p.next]
	alpha := p.alpha * look.share * float64(len(open)) / float64(len(p.rows))
	p.next++
	if !slices.ContainsFunc(open, func(r rowID) bool { return len(p.pairs[r.id]) > 0 }) {
		return nil
	}
	c, err := p.compareRows(open, p.pairs, alpha, nil)
	if err != nil {
		return err
	}
	excluded, err := p.excluded(open, c, sameAlpha*look.share)
	if err != nil {
		return err
	}
	pooled, err := p.pooled(open)
	if err != nil {
		return err
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		key := p.rowID(r)
		s := p.states[key]
		s.row = *r
		sure := r.Verdict != bench.RowTooFew && r.PAdjusted < alpha
		switch change := worsening(r.Delta, r.Better); {
		case sure && change > 0 && s.suspect == nil:
			s.suspect = r
			s.decide(bench.RowWorse, "")
			p.Log("slower, to be confirmed: %s %s %+.1f%%", r.Benchmark, r.Written, 100*r.Delta)
		case sure && change > 0 && worsening(pooled[key], r.Better) > r.MinEffect:
			s.decide(bench.RowWorse, fmt.Sprintf("confirmed by %d fresh pairs: %+.1f%%", r.New.N, 100*r.Delta))
		case excluded[key]:
			v := bench.RowSame
			if sure && s.suspect == nil && worsening(r.Delta, r.Better) < -r.MinEffect {
				v = bench.RowBetter
			}
			s.decide(v, p.notConfirmed(s))
		}
	}
	return nil
}

// openRows is the rows that are not decided.
func (p *phase) openRows() []rowID {
	return slices.DeleteFunc(slices.Clone(p.rows), func(r rowID) bool { return p.states[r].decided })
}

func (s *state) decide(v bench.RowVerdict, note string) { s.decided, s.verdict, s.note = true, v, note }

// compareRows compares rows by pairs of runs. Base's values are multiplied by
// the row's factor, where there is one.
func (g *gate) compareRows(rows []rowID, pairs map[id][]pair, alpha float64, factor map[rowID]float64) (*bench.Comparison, error) {
	var l ledger
	if err := l.announce(g.units); err != nil {
		return nil, err
	}
	opt := bench.CompareOptions{MinEffect: g.Compare.MinEffect}
	if factor != nil {
		opt.MinEffect = map[string]float64{"": 0}
	}
	for _, r := range rows {
		for _, pr := range pairs[r.id] {
			for side, run := range pr.runs {
				one := *run
				one.Values = nil
				for _, v := range run.Values {
					if baseUnit(v.Unit) != r.unit {
						continue
					}
					if f, ok := factor[r]; ok && side == 0 {
						v.Value *= f
					}
					one.Values = append(one.Values, v)
				}
				if len(one.Values) == 0 {
					continue
				}
				if err := l.sides[side].Add(&one); err != nil {
					return nil, err
				}
			}
		}
	}
	return l.compare(opt, alpha)
}

// sameAlpha is the chance, over all looks, that a slowdown of just the minimum
// effect is taken to be excluded.
const sameAlpha = 0.05

// excluded is the rows of a comparison whose samples exclude a slowdown of the
// minimum effect: those in which head is faster than base made slower by that.
func (p *phase) excluded(open []rowID, c *bench.Comparison, alpha float64) (map[rowID]bool, error) {
	factor := map[rowID]float64{}
	for i := range c.Rows {
		r := &c.Rows[i]
		factor[p.rowID(r)] = 1 + r.MinEffect
		if r.Better == bench.HigherBetter {
			factor[p.rowID(r)] = 1 / (1 + r.MinEffect)
		}
	}
	slower, err := p.compareRows(open, p.pairs, alpha, factor)
	if err != nil {
		return nil, err
	}
	out := map[rowID]bool{}
	for i := range slower.Rows {
		r := &slower.Rows[i]
		out[p.rowID(r)] = r.P < 2*alpha && worsening(r.Delta, r.Better) < 0
	}
	return out, nil
}

// pooled is the change of each row by the samples of all phases together.
func (p *phase) pooled(open []rowID) (map[rowID]float64, error) {
	c, err := p.compareRows(open, p.allPairs(), pooledAlpha, nil)
	if err != nil {
		return nil, err
	}
	out := map[rowID]float64{}
	for i := range c.Rows {
		out[p.rowID(&c.Rows[i])] = c.Rows[i].Delta
	}
	return out, nil
}

// allPairs is the pairs of all phases.
func (g *gate) allPairs() map[id][]pair {
	pairs := map[id][]pair{}
	for _, p := range g.phases {
		for key := range p.pairs {
			pairs[key] = append(pairs[key], p.pairs[key]...)
		}
	}
	return pairs
}

// settle decides what is still open when samples have come to an end: a row
// passes where they exclude a slowdown of the plan's tolerance, and is
// undecided otherwise.
func (p *phase) settle() {
	for _, key := range p.rows {
		s := p.states[key]
		if s.decided {
			continue
		}
		if s.row.New.N > 0 && s.row.Verdict == bench.RowSame && worst(&s.row) <= p.plan.Tolerance {
			s.decide(bench.RowSame, p.notConfirmed(s))
			continue
		}
		why := p.why(s)
		if s.suspect != nil {
			why = fmt.Sprintf("%+.1f%% at first, and to be confirmed; %s", 100*s.suspect.Delta, why)
		}
		s.decide(bench.RowTooFew, "undecided: "+why)
	}
}

// notConfirmed is the note on a row that passes though the first samples said
// worse.
func (p *phase) notConfirmed(s *state) string {
	if s.suspect == nil {
		return ""
	}
	return fmt.Sprintf("%+.1f%% at first, %+.1f%% in %d fresh pairs", 100*s.suspect.Delta, 100*s.row.Delta, s.row.New.N)
}

// why says why a row is undecided, and what would decide it.
func (p *phase) why(s *state) string {
	if p.short > 0 {
		return fmt.Sprintf("the first look at all benchmarks takes about %v more than the budget; raise the budget, or choose fewer benchmarks", p.short.Round(time.Second))
	}
	n := s.row.New.N
	if n == 0 {
		return "the budget was spent before any pair of runs was calm; raise it, or take a quieter machine"
	}
	bound := worst(&s.row)
	text := fmt.Sprintf("after %d pairs it may still be %.1f%% worse", n, 100*bound)
	if math.IsInf(bound, 1) {
		text = fmt.Sprintf("%d pairs exclude nothing", n)
	}
	if more := max(s.row.Need, p.looks[0].pairs) - n; more > 0 {
		text += fmt.Sprintf("; about %d more are needed, raise the budget or take a quieter machine", more)
	}
	return text
}

// worst is how much worse a row may be at most, with 97.5% confidence.
func worst(r *bench.Row) float64 {
	if r.Better == bench.HigherBetter {
		return worsening(r.Effect.Lo, r.Better)
	}
	return r.Effect.Hi
}

// worsening is by how many times a change makes things worse, less 1, whichever
// way the unit is better.
func worsening(delta float64, better bench.Direction) float64 {
	if better == bench.HigherBetter {
		return 1/(1+delta) - 1
	}
	return delta
}
