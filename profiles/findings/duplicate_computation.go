package findings

import (
	"slices"

	"gputax/profiles"
)

// dupShare is the least share of a kernel's launches that must be duplicates: a
// block that runs twice makes it half. Now and then two routes begin alike and
// their first edges are added up twice, and when most routes are done a step of
// decoding changes little, up to a quarter of the steps: nobody's mistakes.
const dupShare = 0.4

var duplicateComputation = Rule{
	Name:      "duplicate_computation",
	About:     "kernels given the same contents again within a step, or that leave everything as the same kernel left it before",
	Threshold: "four in ten of a kernel's launches in a phase, in the middle step of all",
	Pricing:   "the repeated launches and their kernels",
	Advice:    "Compute it once and keep the result; look for the same block twice.",
	Needs:     []profiles.Knowledge{profiles.Contents, profiles.StepBounds},
	OnHost:    true,
	blind: func(a *analysis) string {
		if a.dups != nil && a.dups.seen == 0 {
			return "what kernels are given lies in memory that the host cannot read"
		}
		return ""
	},
	check: checkDuplicates,
}

// dupKey is launches that are looked at together.
type dupKey struct{ phase, name profiles.NameID }

// duplicates is which ops repeat another.
type duplicates struct {
	seen     int64    // kernels whose contents are known
	marked   []uint64 // by op, a bit each
	accepted map[dupKey]bool
}

// repeats says whether op number i repeats another and its kind is found to.
func (a *analysis) repeats(i int32) bool {
	if a.dups == nil || a.dups.marked[i/64]>>(i%64)&1 == 0 {
		return false
	}
	o := a.rec.Ops.At(int(i))
	return a.dups.accepted[dupKey{a.opPhase(o), o.Name}]
}

// findDuplicates marks them; nil where the recording cannot tell. One step
// cannot: in the first, a baseline may still equal the policy.
func findDuplicates(a *analysis) *duplicates {
	if !a.rec.Knows(profiles.Contents) || len(a.rec.Steps) < 2 {
		return nil
	}
	type work struct {
		name    profiles.NameID
		content uint64
	}
	type count struct {
		all  int64
		dups []int32 // by step
	}
	d := &duplicates{marked: make([]uint64, a.rec.Ops.Len()/64+1), accepted: map[dupKey]bool{}}
	counts := map[dupKey]*count{}
	seen, left, step := map[work]bool{}, map[work]bool{}, int32(-1)
	for i, o := range a.rec.Ops.All() {
		if o.Kind != profiles.OpKernel || o.Call < 0 || !a.opInLoop(o) {
			continue
		}
		if s := a.callOf(o).Step; s != step {
			clear(seen)
			clear(left)
			step = s
		}
		k := dupKey{a.opPhase(o), o.Name}
		c := counts[k]
		if c == nil {
			c = &count{dups: make([]int32, len(a.rec.Steps))}
			counts[k] = c
		}
		c.all++
		detail := a.detail(o)
		if detail == nil || detail.Content == 0 {
			continue
		}
		d.seen++
		// Where the result goes to the same place again, the second launch is given
		// what the first has left, and changes nothing.
		given, after := work{o.Name, detail.Content}, work{o.Name, detail.After}
		if seen[given] || given == after && left[after] {
			d.marked[i/64] |= 1 << (i % 64)
			c.dups[step]++
		}
		seen[given], left[after] = true, true
	}
	for k, c := range counts {
		slices.Sort(c.dups)
		middle := int64(c.dups[(len(c.dups)-1)/2])
		d.accepted[k] = middle > 0 && float64(middle*a.stepCount()) >= dupShare*float64(c.all)
	}
	return d
}

func checkDuplicates(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	var idle, run, launched int64
	for i, o := range a.rec.Ops.All() {
		if o.Kind != profiles.OpKernel || !a.opInLoop(o) || !a.repeats(int32(i)) {
			continue
		}
		phase := a.opPhase(o)
		groups.at(phase, phase).add(a, o.Call, o.Name, 0, a.spent(int32(i)))
		run += a.opTime[i].run
		idle += a.spent(int32(i)) - a.opTime[i].run
		if !o.InGraph {
			launched++
		}
	}
	if len(groups.all) == 0 {
		return nil
	}
	e := a.evidence(groups.all)
	return []Finding{{
		Title: a.title("kernels that compute what the step has computed already", &e, false),
		Price: run + a.capped(func() int64 { return a.launchPrice(launched) }, idle), Evidence: e,
	}}
}
