package findings

import "gputax/profiles"

var syncMemset = Rule{
	Name:      "sync_memset",
	About:     "memory set by calls that block the host",
	Threshold: "one a step",
	Pricing:   "the calls' time and that of the memory being set",
	Advice:    "Use the asynchronous call, or let the first kernel that writes the memory set it.",
	check:     checkSyncMemset,
}

func checkSyncMemset(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	for i, c := range a.rec.Calls.All() {
		if c.Kind != profiles.CallMemset || !c.Blocking || !a.inLoop(c) {
			continue
		}
		time := a.callTime[i].idle
		if op := a.opOf[i]; op >= 0 {
			time = a.spent(op)
		}
		groups.at(c.Phase, c.Phase).add(a, int32(i), c.Name, c.Bytes, time)
	}
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	return []Finding{{
		Title: a.title("memory sets that block the host", &e, true),
		Price: e.Time, Evidence: e,
	}}
}
