package bench

import (
	"errors"
	"fmt"
	"math"
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
	for name, t := range before {
		x.Functions = append(x.Functions, x.part(Part{Name: name, Before: t.ns, After: after[name].ns, Error: math.Hypot(t.error(), after[name].error())}))
	}
	for name, t := range after {
		if _, ok := before[name]; !ok {
			x.Functions = append(x.Functions, x.part(Part{Name: name, After: t.ns, Error: t.error()}))
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

// ownTime is a function's own time an op, and how many samples say so.
type ownTime struct{ ns, samples float64 }

// error is the standard error of the time: the samples in a function are as
// many as chance makes them.
func (t ownTime) error() float64 {
	if t.samples == 0 {
		return 0
	}
	return t.ns / math.Sqrt(t.samples)
}

// ownTimes is each function's own CPU time in a profile, for an op that takes
// perOp nanoseconds.
func ownTimes(p *profile.Profile, perOp float64) (map[string]ownTime, error) {
	index, counts := -1, -1
	for i, t := range p.SampleType {
		switch {
		case t.Type == "cpu" && t.Unit == "nanoseconds":
			index = i
		case t.Type == "samples" && t.Unit == "count":
			counts = i
		}
	}
	if index < 0 {
		return nil, errors.New("it has no CPU time; make it with go test -cpuprofile")
	}
	times, total := map[string]ownTime{}, 0.0
	for _, s := range p.Sample {
		v := float64(s.Value[index])
		total += v
		if len(s.Location) > 0 && len(s.Location[0].Line) > 0 && s.Location[0].Line[0].Function != nil {
			name := s.Location[0].Line[0].Function.Name
			t := times[name]
			t.ns += v
			if counts >= 0 {
				t.samples += float64(s.Value[counts])
			}
			times[name] = t
		}
	}
	if total == 0 {
		return nil, errors.New("it has no samples; profile a longer run")
	}
	if p.DurationNanos > 0 {
		total = float64(p.DurationNanos)
	}
	for name, t := range times {
		t.ns *= perOp / total
		times[name] = t
	}
	return times, nil
}
