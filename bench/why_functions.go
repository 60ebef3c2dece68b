package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// shownFunctions is how many functions an explanation lists.
const shownFunctions = 20

// functions fills in the change of each host function's own time an op, the
// largest first, from CPU profiles of the two sides. How many ops a profile saw
// it does not say: its length over the time of an op is taken.
func (x *Explanation) functions(old, new *profile.Profile) error {
	before, err := ownTimes(old, x.Before)
	if err != nil {
		return fmt.Errorf("the old CPU profile: %w", err)
	}
	after, err := ownTimes(new, x.After)
	if err != nil {
		return fmt.Errorf("the new CPU profile: %w", err)
	}
	for name, ns := range before {
		x.Functions = append(x.Functions, x.part(Part{Name: name, Before: ns, After: after[name]}))
	}
	for name, ns := range after {
		if _, ok := before[name]; !ok {
			x.Functions = append(x.Functions, x.part(Part{Name: name, After: ns}))
		}
	}
	total := 0.0
	for _, f := range x.Functions {
		total += f.NS
	}
	x.FunctionsExplained = x.fraction(total)
	// By name first: maps have no order.
	slices.SortFunc(x.Functions, func(a, b Part) int { return strings.Compare(a.Name, b.Name) })
	sortParts(x.Functions)
	if len(x.Functions) > shownFunctions {
		x.Functions = x.Functions[:shownFunctions]
	}
	return nil
}

// ownTimes is each function's own CPU time in a profile, in nanoseconds an op
// that takes perOp.
func ownTimes(p *profile.Profile, perOp float64) (map[string]float64, error) {
	index := -1
	for i, t := range p.SampleType {
		if t.Type == "cpu" && t.Unit == "nanoseconds" {
			index = i
		}
	}
	if index < 0 {
		return nil, errors.New("it has no CPU time; make it with go test -cpuprofile")
	}
	times, total := map[string]float64{}, 0.0
	for _, s := range p.Sample {
		v := float64(s.Value[index])
		total += v
		if len(s.Location) > 0 && len(s.Location[0].Line) > 0 && s.Location[0].Line[0].Function != nil {
			times[s.Location[0].Line[0].Function.Name] += v
		}
	}
	if total == 0 {
		return nil, errors.New("it has no samples; profile a longer run")
	}
	if p.DurationNanos > 0 {
		total = float64(p.DurationNanos)
	}
	for name := range times {
		times[name] *= perOp / total
	}
	return times, nil
}
