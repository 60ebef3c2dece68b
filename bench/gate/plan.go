package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gputax/bench"
)

// Plan says how times are sampled and when they are decided. docs/gate.md has
// the reasons for the numbers of [DefaultPlan].
type Plan struct {
	// Budget is how long timed runs may take in all.
	Budget time.Duration
	// Pairs is the looks: the numbers of pairs of runs, one run of either side
	// in a pair, at which a row is judged. A row that no look decides is sampled
	// up to the last.
	Pairs []int
	// Screen and Confirm are the chances of calling any row worse that is not,
	// in the first samples and in the fresh ones that must confirm it, over all
	// rows and looks. A false failure takes both.
	Screen, Confirm float64
	// Tolerance is the slowdown that samples must exclude for a row to pass
	// that ran out of looks or budget, as a fraction.
	Tolerance float64
	// Calm is the factor by which the control's times around a pair may differ; a
	// pair around which they differ more is taken again.
	Calm float64
	// Disturbed is the share of pairs taken again above which the machine is
	// called disturbed.
	Disturbed float64
	// Windows and Window say what a run measures: so many windows of about that
	// time, of which the median counts. An op longer than a window is timed once
	// a window, with fewer windows as it gets longer.
	Windows int
	Window  time.Duration
	// Layouts is how many binaries a side has in a phase, that differ in the
	// order of functions in memory, which by itself can move a time by some
	// percent. 1 is the linker's order alone.
	Layouts int
	// Chunk is how many benchmarks share a process. More than one saves time
	// where starting a process is slow, and lets what disturbs one pair disturb
	// several.
	Chunk int
}

// DefaultPlan finds slowdowns of 5%, and most of 3%, on a machine that is not
// disturbed, and bounds the chance of failing for no reason by 1%; docs/gate.md
// has what was measured.
func DefaultPlan() Plan {
	return Plan{
		Budget:    10 * time.Minute,
		Pairs:     []int{12, 24, 48, 96, 192, 384, 768},
		Screen:    0.1,
		Confirm:   0.1,
		Tolerance: 0.05,
		Calm:      2,
		Disturbed: 1. / 3,
		Windows:   5,
		Window:    time.Millisecond,
		Layouts:   16,
		Chunk:     1,
	}
}

// Alpha is the chance of any false failure in a gate, that the plan bounds.
func (p *Plan) Alpha() float64 { return math.Round(p.Screen*p.Confirm*1e9) / 1e9 }

// Check refuses a plan that cannot be carried out.
func (p *Plan) Check() error {
	fraction := func(v float64) bool { return v > 0 && v < 1 }
	switch {
	case p.Budget <= 0:
		return fmt.Errorf("gate: budget %v: want time for the timed runs, such as 10m", p.Budget)
	case len(p.Pairs) == 0 || p.Pairs[0] < 1 || !slices.IsSorted(p.Pairs):
		return fmt.Errorf("gate: looks at %v pairs: want numbers that grow, such as 12 24 48", p.Pairs)
	case !fraction(p.Screen) || !fraction(p.Confirm):
		return fmt.Errorf("gate: chances %v and %v of a false alarm: want both above 0 and below 1", p.Screen, p.Confirm)
	case !fraction(p.Tolerance) || !fraction(p.Disturbed):
		return fmt.Errorf("gate: tolerance %v, disturbed %v: want both above 0 and below 1", p.Tolerance, p.Disturbed)
	case !(p.Calm > 1):
		return fmt.Errorf("gate: calm %v: want a factor above 1", p.Calm)
	case p.Windows < 1 || p.Window <= 0:
		return fmt.Errorf("gate: %d windows of %v: want at least one, of some time", p.Windows, p.Window)
	case p.Layouts < 1 || p.Chunk < 1:
		return errors.New("gate: layouts and chunk must be at least 1")
	}
	return nil
}

// look is one judging of the rows.
type look struct {
	pairs int
	share float64 // of the phase's chances of error that it may spend
}

// looks shares the chances of error out among the looks, by how many samples
// each adds: what is small shows late. Where rows are many, the first looks may
// be too early for any verdict at a chance of alpha, and are put off.
func (p *Plan) looks(alpha float64, rows int) []look {
	var out []look
	before := 0
	for _, n := range p.Pairs {
		share := float64(n-before) / float64(p.Pairs[len(p.Pairs)-1])
		before = n
		need := max(n, bench.SamplesNeeded(alpha*share, rows, true))
		if k := len(out) - 1; k >= 0 && out[k].pairs >= need {
			out[k].share += share // both fall together
			continue
		}
		out = append(out, look{need, share})
	}
	return out
}

// calm says whether the control's readings around a pair agree.
func (p *Plan) calm(readings ...time.Duration) bool {
	return float64(slices.Max(readings)) <= p.Calm*float64(slices.Min(readings))
}

// longRun is how long all windows of a run may take together where the op is
// longer than a window.
const longRun = 20 * time.Millisecond

// request is what a run of a benchmark measures, by how long its op took when
// it was first run: the windows, and what each is.
func (p *Plan) request(op time.Duration) (benchtime string, count int) {
	if op < p.Window {
		return p.Window.String(), p.Windows
	}
	return "1x", max(1, min(p.Windows, int(longRun/op)))
}
