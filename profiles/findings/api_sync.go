package findings

import "gputax/profiles"

var apiSync = Rule{
	Name:      "api_sync",
	About:     "explicit waits for a stream, an event or the device, other than one an item",
	Threshold: "one a step in a phase",
	Pricing:   "the calls' own time, and the idle time that follows up to the next call that may wait, no more than the host waited",
	Advice:    "Drop waits that only time or order the work: a stream keeps its order, and a blocking read waits by itself.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkAPISync,
}

func checkAPISync(a *analysis) []Finding {
	items := a.itemWaits()
	after := map[int32]int64{}
	a.afterWaits(func(int32) bool { return false }, func(i int32, waited, idle int64) {
		if a.rec.Calls.At(int(i)).Kind == profiles.CallSync {
			after[i] = min(waited, idle)
		}
	})
	var groups tallies[profiles.NameID]
	for i, c := range a.rec.Calls.All() {
		if c.Kind != profiles.CallSync || !a.inLoop(c) || a.syncedCopy(int32(i)) >= 0 {
			continue
		}
		if t := items.index[c.Phase]; t != nil && t.perStep(a, itemsPerStep) {
			continue
		}
		own := a.capped(func() int64 { return ns(a.p.SyncHost) }, a.callTime[i].idle)
		groups.at(c.Phase, c.Phase).add(a, int32(i), c.Name, 0, own+after[int32(i)])
	}
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	return []Finding{{
		Title: a.title("explicit waits for the device", &e, false),
		Price: e.Time, Evidence: e,
	}}
}
