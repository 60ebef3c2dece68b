// Package annotate turns the named ranges that a training script leaves in a
// profile (NVTX ranges, record_function) into a recording's steps and phases,
// and tells every call which it belongs to.
//
//  1. Add every range, in any order.
//  2. Once the recording's calls are in order, Apply.
//
// A step is the outermost range of a step's name. A phase is the innermost other
// range, on the thread of the call or else on the thread that marks the steps:
// autograd launches the backward pass from threads of its own. Ranges around
// whole steps name no phase.
package annotate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gputax/profiles"
)

// defaultStep is how torch.profiler, and most scripts, name a step.
var defaultStep = regexp.MustCompile(`^(?:ProfilerStep#|[Ss]tep[ _#:=]?)\d+$`)

// StepPattern is the names of steps: those that pattern matches from their
// beginning, or the usual ones where it is empty.
func StepPattern(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return defaultStep, nil
	}
	re, err := regexp.Compile(`^(?:` + pattern + `)`)
	if err != nil {
		return nil, fmt.Errorf("step name %q: %w", pattern, err)
	}
	return re, nil
}

// span is one range of one thread.
type span struct {
	start, end int64
	name       profiles.NameID
	class      class
}

// class is what a range's name makes of it.
type class uint8

const (
	plain  class = iota // a phase
	own                 // PyTorch's: a phase where nothing of the user's is around it
	loader              // the wait for a data loader
	step
	ignored // a step of the usual name, where another was asked for
)

// Notes collects ranges.
type Notes struct {
	r       *profiles.Recording
	step    *regexp.Regexp
	classes map[profiles.NameID]class
	threads []thread
	first   uint16 // the process that Steps and Phases are of
}

// thread is the ranges of one thread.
type thread struct {
	proc  uint16
	used  bool
	spans []span
	steps []span // outermost

	next int // cursor: spans before it have begun
	open []span
}

// New collects ranges for r.
func New(r *profiles.Recording, step *regexp.Regexp) *Notes {
	return &Notes{r: r, step: step, classes: map[profiles.NameID]class{}}
}

// Add notes a range of a thread. Threads are numbered as in Call.Thread, and
// processes from 0.
func (n *Notes) Add(proc, threadID uint16, name profiles.NameID, start, end int64) {
	c, ok := n.classes[name]
	if !ok {
		c = n.classOf(n.r.Names.Name(name))
		n.classes[name] = c
	}
	t := n.thread(proc, threadID)
	if c == ignored {
		return
	}
	t.spans = append(t.spans, span{start, max(start, end), name, c})
	if c == loader {
		n.r.Calls.Add(profiles.Call{Start: start, Dur: max(start, end) - start, Name: name, Step: -1, Thread: threadID, Kind: profiles.CallLoad, Blocking: true})
	}
}

// thread is thread id's ranges.
func (n *Notes) thread(proc, id uint16) *thread {
	for len(n.threads) <= int(id) {
		n.threads = append(n.threads, thread{})
	}
	t := &n.threads[id]
	t.proc, t.used = proc, true
	return t
}

// Thread says which process a thread is of, so that its calls find the steps
// of their process.
func (n *Notes) Thread(proc, id uint16) { n.thread(proc, id) }

// Marks says whether a range of that name is more than a phase: a step, or one
// that PyTorch leaves around the loader and the optimizer.
func (n *Notes) Marks(name string) bool { return n.classOf(name) != plain }

func (n *Notes) classOf(name string) class {
	switch {
	case n.step.MatchString(name):
		return step
	case strings.HasPrefix(name, "enumerate(DataLoader)"):
		return loader
	case defaultStep.MatchString(name):
		return ignored
	case strings.HasPrefix(name, "Optimizer."):
		return own
	}
	return plain
}

// Apply sets the recording's Steps and Phases, and Step and Phase of its calls,
// which must be in order of Start, and widens the window to hold them. What is
// not there is said in Unseen.
func (n *Notes) Apply() {
	for i := range n.threads {
		t := &n.threads[i]
		slices.SortStableFunc(t.spans, func(a, b span) int {
			if a.start != b.start {
				return cmp.Compare(a.start, b.start)
			}
			return cmp.Compare(b.end, a.end)
		})
		t.split()
	}
	procs := n.steps()
	for i := range n.threads {
		n.threads[i].drop(procs[n.threads[i].proc])
	}
	n.phases(procs)
	n.calls(procs)
	for _, spans := range [][]profiles.Span{n.r.Steps, n.r.Phases} {
		for _, s := range spans {
			n.r.Start, n.r.End = min(n.r.Start, s.Start), max(n.r.End, s.End)
		}
	}
	n.unseen()
}

// split moves the outermost ranges of steps out of the others.
func (t *thread) split() {
	rest := t.spans[:0]
	for _, s := range t.spans {
		if s.class != step {
			rest = append(rest, s)
			continue
		}
		if k := len(t.steps); k == 0 || s.start >= t.steps[k-1].end {
			t.steps = append(t.steps, s)
		}
	}
	t.spans = rest
}

// drop removes ranges around whole steps.
func (t *thread) drop(steps []placed) {
	t.spans = slices.DeleteFunc(t.spans, func(s span) bool {
		i, _ := slices.BinarySearchFunc(steps, s.start, func(p placed, at int64) int { return cmp.Compare(p.start, at) })
		return i < len(steps) && steps[i].end <= s.end
	})
}

// placed is a step of one process, with its index in Recording.Steps.
type placed struct {
	span
	index  int32
	thread uint16 // that marked it
}

// steps sets Recording.Steps and returns each process's own, in order. The
// steps are those of the process that has the most; another process's k-th of a
// name is that one's k-th of the name.
func (n *Notes) steps() map[uint16][]placed {
	procs := map[uint16][]placed{}
	for id := range n.threads {
		t := &n.threads[id]
		if have := procs[t.proc]; len(t.steps) > len(have) { // the thread that marks the most
			have = have[:0]
			for _, s := range t.steps {
				have = append(have, placed{span: s, thread: uint16(id)})
			}
			procs[t.proc] = have
		}
	}
	n.first = n.leader(procs)
	type key struct {
		name profiles.NameID
		kth  int
	}
	index := map[key]int32{}
	number := func(p uint16, place func(k key, s *placed)) {
		seen := map[profiles.NameID]int{}
		for i := range procs[p] {
			s := &procs[p][i]
			place(key{s.name, seen[s.name]}, s)
			seen[s.name]++
		}
	}
	number(n.first, func(k key, s *placed) {
		s.index = int32(len(n.r.Steps))
		index[k] = s.index
		n.r.Steps = append(n.r.Steps, profiles.Span{Name: s.name, Step: s.index, Start: s.start, End: s.end})
	})
	lost := 0
	for p := range procs {
		if p == n.first {
			continue
		}
		number(p, func(k key, s *placed) {
			at, ok := index[k]
			if !ok {
				at, lost = -1, lost+1
			}
			s.index = at
		})
	}
	if lost > 0 {
		n.r.Warnings = append(n.r.Warnings, fmt.Sprintf("%d steps of other processes have no like in the process with the most steps: what they did counts to no step", lost))
	}
	return procs
}

// leader is the process with the most steps, or else with the most ranges; the
// first of them.
func (n *Notes) leader(procs map[uint16][]placed) uint16 {
	ranges := map[uint16]int{}
	for i := range n.threads {
		ranges[n.threads[i].proc] += len(n.threads[i].spans)
	}
	var best uint16
	for i, p := range n.procOrder() {
		if i == 0 || len(procs[p]) > len(procs[best]) || len(procs[p]) == len(procs[best]) && ranges[p] > ranges[best] {
			best = p
		}
	}
	return best
}

// procOrder is every process with a thread, in order.
func (n *Notes) procOrder() []uint16 {
	var out []uint16
	for i := range n.threads {
		if n.threads[i].used && !slices.Contains(out, n.threads[i].proc) {
			out = append(out, n.threads[i].proc)
		}
	}
	return out
}

// stepAt is the step of a process that t lies in, from cursor on.
func stepAt(steps []placed, cursor *int, t int64) int32 {
	for *cursor < len(steps) && steps[*cursor].end <= t {
		*cursor++
	}
	if *cursor < len(steps) && steps[*cursor].start <= t {
		return steps[*cursor].index
	}
	return -1
}

// phaseAt is the innermost range of t that is open at the time.
func (t *thread) phaseAt(at int64) (profiles.NameID, bool) {
	for t.next < len(t.spans) && t.spans[t.next].start <= at {
		t.open = append(t.open, t.spans[t.next])
		t.next++
	}
	for len(t.open) > 0 && t.open[len(t.open)-1].end <= at {
		t.open = t.open[:len(t.open)-1]
	}
	for i := len(t.open) - 1; i >= 0; i-- {
		if s := t.open[i]; s.end > at && s.class != own {
			return s.name, true
		}
	}
	if k := len(t.open); k > 0 {
		return t.open[k-1].name, true
	}
	return 0, false
}

// calls tells every call its step and phase.
func (n *Notes) calls(procs map[uint16][]placed) {
	cursors, markers := map[uint16]*int{}, map[uint16]*thread{}
	for _, p := range n.procOrder() {
		cursors[p], markers[p] = new(int), n.marker(procs, p)
	}
	for _, c := range n.r.Calls.All() {
		c.Step = -1
		if int(c.Thread) >= len(n.threads) || !n.threads[c.Thread].used {
			continue
		}
		t := &n.threads[c.Thread]
		c.Step = stepAt(procs[t.proc], cursors[t.proc], c.Start)
		name, ok := t.phaseAt(c.Start)
		if m := markers[t.proc]; !ok && m != nil && m != t {
			name, _ = m.phaseAt(c.Start)
		}
		c.Phase = name
	}
}

// marker is the thread that marks a process's steps, or the first that has any
// range where there are no steps.
func (n *Notes) marker(procs map[uint16][]placed, proc uint16) *thread {
	if steps := procs[proc]; len(steps) > 0 {
		return &n.threads[steps[0].thread]
	}
	for i := range n.threads {
		if t := &n.threads[i]; t.used && t.proc == proc && len(t.spans) > 0 {
			return t
		}
	}
	return nil
}

// phases sets Recording.Phases: the flattened ranges of the thread that marks
// the steps.
func (n *Notes) phases(procs map[uint16][]placed) {
	t, steps := n.marker(procs, n.first), procs[n.first]
	if t == nil {
		return
	}
	cursor := 0
	var now profiles.Span
	open := false
	for _, at := range t.edges() {
		name, ok := t.phaseAt(at)
		step := stepAt(steps, &cursor, at)
		if open && ok && name == now.Name && step == now.Step {
			continue
		}
		if open {
			now.End = at
			n.r.Phases = append(n.r.Phases, now)
		}
		open, now = ok, profiles.Span{Name: name, Step: step, Start: at}
	}
	t.next, t.open = 0, nil
}

// edges is where ranges begin or end, in order, each once.
func (t *thread) edges() []int64 {
	out := make([]int64, 0, 2*len(t.spans))
	for _, s := range t.spans {
		out = append(out, s.start, s.end)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
