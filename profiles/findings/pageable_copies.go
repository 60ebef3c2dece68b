package findings

import "gputax/profiles"

const noProfile = "no device profile says what a pinned copy takes"

// unpricedShare is the least share of the loop that pageable copies must take
// to be named where nothing says what pinned ones would: every program has a
// few that do not matter.
const unpricedShare = 0.05

var pageableCopies = Rule{
	Name:      "pageable_copies",
	About:     "blocking copies from or to memory that is not pinned, which the driver stages through memory of its own",
	Threshold: "one a step; 5% of the loop where no device profile prices them",
	Pricing:   "what they take beyond copies from pinned memory, many tiny ones taken as the one that would do",
	Advice:    "Allocate the host's side once as pinned memory and copy from there (pin_memory in a data loader).",
	check:     func(a *analysis) []Finding { return a.pageable(true) },
}

var asyncPageable = Rule{
	Name:      "async_pageable",
	About:     "copies asked to be asynchronous from or to memory that is not pinned: they are not",
	Threshold: "one a step; 5% of the loop where no device profile prices them",
	Pricing:   "what they take beyond copies from pinned memory, many tiny ones taken as the one that would do",
	Advice:    "Pin the host's side, or the copy is staged before the call returns and nothing overlaps.",
	check:     func(a *analysis) []Finding { return a.pageable(false) },
}

// pageable finds pageable copies, those the host waits for or the others.
func (a *analysis) pageable(waited bool) []Finding {
	var groups tallies[copyGroup]
	merged := map[*tally]*tally{}
	saves := map[*tally]int64{}
	for i, o := range a.copies() {
		if o.Mem != profiles.MemPageable || a.blocks(o) != waited {
			continue
		}
		phase := a.opPhase(o)
		key := copyGroup{phase, o.Dir, false}
		t := groups.at(key, phase)
		spent, _ := a.copySpent(i)
		t.add(a, o.Call, o.Name, o.Bytes, spent)
		if many := a.manyTiny(o); many != nil {
			merged[t] = many
		} else {
			saves[t] += a.pinSaves(o.Dir, o.Bytes, spent)
		}
	}
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	f := Finding{Evidence: a.evidence(list)}
	what := "pageable copies"
	if !waited {
		what = "pageable copies that were to be asynchronous"
	}
	f.Title = a.title(what, &f.Evidence, true)
	for i, t := range groups.all {
		if !t.perStep(a, 1) {
			continue
		}
		f.Price += saves[t]
		if many := merged[t]; many != nil {
			f.Price += a.stepCount() * a.pinSaves(groups.keys[i].dir, many.bytes/a.stepCount(), t.time)
			f.Evidence.Note = "priced as if the tiny copies among them were merged"
		}
	}
	if a.p == nil {
		if share(f.Evidence.Time, a.loop) < unpricedShare {
			return nil
		}
		f.Unpriced, f.Evidence.Note = noProfile, ""
	}
	return []Finding{f}
}

// pinSaves is what a copy would save from pinned memory; 0 where no profile
// tells.
func (a *analysis) pinSaves(dir profiles.Dir, bytes, spent int64) int64 {
	if a.p == nil {
		return 0
	}
	return max(min(a.copyPrice(dir, false, bytes), spent)-a.copyPrice(dir, true, bytes), 0)
}
