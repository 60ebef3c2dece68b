package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Sort puts events in order of their start, keeping the order of those that
// start together, and widens the window to hold them all. Importers, whose
// events come in any order, call it once at the end.
func (r *Recording) Sort() {
	moved := sortLog(&r.Calls, func(c *Call) int64 { return c.Start })
	sortLog(&r.Ops, func(o *Op) int64 { return o.Start })
	if moved != nil {
		for _, o := range r.Ops.All() {
			if o.Call >= 0 && int(o.Call) < len(moved) {
				o.Call = moved[o.Call]
			}
		}
		for i := range r.HostWork {
			if c := r.HostWork[i].Call; c >= 0 && int(c) < len(moved) {
				r.HostWork[i].Call = moved[c]
			}
		}
	}
	slices.SortStableFunc(r.HostWork, func(a, b HostWork) int { return cmp.Compare(a.Call, b.Call) })
	byStart := func(a, b Span) int { return cmp.Compare(a.Start, b.Start) }
	slices.SortStableFunc(r.Steps, byStart)
	slices.SortStableFunc(r.Phases, byStart)
	r.widen()
}

// sortLog sorts a log by start, and says for every index which it became; nil
// where nothing moved.
func sortLog[T any](l *Log[T], start func(*T) int64) (became []int32) {
	order := make([]int32, l.Len())
	sorted, last := true, int64(0)
	for i, v := range l.All() {
		order[i] = int32(i)
		sorted = sorted && (i == 0 || start(v) >= last)
		last = start(v)
	}
	if sorted {
		return nil
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(start(l.At(int(a))), start(l.At(int(b))))
	})
	became = make([]int32, l.Len())
	for to, from := range order {
		became[from] = int32(to)
	}
	for i := range order { // each cycle in place: a second log would double the memory
		first := *l.At(i)
		for to := i; ; {
			from := int(order[to])
			order[to] = int32(to)
			if from == i {
				*l.At(to) = first
				break
			}
			*l.At(to) = *l.At(from)
			to = from
		}
	}
	return became
}

// widen makes the window hold every event.
func (r *Recording) widen() {
	empty := r.Start == 0 && r.End == 0
	hold := func(start, end int64) {
		if empty {
			r.Start, r.End, empty = start, end, false
		}
		r.Start, r.End = min(r.Start, start), max(r.End, end)
	}
	for _, c := range r.Calls.All() {
		hold(c.Start, c.Start+c.Dur)
	}
	for _, o := range r.Ops.All() {
		hold(o.Start, o.Start+o.Dur)
	}
	for _, spans := range [][]Span{r.Steps, r.Phases} {
		for _, s := range spans {
			hold(s.Start, s.End)
		}
	}
}

// CheckValid says what is wrong with a recording whose events are out of order,
// end before they start, lie outside the window or point to what is not there.
// Whatever writes a recording out calls it first.
func (r *Recording) CheckValid() error {
	if r.Start > r.End {
		return fmt.Errorf("recording: the window ends at %d, before it starts at %d", r.End, r.Start)
	}
	return errors.Join(r.checkCalls(), r.checkOps(), r.checkSpans("step", r.Steps), r.checkSpans("phase", r.Phases), r.checkRest())
}

func (r *Recording) checkCalls() error {
	last := r.Start
	for i, c := range r.Calls.All() {
		err := errors.Join(r.checkTime(c.Start, c.Dur, &last), r.checkName(c.Name), r.checkName(c.Phase), r.checkSite(c.Site), r.checkStep(c.Step))
		if err != nil {
			return fmt.Errorf("recording: call %d of %d: %w", i, r.Calls.Len(), err)
		}
	}
	return nil
}

func (r *Recording) checkOps() error {
	last := r.Start
	for i, o := range r.Ops.All() {
		err := errors.Join(r.checkTime(o.Start, o.Dur, &last), r.checkName(o.Name))
		if o.Call < -1 || int(o.Call) >= r.Calls.Len() {
			err = errors.Join(err, fmt.Errorf("it belongs to call %d of %d", o.Call, r.Calls.Len()))
		}
		if o.Detail < -1 || int(o.Detail) >= r.Detail.Len() {
			err = errors.Join(err, fmt.Errorf("it has detail %d of %d", o.Detail, r.Detail.Len()))
		}
		if err != nil {
			return fmt.Errorf("recording: op %d of %d: %w", i, r.Ops.Len(), err)
		}
	}
	return nil
}

func (r *Recording) checkSpans(what string, spans []Span) error {
	last := r.Start
	for i, s := range spans {
		err := errors.Join(r.checkTime(s.Start, s.End-s.Start, &last), r.checkName(s.Name), r.checkStep(s.Step))
		if i > 0 && spans[i-1].End > s.Start {
			err = errors.Join(err, errors.New("it begins before the one before it ends"))
		}
		if err != nil {
			return fmt.Errorf("recording: %s %d of %d: %w", what, i, len(spans), err)
		}
	}
	return nil
}

func (r *Recording) checkRest() error {
	for i, d := range r.Detail.All() {
		if err := errors.Join(r.checkName(d.Phase), r.checkSite(d.Site)); err != nil {
			return fmt.Errorf("recording: detail %d of %d: %w", i, r.Detail.Len(), err)
		}
	}
	for i, p := range r.Padded {
		if err := errors.Join(r.checkName(p.Phase), r.checkSite(p.Site), r.checkStep(p.Step)); err != nil {
			return fmt.Errorf("recording: padding %d of %d: %w", i, len(r.Padded), err)
		}
	}
	for i, w := range r.HostWork {
		if w.Call < 0 || int(w.Call) >= r.Calls.Len() {
			return fmt.Errorf("recording: host work %d of %d: it belongs to call %d of %d", i, len(r.HostWork), w.Call, r.Calls.Len())
		}
	}
	return nil
}

// checkTime refuses what starts before the event before it, or ends before it
// starts, or lies outside the window.
func (r *Recording) checkTime(start, dur int64, last *int64) error {
	switch {
	case dur < 0:
		return fmt.Errorf("it takes %d ns", dur)
	case start < *last:
		return fmt.Errorf("it starts at %d, before %d", start, *last)
	case start+dur > r.End:
		return fmt.Errorf("it ends at %d, after the window's end at %d", start+dur, r.End)
	}
	*last = start
	return nil
}

func (r *Recording) checkName(id NameID) error {
	if int(id) >= r.Names.Len() {
		return fmt.Errorf("it has name %d of %d", id, r.Names.Len())
	}
	return nil
}

func (r *Recording) checkSite(id SiteID) error {
	if id != 0 && int(id) >= len(r.Sites) {
		return fmt.Errorf("it has call site %d of %d", id, len(r.Sites))
	}
	return nil
}

// checkStep refuses steps that are not there; where a source knows no steps,
// every event is outside of them.
func (r *Recording) checkStep(step int32) error {
	if step < -1 || int(step) >= len(r.Steps) {
		return fmt.Errorf("it is of step %d of %d", step, len(r.Steps))
	}
	return nil
}
