package bench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Acceptance lets one change pass on purpose.
type Acceptance struct {
	Benchmark string  // the name, with or without "Benchmark"; * stands for any part of it
	Unit      string  // as in the results; * for any unit
	Value     float64 // what the new value may be; NaN for missing
	Reason    string
	Line      int // in the file, for messages; 0 where there is none
}

// ReadAccept reads acceptances: a line each, with the benchmark, the unit, the
// new value (or the word missing) and a reason, which is required. A # starts
// a comment at the start of a line.
func ReadAccept(in io.Reader, name string) ([]Acceptance, error) {
	var out []Acceptance
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 4 {
			return nil, fmt.Errorf("%s:%d: want BENCHMARK UNIT NEWVALUE REASON", name, n)
		}
		a := Acceptance{Benchmark: f[0], Unit: f[1], Value: math.NaN(), Reason: strings.Join(f[3:], " "), Line: n}
		if f[2] != "missing" {
			v, err := strconv.ParseFloat(f[2], 64)
			if err != nil || math.IsNaN(v) {
				return nil, fmt.Errorf("%s:%d: new value %q: want a number in %s, or missing", name, n, f[2], f[1])
			}
			a.Value = v
		}
		out = append(out, a)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func (a *Acceptance) String() string {
	value := "missing"
	if !math.IsNaN(a.Value) {
		value = strconv.FormatFloat(a.Value, 'g', -1, 64)
	}
	s := fmt.Sprintf("accept %s %s %s", a.Benchmark, a.Unit, value)
	if a.Line > 0 {
		s += fmt.Sprintf(" (line %d)", a.Line)
	}
	return s
}

// accept lets rows pass, and says which acceptances were of no use.
func accept(rows []Row, list []Acceptance) []error {
	var warnings []error
	for i := range list {
		a := &list[i]
		matched, used := false, false
		for k := range rows {
			r := &rows[k]
			if !a.matches(r) {
				continue
			}
			matched = true
			if !r.Verdict.Fails() {
				continue
			}
			used = true
			if a.covers(r) {
				r.Verdict, r.Note = RowAccepted, a.Reason
			} else {
				r.Note = strings.TrimPrefix(r.Note+"; not what was accepted: "+a.String(), "; ")
			}
		}
		switch {
		case !matched:
			warnings = append(warnings, fmt.Errorf("%v: matches no row", a))
		case !used:
			warnings = append(warnings, fmt.Errorf("%v: no longer needed", a))
		}
	}
	return warnings
}

// matches says whether an acceptance is meant for a row. One of missing is for
// missing rows, of that unit or of the whole benchmark.
func (a *Acceptance) matches(r *Row) bool {
	if missing := math.IsNaN(a.Value); missing != (r.Verdict == RowMissing) {
		return false
	}
	name := strings.TrimPrefix(a.Benchmark, "Benchmark")
	return (a.Unit == "*" || tidyUnit(a.Unit) == r.Unit || r.Unit == "") &&
		(glob(name, r.Benchmark) || glob(name, trimProcs(r.Benchmark)))
}

// covers says whether a failing row is what was accepted.
func (a *Acceptance) covers(r *Row) bool {
	if r.Verdict == RowMissing {
		return true
	}
	value := a.Value
	if a.Unit != "*" {
		_, factor := tidyFactor(a.Unit)
		value *= factor
	}
	switch {
	case r.Exact:
		return r.New.Lo == value && r.New.Hi == value
	case r.Better == HigherBetter:
		return r.New.Center*(1+r.MinEffect) >= value
	}
	return r.New.Center <= value*(1+r.MinEffect)
}

// glob matches a whole name; * stands for any characters, slashes too.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(name, p)
		if i < 0 {
			return false
		}
		name = name[i+len(p):]
	}
	return true
}
