package gate

import (
	"context"
	"fmt"
	"math"
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
	start := g.Now()
	g.deadline = start.Add(g.plan.Budget)
	screen := g.newPhase(g.timedRows(), g.plan.Screen, 0)
	g.phases = append(g.phases, screen)
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
	if err := confirm.run(ctx, g.deadline); err != nil {
		return err
	}
	if err := confirm.end(); err != nil {
		return err
	}
	confirm.settle()
	return nil
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

// judge is one look: it compares all samples so far and decides what can be
// decided.
func (p *phase) judge() error {
	if len(p.pairs) == 0 {
		return nil
	}
	c, err := p.comparePhase(p.alpha / float64(len(p.looks)))
	if err != nil {
		return err
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		s := p.states[p.rowID(r)]
		if s == nil || s.decided {
			continue
		}
		s.row = *r
		switch {
		case r.Verdict == bench.RowWorse:
			s.decide(bench.RowWorse, "")
			if s.suspect == nil {
				s.suspect = r
				p.Log("worse, to be confirmed: %s %s %+.1f%%", r.Benchmark, r.Written, 100*r.Delta)
			} else {
				s.note = fmt.Sprintf("confirmed by %d fresh pairs: %+.1f%%", r.New.N, 100*r.Delta)
			}
		case r.Verdict == bench.RowBetter:
			s.decide(bench.RowBetter, "")
		case r.Verdict == bench.RowSame && worst(r) <= r.MinEffect:
			s.decide(bench.RowSame, "")
		}
		if s.decided && s.suspect != nil && s.verdict != bench.RowWorse {
			s.verdict, s.note = bench.RowSame, p.notConfirmed(s)
		}
	}
	return nil
}

func (s *state) decide(v bench.RowVerdict, note string) { s.decided, s.verdict, s.note = true, v, note }

// comparePhase compares the rows that the phase is to decide.
func (p *phase) comparePhase(alpha float64) (*bench.Comparison, error) {
	var l ledger
	if err := l.announce(p.units); err != nil {
		return nil, err
	}
	for _, r := range p.rows {
		for _, pr := range p.pairs[r.id] {
			for side := range pr.runs {
				if err := l.add(side, pr.runs[side], func(unit string) bool { return baseUnit(unit) == r.unit }); err != nil {
					return nil, err
				}
			}
		}
	}
	return l.compare(bench.CompareOptions{MinEffect: p.Compare.MinEffect}, alpha)
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
			note := ""
			if s.suspect != nil {
				note = p.notConfirmed(s)
			}
			s.decide(bench.RowSame, note)
			continue
		}
		why := p.why(s)
		if s.suspect != nil {
			why = fmt.Sprintf("%+.1f%% at first, and to be confirmed; %s", 100*s.suspect.Delta, why)
		}
		s.decide(bench.RowTooFew, "undecided: "+why)
	}
}

func (p *phase) notConfirmed(s *state) string {
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
	if more := max(s.row.Need, p.looks[0]) - n; more > 0 {
		text += fmt.Sprintf("; about %d more are needed, raise the budget or take a quieter machine", more)
	}
	return text
}

// worst is how much worse a row may be at most, with 97.5% confidence.
func worst(r *bench.Row) float64 {
	if r.Better == bench.HigherBetter {
		return 1/(1+r.Effect.Lo) - 1
	}
	return r.Effect.Hi
}
