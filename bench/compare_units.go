package bench

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// Direction says which way a unit gets better.
type Direction int

const (
	NoDirection  Direction = 0 // unknown: changes are shown and not judged
	LowerBetter  Direction = -1
	HigherBetter Direction = +1
)

func (d Direction) String() string {
	switch d {
	case LowerBetter:
		return "lower"
	case HigherBetter:
		return "higher"
	}
	return "unknown"
}

// unitInfo is what Unit lines say of a unit.
type unitInfo struct {
	better Direction
	exact  bool
}

func tidyFactor(unit string) (tidied string, factor float64) {
	factor, tidied = benchunit.Tidy(1, unit)
	return tidied, factor
}

func tidyUnit(unit string) string {
	tidied, _ := tidyFactor(unit)
	return tidied
}

// addMetadata takes one key=value of a Unit line.
func (r *Results) addMetadata(m *benchfmt.UnitMetadata) error {
	switch m.Key + "=" + m.Value {
	case "better=lower":
		return r.announce(m.Unit, unitInfo{better: LowerBetter})
	case "better=higher":
		return r.announce(m.Unit, unitInfo{better: HigherBetter})
	case "assume=exact":
		return r.announce(m.Unit, unitInfo{exact: true})
	case "assume=nothing":
		return nil
	}
	if m.Key == "better" || m.Key == "assume" {
		return fmt.Errorf("unit %s: %s=%s is not known; want better=lower|higher, assume=exact|nothing", m.OrigUnit, m.Key, m.Value)
	}
	return nil
}

func (r *Results) announce(unit string, u unitInfo) error {
	unit = tidyUnit(unit)
	have := r.units[unit]
	both, err := have.merge(u)
	if err != nil {
		return fmt.Errorf("unit %s: %w", unit, err)
	}
	if r.units == nil {
		r.units = map[string]unitInfo{}
	}
	r.units[unit] = both
	return nil
}

// merge is what two announcements say together. Exact wins: who calls a unit
// exact wants every change to count.
func (u unitInfo) merge(v unitInfo) (unitInfo, error) {
	if u.better*v.better < 0 {
		return u, fmt.Errorf("better=%v in one place and better=%v in another", u.better, v.better)
	}
	if u.better == NoDirection {
		u.better = v.better
	}
	u.exact = u.exact || v.exact
	return u, nil
}

// unitOf is what the two sides say of a unit in base units, with a direction
// by the unit's name where neither gives one.
func unitOf(old, new *Results, unit string) (unitInfo, error) {
	u, err := old.units[unit].merge(new.units[unit])
	if err != nil {
		return u, fmt.Errorf("unit %s: %w", unit, err)
	}
	if u.better == NoDirection {
		u.better = directionOf(unit)
	}
	if u.better == NoDirection && u.exact {
		u.better = LowerBetter
	}
	return u, nil
}

// directionOf tells a unit's direction by its name: rates are better higher;
// times, memory and the counters of package device lower.
func directionOf(unit string) Direction {
	numerator, denominator, _ := strings.Cut(unit, "/")
	if denominator == "s" || denominator == "sec" {
		return HigherBetter
	}
	tokens := strings.Split(numerator, "-")
	switch tokens[len(tokens)-1] {
	case "sec", "ns", "us", "µs", "ms", "B", "bytes", "allocs":
		return LowerBetter
	}
	if Exact(unit) {
		return LowerBetter
	}
	return NoDirection
}

// exactText is a value in base units as results in the written unit have it,
// with all its digits: 15 are enough for counts and nanoseconds, and hide what
// the way to base units and back did to the last one.
func exactText(v float64, written string) string {
	_, factor := tidyFactor(written)
	return strconv.FormatFloat(float64(toDigits(v/factor, 15)), 'f', -1, 64)
}
