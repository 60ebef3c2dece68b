package findings

import (
	"fmt"

	"gputax/profiles"
)

// starvedShare is the least share of the loop that the device must have been
// idle for while the host loaded.
const starvedShare = 0.005

var loaderStarvation = Rule{
	Name:      "loader_starvation",
	About:     "the device idle while the host waits for a loader, or loads a batch itself (in a phase called load or the like)",
	Threshold: "half a percent of the loop, in every second step",
	Pricing:   "that time",
	Advice:    "Load in workers, with batches made ahead; or make the data on the device.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes, profiles.PhaseNames},
	check:     checkStarvation,
}

func checkStarvation(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	waited := false
	for i, c := range a.rec.Calls.All() {
		if a.inLoop(c) && a.callTime[i].idle > 0 && causeOf(c, a.isLoader(c.Phase)) == loading {
			groups.at(c.Phase, c.Phase).add(a, int32(i), c.Name, 0, a.callTime[i].idle)
			waited = waited || c.Kind == profiles.CallLoad
		}
	}
	// What the host did there without a call is in no call's time.
	for _, part := range sortedParts(a.idleBy) {
		if part.cause == loading {
			g := groups.at(part.phase, part.phase)
			if g.count == 0 {
				g.count, g.seen = a.stepCount(), a.stepCount()
			}
			g.time = max(g.time, a.idleBy[part])
		}
	}
	list := groups.perStep(a, 0)
	e := a.evidence(list)
	if len(list) == 0 || share(e.Time, a.loop) < starvedShare {
		return nil
	}
	what := "while the host makes the batch"
	if waited {
		what = "while the host waits for the loader"
	}
	return []Finding{{
		Title: fmt.Sprintf("the device is idle %s: %.1f%% of the loop%s", what, 100*share(e.Time, a.loop), e.where()),
		Price: e.Time, Evidence: e,
	}}
}
