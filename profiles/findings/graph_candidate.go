package findings

import (
	"fmt"

	"gputax/profiles"
)

const (
	// graphLaunches is the shortest sequence worth a graph.
	graphLaunches = 16
	// graphShare is the least share of the loop that it must save.
	graphShare = 0.01
)

var graphCandidate = Rule{
	Name:      "graph_candidate",
	About:     "the same launches in the same order in every step, one by one",
	Threshold: "16 or more between two copies, waits or other launches; two steps or more; and 1% of the loop",
	Pricing:   "the time the device was idle on the way to them, less a graph launch for each stretch",
	Advice:    "Capture the sequence once as a CUDA graph and replay it (torch.compile mode=reduce-overhead does).",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes, profiles.StepBounds},
	check:     checkGraphCandidate,
}

// sequence is what a phase launches in a step.
type sequence struct {
	step, steps int32
	hash, want  uint64
	differs     bool
}

// next adds a launch of a step.
func (s *sequence) next(step int32, o *profiles.Op) {
	if step != s.step {
		s.end()
		s.step, s.hash = step, 14695981039346656037
		s.steps++
	}
	for _, v := range [...]uint64{uint64(o.Name), uint64(o.Stream), uint64(o.Blocks)} {
		s.hash = (s.hash ^ v) * 1099511628211
	}
}

// end compares the step that ends with the first.
func (s *sequence) end() {
	if s.steps == 1 {
		s.want = s.hash
	}
	s.differs = s.differs || s.steps > 0 && s.hash != s.want
}

// steady is the phases that launch the same in every step.
func (a *analysis) steady() map[profiles.NameID]bool {
	seqs := map[profiles.NameID]*sequence{}
	for i, c := range a.rec.Calls.All() {
		if c.Kind != profiles.CallLaunch || c.Step < 0 || a.opOf[i] < 0 {
			continue
		}
		s := seqs[c.Phase]
		if s == nil {
			s = &sequence{step: -1}
			seqs[c.Phase] = s
		}
		s.next(c.Step, a.rec.Ops.At(int(a.opOf[i])))
	}
	same := map[profiles.NameID]bool{}
	for phase, s := range seqs {
		s.end()
		same[phase] = !s.differs && int(s.steps) == len(a.rec.Steps)
	}
	return same
}

func checkGraphCandidate(a *analysis) []Finding {
	if len(a.rec.Steps) < 2 {
		return nil
	}
	same := a.steady()
	var groups tallies[profiles.NameID]
	var run []int32 // calls of the stretch so far
	var price, stretches int64
	end := func() {
		var idle, calls int64
		for _, i := range run {
			idle += a.launchIdle(a.opOf[i], a.rec.Ops.At(int(a.opOf[i])))
			calls += a.rec.Calls.At(int(i)).Dur
		}
		n := int64(len(run))
		if n >= graphLaunches {
			saved := a.capped(func() int64 { return a.launchPrice(n) }, idle) - a.graphPrice(1, calls/n)
			if saved > 0 {
				price += saved
				stretches++
				for _, i := range run {
					c, op := a.rec.Calls.At(int(i)), a.opOf[i]
					o := a.rec.Ops.At(int(op))
					groups.at(c.Phase, c.Phase).add(a, i, o.Name, 0, a.launchIdle(op, o))
				}
			}
		}
		run = run[:0]
	}
	for i, c := range a.rec.Calls.All() {
		switch {
		case c.Kind == profiles.CallOther:
		case c.Kind == profiles.CallLaunch && c.Step >= 0 && a.opOf[i] >= 0 && same[c.Phase] && !a.repeats(a.opOf[i]):
			run = append(run, int32(i))
		default:
			end()
		}
	}
	end()
	if share(price, a.loop) < graphShare {
		return nil
	}
	e := a.evidence(groups.all)
	e.Note = fmt.Sprintf("they are %s stretches without a copy, a wait or another launch between", number(stretches))
	return []Finding{{
		Title: a.title("launches that are the same in every step and could be a graph's", &e, false),
		Price: price, Evidence: e,
	}}
}
