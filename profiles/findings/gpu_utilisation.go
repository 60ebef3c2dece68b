package findings

import (
	"fmt"
	"strings"

	"gputax/profiles"
)

// lowUse is the share of the loop below which the device is little used: a
// loop that launches well ahead keeps it busy nearly always.
const lowUse = 0.5

var gpuUtilisation = Rule{
	Name:      "gpu_utilisation",
	About:     "kernels run for little of the loop",
	Threshold: "less than half of it",
	Pricing:   "none: it is the sum of what the other rules price",
	Advice:    "Fix what is priced above; if little is left, the batch or the model is too small for this device.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkUtilisation,
}

func checkUtilisation(a *analysis) []Finding {
	use := share(a.busy, a.loop)
	if a.busy == 0 || use >= lowUse {
		return nil
	}
	var idle [causes]int64
	for part, t := range a.idleBy {
		idle[part.cause] += t
	}
	var parts []string
	for _, p := range idleParts(idle) {
		parts = append(parts, fmt.Sprintf("%s %s", p.Cause, duration(p.Time)))
	}
	return []Finding{{
		Title:    fmt.Sprintf("kernels run for %.0f%% of the loop", 100*use),
		Unpriced: "the other rules price its causes",
		Evidence: Evidence{Time: a.busy, Note: "idle by cause: " + strings.Join(parts, ", ")},
	}}
}
