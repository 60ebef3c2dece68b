package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gputax/profiles"
)

// tally adds up events of one kind in one place.
type tally struct {
	phase              profiles.NameID
	count, bytes, time int64
	first              int32 // its first call; -1 where that is not known
	step               int32 // of the first
	seen               int64 // in how many steps
	last               int32 // the step seen last
	names              map[profiles.NameID]int64
}

// add counts one event.
func (t *tally) add(a *analysis, call int32, name profiles.NameID, bytes, time int64) {
	t.addMany(a, call, name, 1, bytes, time)
}

// addMany counts n events of one step, the first of them call; bytes and time
// are of all together.
func (t *tally) addMany(a *analysis, call int32, name profiles.NameID, n, bytes, time int64) {
	step := int32(-1)
	if call >= 0 {
		step = a.rec.Calls.At(int(call)).Step
	}
	t.addStep(step, call, name, n, bytes, time)
}

// addStep is addMany for events of no call, whose step is known.
func (t *tally) addStep(step, call int32, name profiles.NameID, n, bytes, time int64) {
	if t.count == 0 {
		t.first, t.step, t.names = call, step, map[profiles.NameID]int64{}
	}
	if t.count == 0 || step != t.last {
		t.seen, t.last = t.seen+1, step
	}
	t.count += n
	t.bytes += bytes
	t.time += time
	t.names[name] += n
}

// perStep says whether there are at least n in a step that has any, and some in
// more than half of the steps: what happens once, while things warm up, is not
// the loop's.
func (t *tally) perStep(a *analysis, n int64) bool {
	return t.count >= n*t.seen && 2*t.seen > a.stepCount()
}

// tallies are kept by key, in order of first appearance.
type tallies[K comparable] struct {
	all   []*tally
	keys  []K // of all
	index map[K]*tally
}

// at is the tally of k, which is in phase.
func (t *tallies[K]) at(k K, phase profiles.NameID) *tally {
	if t.index == nil {
		t.index = map[K]*tally{}
	}
	one := t.index[k]
	if one == nil {
		one = &tally{phase: phase, first: -1, step: -1}
		t.index[k], t.all, t.keys = one, append(t.all, one), append(t.keys, k)
	}
	return one
}

// perStep is those that are there n times a step.
func (t *tallies[K]) perStep(a *analysis, n int64) []*tally {
	var list []*tally
	for _, one := range t.all {
		if one.perStep(a, n) {
			list = append(list, one)
		}
	}
	return list
}

// Evidence is kept to what is read. Of a call stack, a frame and its caller: the
// first may be a helper that makes all launches.
const (
	mostPlaces = 4
	mostNames  = 3
	mostFrames = 2
)

// evidence is tallies as a finding shows them, the longest first.
func (a *analysis) evidence(list []*tally) Evidence {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y *tally) int { return cmp.Compare(y.time, x.time) })
	var e Evidence
	names := map[profiles.NameID]int64{}
	for i, t := range list {
		e.Count, e.Bytes, e.Time = e.Count+t.count, e.Bytes+t.bytes, e.Time+t.time
		for id, n := range t.names {
			names[id] += n
		}
		if i < mostPlaces {
			e.Places = append(e.Places, Place{Phase: a.rec.Names.Name(t.phase), Site: a.site(t.first), Step: t.step,
				Count: t.count, Bytes: t.bytes, Time: t.time})
		}
	}
	e.Names = a.topNames(names)
	return e
}

// topNames is the most frequent names.
func (a *analysis) topNames(names map[profiles.NameID]int64) []string {
	ids := make([]profiles.NameID, 0, len(names))
	for id := range names {
		if id != 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y profiles.NameID) int {
		return cmp.Or(cmp.Compare(names[y], names[x]), cmp.Compare(x, y))
	})
	var top []string
	for _, id := range ids[:min(len(ids), mostNames)] {
		top = append(top, a.rec.Names.Name(id))
	}
	return top
}

// site is where the program made a call; "" where that is not known.
func (a *analysis) site(call int32) string {
	if call < 0 {
		return ""
	}
	id := a.rec.Calls.At(int(call)).Site
	if id == 0 || int(id) >= len(a.rec.Sites) || len(a.rec.Sites[id].Frames) == 0 {
		return ""
	}
	var frames []string
	for _, f := range a.rec.Sites[id].Frames[:min(len(a.rec.Sites[id].Frames), mostFrames)] {
		if f.File != "" {
			f.Func = fmt.Sprintf("%s (%s:%d)", f.Func, f.File, f.Line)
		}
		frames = append(frames, f.Func)
	}
	return strings.Join(frames, ", called by ")
}

// where says which phase of a finding's evidence is the dearest, and how much of
// all that is counted is there, for titles.
func (e *Evidence) where() string {
	if len(e.Places) == 0 || e.Places[0].Phase == "" {
		return ""
	}
	if e.Places[0].Count == e.Count {
		return ", in " + e.Places[0].Phase
	}
	return fmt.Sprintf(", %.0f%% in %s", 100*share(e.Places[0].Count, e.Count), e.Places[0].Phase)
}

// title is what was found, how often, of which size where sized is set, and
// where.
func (a *analysis) title(what string, e *Evidence, sized bool) string {
	of := ""
	if sized {
		of = " of " + size(e.Bytes/max(e.Count, 1))
	}
	return fmt.Sprintf("%s: %s%s%s", what, a.each(e.Count), of, e.where())
}

// each is a number by step, for titles: "128 a step", or "384" where no steps
// are known.
func (a *analysis) each(n int64) string {
	if !a.steps {
		return number(n)
	}
	per := float64(n) / float64(a.stepCount())
	if per < 10 && per != float64(int64(per)) {
		return fmt.Sprintf("%.1f a step", per)
	}
	return number(int64(per+0.5)) + " a step"
}

// number is n with commas.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// scaled is v in the largest of units, which are apart by a factor, that it is
// at least one of, with three digits.
func scaled(v, factor float64, units ...string) string {
	i := 0
	for v >= factor && i+1 < len(units) {
		v /= factor
		i++
	}
	switch {
	case i == 0 || v >= 99.95:
		return fmt.Sprintf("%.0f %s", v, units[i])
	case v >= 9.995:
		return fmt.Sprintf("%.1f %s", v, units[i])
	}
	return fmt.Sprintf("%.2f %s", v, units[i])
}

// duration is a time as people write it.
func duration(ns int64) string { return scaled(float64(ns), 1000, "ns", "us", "ms", "s") }

// size is a number of bytes as people write it.
func size(n int64) string { return scaled(float64(n), 1000, "B", "kB", "MB", "GB") }
