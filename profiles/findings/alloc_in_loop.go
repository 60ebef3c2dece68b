package findings

import "gputax/profiles"

var allocInLoop = Rule{
	Name:      "alloc_in_loop",
	About:     "device or pinned memory allocated, and freed, in every step",
	Threshold: "one a step",
	Pricing:   "the allocations and frees while the device was idle",
	Advice:    "Allocate before the loop and reuse; sizes that change want one buffer of the largest.",
	check:     checkAllocInLoop,
}

func checkAllocInLoop(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	frees := map[profiles.NameID]int64{}
	for i, c := range a.rec.Calls.All() {
		if !a.inLoop(c) {
			continue
		}
		switch c.Kind {
		case profiles.CallAlloc:
			groups.at(c.Phase, c.Phase).add(a, int32(i), c.Name, c.Bytes, a.allocTime(int32(i), c))
		case profiles.CallFree:
			frees[c.Phase] += a.allocTime(int32(i), c)
		}
	}
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	for _, t := range list {
		t.time += frees[t.phase]
	}
	e := a.evidence(list)
	return []Finding{{
		Title: a.title("allocations in the loop", &e, true),
		Price: e.Time, Evidence: e,
	}}
}

// allocTime is what an allocation or a free took, no more than the profile
// says.
func (a *analysis) allocTime(i int32, c *profiles.Call) int64 {
	return a.capped(func() int64 {
		switch {
		case c.Kind == profiles.CallFree:
			return ns(a.p.FreeHost)
		case c.Mem == profiles.MemPinned:
			return ns(a.p.AllocPinnedHost)
		}
		return ns(a.p.AllocHost)
	}, a.callTime[i].idle)
}
