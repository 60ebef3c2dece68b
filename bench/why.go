package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// ExplainOptions is what there is to explain a difference with, besides the two
// sides' results.
type ExplainOptions struct {
	// Prices are those of the device that the benchmark ran on; nil prices
	// nothing.
	Prices *Prices
	// OldCPU and NewCPU are CPU profiles of the benchmark, both or neither.
	// They must be of this benchmark alone: what they add up to is taken to be
	// the time of its ops.
	OldCPU, NewCPU *profile.Profile
	// Real says that the difference is known to be one, by a test such as the
	// gate's. Otherwise medians in each other's range are noise.
	Real bool
}

// ErrNoTime is the error of a benchmark whose two sides have no unit of time in
// common.
var ErrNoTime = errors.New("the two sides have no time in common, ns/op or sim-ns/op")

// The share of a difference that must be explained before a culprit is named,
// and the most that may be: above, what was counted overlaps with other work.
const (
	LeastExplained = 0.7
	MostExplained  = 1.3
)

// Explanation says what of a benchmark's difference is in what was counted.
// Times are nanoseconds an op.
type Explanation struct {
	Benchmark string  `json:"benchmark"`
	Unit      string  `json:"unit"` // ns/op, or sim-ns/op where the time is simulated
	Before    float64 `json:"before_ns"`
	After     float64 `json:"after_ns"`
	Delta     float64 `json:"delta_ns"`
	Noise     bool    `json:"noise"` // each side's median lies in the other's range, or there is no difference

	PricedBy  string  `json:"priced_by,omitempty"` // whose prices; empty where there are none
	Events    []Event `json:"events,omitempty"`    // the counters that changed, by what they cost
	Explained float64 `json:"explained"`           // the part of Delta that the events come to; may be above 1 or below 0

	Phases []Part `json:"phases,omitempty"` // where on the host's time line the difference is

	Functions          []Part  `json:"functions,omitempty"`           // where in the host's code, by CPU profiles
	FunctionsExplained float64 `json:"functions_explained,omitempty"` // the part of Delta that all functions come to

	Culprit  string   `json:"culprit,omitempty"` // the event or function with the largest part, where enough is explained
	Verdict  string   `json:"verdict"`           // that, in a sentence, or why there is none
	Warnings []string `json:"warnings,omitempty"`
}

// Event is a change in how often something happened.
type Event struct {
	Name     string  `json:"event"`
	Counter  string  `json:"counter"`  // the unit it was counted in
	Change   float64 `json:"change"`   // how many more an op
	Price    float64 `json:"price_ns"` // of one; 0 where it has none
	NS       float64 `json:"ns"`       // Change times Price
	Fraction float64 `json:"fraction"` // of the difference
}

// Part is the time of a phase or a function.
type Part struct {
	Name     string  `json:"name"`
	Before   float64 `json:"before_ns"`
	After    float64 `json:"after_ns"`
	NS       float64 `json:"ns"`       // After less Before
	Fraction float64 `json:"fraction"` // of the difference

	// Error is the standard error of NS that comes from a CPU profile's sampling.
	Error float64 `json:"error_ns,omitempty"`
}

// clear says that chance in the sampling hardly explains the change.
func (p *Part) clear() bool { return math.Abs(p.NS) > 3*p.Error }

// Explain says what of the difference between two sides' results of a benchmark
// is in its counters, phases and host functions. It names a culprit only where
// what was counted comes to 70% to 130% of the difference, and there is one.
func Explain(old, new *Results, name string, opt ExplainOptions) (*Explanation, error) {
	name = strings.TrimPrefix(name, "Benchmark")
	unit, err := timeOf(old, new, name)
	if err != nil {
		return nil, err
	}
	if (opt.OldCPU == nil) != (opt.NewCPU == nil) {
		return nil, fmt.Errorf("bench: explain %s: a CPU profile of one side says nothing; give both", name)
	}
	before, after := old.Samples(name, unit), new.Samples(name, unit)
	x := &Explanation{Benchmark: name, Unit: unit, Before: medianNS(before), After: medianNS(after)}
	x.Delta = x.After - x.Before
	for _, d := range differences(&old.config, &new.config) {
		x.Warnings = append(x.Warnings, d.Error())
	}
	x.Noise = x.Delta == 0 || !Exact(unit) && !opt.Real && withinRanges(before, after)
	x.phases(old, new)
	x.events(old, new, opt.Prices)
	switch {
	case opt.OldCPU != nil && unit == "sim-ns/op":
		x.Warnings = append(x.Warnings, "the time is simulated: CPU profiles, which are of real time, say nothing about it")
	case opt.OldCPU != nil:
		if err := x.functions(opt.OldCPU, opt.NewCPU); err != nil {
			return nil, fmt.Errorf("bench: explain %s: %w", name, err)
		}
	}
	x.judge()
	return x, nil
}

// timeOf is the unit of the benchmark's time that both sides have.
func timeOf(old, new *Results, name string) (string, error) {
	for _, unit := range []string{"sim-ns/op", "ns/op"} {
		if len(old.Samples(name, unit)) > 0 && len(new.Samples(name, unit)) > 0 {
			return unit, nil
		}
	}
	for _, side := range []*Results{old, new} {
		if !slices.Contains(side.Benchmarks(), name) {
			return "", fmt.Errorf("bench: explain: %s has no benchmark %s", sideName(side), name)
		}
	}
	return "", fmt.Errorf("bench: explain %s: %w", name, ErrNoTime)
}

func sideName(r *Results) string {
	if r.Name() == "" {
		return "one side"
	}
	return r.Name()
}

// medianNS is the median of times in seconds, in nanoseconds. Exact times are
// whole nanoseconds, which the way to seconds and back may have bent.
func medianNS(seconds []float64) float64 {
	if len(seconds) == 0 {
		return 0
	}
	return math.Round(middle(slices.Clone(seconds))*1e12) / 1e3
}

// withinRanges says that each side's median lies between the least and the most
// of the other.
func withinRanges(a, b []float64) bool {
	in := func(a, b []float64) bool {
		m := middle(slices.Clone(a))
		return m >= slices.Min(b) && m <= slices.Max(b)
	}
	return in(a, b) && in(b, a)
}

// phases fills in the change of each phase, the largest first.
func (x *Explanation) phases(old, new *Results) {
	prefix := ""
	if x.Unit == "sim-ns/op" {
		prefix = "sim-"
	}
	for _, unit := range unitsOf(x.Benchmark, old, new) {
		name, ok := strings.CutSuffix(unit, "-sec/op") // results are in base units
		if !ok || !strings.HasPrefix(name, prefix) || prefix == "" && strings.HasPrefix(name, "sim-") {
			continue
		}
		name = strings.TrimPrefix(name, prefix)
		if name == "gpu" && prefix == "" { // the device's own time
			continue
		}
		p := Part{Name: name, Before: medianNS(old.Samples(x.Benchmark, unit)), After: medianNS(new.Samples(x.Benchmark, unit))}
		x.Phases = append(x.Phases, x.part(p))
	}
	sortParts(x.Phases)
}

func (x *Explanation) part(p Part) Part {
	p.NS = p.After - p.Before
	p.Fraction = x.fraction(p.NS)
	return p
}

func (x *Explanation) fraction(ns float64) float64 {
	if x.Delta == 0 {
		return 0
	}
	return ns / x.Delta
}

func sortParts(parts []Part) {
	slices.SortStableFunc(parts, func(a, b Part) int { return compareSize(a.NS, b.NS) })
}

// compareSize orders the larger in size first.
func compareSize(a, b float64) int {
	switch x, y := math.Abs(a), math.Abs(b); {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return 0
}

// unitsOf is every unit of a benchmark on either side, in base units, in order
// of appearance.
func unitsOf(name string, sides ...*Results) []string {
	var units []string
	for _, r := range sides {
		for _, b := range r.order {
			if b.name != name {
				continue
			}
			for i := range b.series {
				if !slices.Contains(units, b.series[i].unit) {
					units = append(units, b.series[i].unit)
				}
			}
		}
	}
	return units
}

// judge names the culprit or says why there is none.
func (x *Explanation) judge() {
	enough := func(part float64) bool { return part >= LeastExplained && part <= MostExplained }
	switch {
	case x.Delta == 0:
		x.Verdict = "Both sides take the same time."
		return
	case x.Noise:
		x.Verdict = "The difference is within the noise: each side's median lies in the other's range. No culprit is named."
		return
	case x.PricedBy != "" && len(x.Events) > 0 && enough(x.Explained):
		x.name(x.Events[0].Name, x.Events[0].Fraction, "counted events", x.Explained)
		return
	case len(x.Functions) > 0 && enough(x.FunctionsExplained) && !x.Functions[0].clear():
		x.Verdict = fmt.Sprintf("No culprit is named: host functions come to %s of the difference, but the change of the largest, %s, is not clear of what sampling does. Longer profiles would tell.",
			fractionText(x.FunctionsExplained), x.Functions[0].Name)
		return
	case len(x.Functions) > 0 && enough(x.FunctionsExplained):
		x.name(x.Functions[0].Name, x.Functions[0].Fraction, "host functions", x.FunctionsExplained)
		return
	}
	var found []string
	if x.PricedBy != "" {
		found = append(found, "counted events come to "+fractionText(x.Explained))
	}
	if len(x.Functions) > 0 {
		found = append(found, "host functions come to "+fractionText(x.FunctionsExplained))
	}
	switch {
	case found == nil:
		x.Verdict = "No culprit is named: there are no prices for what was counted on this device, and no CPU profiles."
	case max(x.Explained, x.FunctionsExplained) > MostExplained:
		x.Verdict = "No culprit is named: " + strings.Join(found, " and ") + " of the difference. What is over 130% overlaps with other work."
	default:
		x.Verdict = "No culprit is named: " + strings.Join(found, " and ") + " of the difference, and below 70% is too little."
	}
}

// name makes the largest of what explains enough the culprit, where it is at
// least half of the difference.
func (x *Explanation) name(largest string, part float64, of string, explained float64) {
	if part < 0.5 {
		x.Verdict = fmt.Sprintf("%s come to %s of the difference, but no single one is half of it; the largest, %s, is %s.",
			strings.ToUpper(of[:1])+of[1:], fractionText(explained), largest, fractionText(part))
		return
	}
	x.Culprit = largest
	where := ""
	if len(x.Phases) > 0 && x.Phases[0].Fraction >= 0.5 {
		where = ", in phase " + x.Phases[0].Name
	}
	x.Verdict = fmt.Sprintf("The culprit is %s%s: %s of the difference, of the %s that %s explain.", largest, where, fractionText(part), fractionText(explained), of)
}
