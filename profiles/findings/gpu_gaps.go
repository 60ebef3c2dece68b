package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gputax/profiles"
)

// gapShare is the least share of the loop that gaps must take.
const gapShare = 0.01

var gpuGaps = Rule{
	Name:      "gpu_gaps",
	About:     "long stretches in which the device is idle because the host is busy with work of its own, loading apart",
	Threshold: "gaps of 20 us or more and of half a percent of a step, that take 1% of the loop",
	Pricing:   "the host's part of the gaps, as in the middle step of all, no more than kernels run: that much could be done meanwhile, if nothing in the step waits for it",
	Advice:    "Do the host's part while the device works on what is queued, or move it to the device.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkGPUGaps,
}

// sortedParts is the keys of sums by gapPart, in an order that does not change.
func sortedParts[V any](m map[gapPart]V) []gapPart {
	return slices.SortedFunc(maps.Keys(m), func(x, y gapPart) int {
		return cmp.Or(cmp.Compare(x.phase, y.phase), cmp.Compare(x.cause, y.cause))
	})
}

func checkGPUGaps(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	var others [causes]int64
	for _, part := range sortedParts(a.longGaps) {
		sum := a.longGaps[part]
		if part.cause != working && part.cause != between {
			others[part.cause] += sum.time()
			continue
		}
		if part.cause == between && a.disturbed || sum.time() == 0 {
			continue
		}
		t := groups.at(part.phase, part.phase)
		if t.count == 0 || sum.site >= 0 && sum.site < t.first {
			t.first = sum.site
		}
		t.count += sum.count
		t.time += sum.time()
	}
	e := a.evidence(groups.all)
	if share(e.Time, a.loop) < gapShare {
		return nil
	}
	var also []string
	for _, p := range idleParts(others) {
		also = append(also, fmt.Sprintf("%s %s", p.Cause, duration(p.Time)))
	}
	if a.disturbed {
		e.Note = "declared work alone: between calls this recording took time itself"
	} else if len(also) > 0 {
		e.Note = "other causes of long gaps, which have rules of their own: " + strings.Join(also, ", ")
	}
	return []Finding{{
		Title: fmt.Sprintf("the device waits for the host's own work: %.0f%% of the loop%s", 100*share(e.Time, a.loop), e.where()),
		Price: min(e.Time, a.busy), Evidence: e, Likely: true,
	}}
}
