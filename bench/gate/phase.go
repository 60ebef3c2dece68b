package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gputax/bench"

	"golang.org/x/perf/benchfmt"
)

// pair is two runs, one of either side, taken right after each other.
type pair struct {
	runs     [2]*benchfmt.Result
	controls [2]time.Duration // the control's mean time around each
}

// job is benchmarks that run in one process.
type job struct {
	pkg   string
	ids   []id
	time  string
	count int
	taken int           // pairs, those that were disturbed too
	spent time.Duration // on them
}

// phase is samples that are judged together: the first, or the fresh ones that
// must confirm them.
type phase struct {
	*gate
	alpha  float64 // for all its looks
	layout int     // its layouts come after this one
	rows   []rowID // what it is to decide
	jobs   []*job
	looks  []look
	next   int // the look that comes next

	pairs          map[id][]pair // those that count
	taken, dropped int
	short          time.Duration // how much more time the first look takes than there is
}

// newPhase prepares to sample the benchmarks of rows.
func (g *gate) newPhase(rows []rowID, alpha float64, layout int) *phase {
	p := &phase{gate: g, alpha: alpha, layout: layout, rows: rows, looks: g.plan.looks(alpha, len(rows)), pairs: map[id][]pair{}}
	for _, key := range g.timed {
		if !slices.ContainsFunc(rows, func(r rowID) bool { return r.id == key }) {
			continue
		}
		op := max(opTime(g.first[0][key]), opTime(g.first[1][key]))
		benchtime, count := g.plan.request(op)
		i := slices.IndexFunc(p.jobs, func(j *job) bool {
			return j.pkg == key.pkg && j.time == benchtime && j.count == count && len(j.ids) < g.plan.Chunk
		})
		if i < 0 {
			i = len(p.jobs)
			p.jobs = append(p.jobs, &job{pkg: key.pkg, time: benchtime, count: count})
		}
		p.jobs[i].ids = append(p.jobs[i].ids, key)
	}
	return p
}

// link makes the binaries that the phase will run, both sides' at a time, and
// returns how long that took.
func (p *phase) link(ctx context.Context) (time.Duration, error) {
	start := p.Now()
	for _, pkg := range p.packages() {
		if p.plan.Layouts > 1 {
			p.Log("link %d layouts of both sides: %s", p.plan.Layouts, pkg)
		}
		for i, layout := range p.layouts() {
			p.Progress("layout %d of %d", i+1, p.plan.Layouts)
			if err := p.linkLayout(ctx, pkg, layout); err != nil {
				return 0, err
			}
		}
	}
	return p.Now().Sub(start), nil
}

func (p *phase) linkLayout(ctx context.Context, pkg string, layout int) error {
	var wg sync.WaitGroup
	var errs [2]error
	for side := range p.sides {
		if l, ok := p.sides[side].(Linker); ok {
			wg.Go(func() { errs[side] = l.Link(ctx, pkg, layout) })
		}
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// unlink removes them, which together can be large.
func (p *phase) unlink() error {
	var errs []error
	for _, pkg := range p.packages() {
		for _, layout := range p.layouts() {
			for _, side := range p.sides {
				if l, ok := side.(Linker); ok {
					errs = append(errs, l.Unlink(pkg, layout))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// packages is those of the phase's jobs.
func (p *phase) packages() []string {
	var out []string
	for _, j := range p.jobs {
		if !slices.Contains(out, j.pkg) {
			out = append(out, j.pkg)
		}
	}
	return out
}

// layouts is those that the phase needs linked.
func (p *phase) layouts() []int {
	if p.plan.Layouts == 1 {
		return nil
	}
	out := make([]int, p.plan.Layouts)
	for i := range out {
		out[i] = p.layout + 1 + i
	}
	return out
}

// run samples and judges, look by look, until every row is decided, the looks
// are used up, the machine turns out to be disturbed, or it is late. It can be
// called again with a later deadline.
func (p *phase) run(ctx context.Context, deadline time.Time) error {
	for p.next < len(p.looks) && p.moved == "" && len(p.openRows()) > 0 {
		late, err := p.sample(ctx, p.looks[p.next].pairs, deadline)
		if err != nil {
			return err
		}
		p.moved = p.disturbed()
		if late || p.moved != "" {
			break
		}
		if err := p.judge(); err != nil {
			return err
		}
	}
	return nil
}

// end judges what there is, where run has stopped between two looks. It uses
// up one look of those that are left, so that no row is judged more often than
// planned.
func (p *phase) end() error {
	if p.next == len(p.looks) || p.moved != "" || len(p.openRows()) == 0 {
		return nil
	}
	return p.judge()
}

// attempts is how many pairs are tried for each that is wanted.
const attempts = 3

// grace is the part of the budget by which the first look may be late: before
// it nothing is decided, and all samples would be for nothing.
const grace = 0.1

// sample takes pairs of every job with open rows until it has n that count, and
// says whether the deadline came first.
func (p *phase) sample(ctx context.Context, n int, deadline time.Time) (late bool, err error) {
	var allowed time.Duration
	if p.next == 0 {
		allowed = time.Duration(grace * float64(p.plan.Budget))
	}
	for round := 1; ; round++ {
		var todo []*job
		for _, j := range p.jobs {
			if ids := p.open(j); len(ids) > 0 && len(p.pairs[ids[0]]) < n && j.taken < attempts*n {
				todo = append(todo, j)
			}
		}
		if len(todo) == 0 {
			return false, nil
		}
		p.random.Shuffle(len(todo), func(i, k int) { todo[i], todo[k] = todo[k], todo[i] })
		for i, j := range todo {
			if p.Now().After(deadline.Add(allowed)) {
				return true, nil
			}
			p.Progress("round %d, %d of %d: %s", round, i+1, len(todo), j.ids[0].name)
			if err := p.block(ctx, j); err != nil {
				return false, err
			}
		}
		if p.next == 0 && round == 1 {
			if p.short = max(0, p.remaining(n)-p.deadline.Add(allowed).Sub(p.Now())); p.short > 0 {
				return true, nil
			}
		}
	}
}

// remaining is about how long n pairs of every job will still take.
func (p *phase) remaining(n int) time.Duration {
	var sum time.Duration
	for _, j := range p.jobs {
		if ids := p.open(j); len(ids) > 0 && j.taken > 0 {
			sum += j.spent / time.Duration(j.taken) * time.Duration(max(0, n-len(p.pairs[ids[0]])))
		}
	}
	return sum
}

// open is the benchmarks of a job with rows that are not decided.
func (p *phase) open(of *job) []id {
	var out []id
	for _, r := range p.openRows() {
		if slices.Contains(of.ids, r.id) && !slices.Contains(out, r.id) {
			out = append(out, r.id)
		}
	}
	return out
}

// block takes two pairs of a job, base head head base or the other way round,
// with the control before, between and after.
func (p *phase) block(ctx context.Context, j *job) error {
	start := p.Now()
	ids := p.open(j)
	request := Request{Package: j.pkg, Time: j.time, Count: j.count}
	names := make([]string, len(ids))
	for i, key := range ids {
		names[i] = key.name
	}
	request.Bench = Exactly(names...)
	first := p.random.IntN(2)
	control := p.Control()
	for _, order := range [2][2]int{{first, 1 - first}, {1 - first, first}} {
		if p.plan.Layouts > 1 {
			request.Layout = p.layout + 1 + len(p.pairs[ids[0]])%p.plan.Layouts
		}
		var outs [2]*output
		readings := []time.Duration{control}
		for _, side := range order {
			out, err := p.gate.run(ctx, side, request)
			if err != nil {
				return err
			}
			outs[side] = out
			readings = append(readings, p.Control())
		}
		j.taken++
		p.taken++
		if control = readings[2]; !p.plan.calm(readings...) {
			p.dropped++
			continue
		}
		if err := p.keep(ids, outs, readings, order); err != nil {
			return err
		}
	}
	j.spent += p.Now().Sub(start)
	return nil
}

// keep adds a pair of runs to the samples of each benchmark in them.
func (p *phase) keep(ids []id, outs [2]*output, readings []time.Duration, order [2]int) error {
	var controls [2]time.Duration
	controls[order[0]] = (readings[0] + readings[1]) / 2
	controls[order[1]] = (readings[1] + readings[2]) / 2
	for _, key := range ids {
		pr := pair{controls: controls}
		for side, out := range outs {
			if pr.runs[side] = out.results[key]; pr.runs[side] == nil {
				return noResult(side, key)
			}
		}
		p.pairs[key] = append(p.pairs[key], pr)
	}
	return nil
}

// controlPairs is about how many pairs the control is compared by.
const controlPairs = 400

// disturbed says why the machine is to be called disturbed, if it is: too many
// pairs had to be taken again, or the control itself, the same code on both
// sides, differs between the sides.
func (p *phase) disturbed() string {
	if share := float64(p.dropped) / float64(max(p.taken, 1)); share > p.plan.Disturbed {
		return fmt.Sprintf("around %d of %d pairs of runs the control's time changed by a factor above %g", p.dropped, p.taken, p.plan.Calm)
	}
	var pairs []pair
	for _, key := range p.timed {
		pairs = append(pairs, p.pairs[key]...)
	}
	var l ledger
	for i := 0; i < len(pairs); i += 1 + len(pairs)/controlPairs {
		for side, took := range pairs[i].controls {
			r := &benchfmt.Result{Name: benchfmt.Name("Control"), Iters: 1, Values: []benchfmt.Value{{Value: took.Seconds(), Unit: "sec/op"}}}
			if err := l.sides[side].Add(r); err != nil {
				return err.Error()
			}
		}
	}
	c, err := l.compare(bench.CompareOptions{MinEffect: map[string]float64{"": controlEffect}}, controlAlpha)
	if err != nil {
		return "" // no pairs
	}
	if r := &c.Rows[0]; r.Verdict == bench.RowBetter || r.Verdict == bench.RowWorse {
		return fmt.Sprintf("the control, the same code on both sides, took %+.1f%% in runs of head", 100*r.Delta)
	}
	return ""
}

// The control differs between the sides where it does so by this much, and
// chance explains it less often than that.
const (
	controlEffect = 0.02
	controlAlpha  = 0.001
)
