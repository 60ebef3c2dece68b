package findings

import "gputax/profiles"

const (
	// overlapTime is the shortest copy worth a stream of its own: setting that
	// up takes events and waits of a few microseconds.
	overlapTime = 10_000
	// overlapShare is the least share of the loop such copies must take alone.
	overlapShare = 0.02
)

var noOverlap = Rule{
	Name:      "no_overlap",
	About:     "uploads that run alone, while no kernel does",
	Threshold: "copies of 10 us or more, not the many tiny ones, that take 2% of the loop alone",
	Pricing:   "the time they run alone, no more than kernels run: the next batch could go up meanwhile, if nothing in the step makes it",
	Advice:    "Send the next batch from pinned memory on a second stream while this one is worked on.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkNoOverlap,
}

func checkNoOverlap(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	for i, o := range a.copies() {
		if o.Dir != profiles.HostToDevice || o.Dur < overlapTime || a.manyTiny(o) != nil {
			continue
		}
		phase := a.opPhase(o)
		groups.at(phase, phase).add(a, o.Call, o.Name, o.Bytes, a.opTime[i].run)
	}
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	if share(e.Time, a.loop) < overlapShare {
		return nil
	}
	return []Finding{{
		Title: a.title("uploads while no kernel runs", &e, true),
		Price: min(e.Time, a.busy), Evidence: e, Likely: true,
	}}
}
