package findings

import "gputax/profiles"

var syncCopy = Rule{
	Name:      "sync_copy",
	About:     "blocking copies from or to pinned memory, which could be asynchronous",
	Threshold: "one a step",
	Pricing:   "the uploads' time: the host could go on; what comes back is waited for anyway",
	Advice:    "The memory is pinned already: use the asynchronous copy, and wait only before the memory is used again.",
	check:     checkSyncCopy,
}

func checkSyncCopy(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	for i, o := range a.copies() {
		if o.Mem != profiles.MemPinned || !a.callOf(o).Blocking {
			continue
		}
		var time int64
		if o.Dir == profiles.HostToDevice {
			time = a.capCopy(o, a.spent(i))
		}
		phase := a.opPhase(o)
		groups.at(phase, phase).add(a, o.Call, o.Name, o.Bytes, time)
	}
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	return []Finding{{
		Title: a.title("blocking copies of pinned memory", &e, true),
		Price: e.Time, Evidence: e,
	}}
}
