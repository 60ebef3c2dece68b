package findings

import (
	"fmt"
	"strings"

	"gputax/profiles"
)

// collateCalls is how much a collate function may do one by one in a step:
// filling arrays that are there takes a call for each.
const collateCalls = 64

var collateReallocates = Rule{
	Name:      "collate_reallocates",
	About:     "batches put together item by item, in lists that grow: many calls, or many heap allocations, in a phase called collate",
	Threshold: "64 calls or allocations a step",
	Pricing:   "the time the device was idle meanwhile, less that of copying the bytes once",
	Advice:    "Allocate the batch's arrays once and copy every item into its place.",
	Needs:     []profiles.Knowledge{profiles.PhaseNames},
	check:     checkCollate,
}

// collates says whether a phase is, by its name, the putting together of
// batches.
func (a *analysis) collates(phase profiles.NameID) bool {
	return strings.Contains(strings.ToLower(a.rec.Names.Name(phase)), "collate")
}

func checkCollate(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	bulk := map[*tally]int64{}
	for _, w := range a.rec.HostWork {
		c := a.rec.Calls.At(int(w.Call))
		if !a.inLoop(c) || !a.collates(c.Phase) {
			continue
		}
		t := groups.at(c.Phase, c.Phase)
		t.addMany(a, w.Call, c.Name, w.Calls+w.Items, w.Bytes, 0)
		if a.p != nil {
			// The bytes once instead of twice, in one call for each array of two.
			bulk[t] += ns(2*a.p.HostCall + float64(w.Bytes)/2/a.p.HostBytesPerS*1e9)
		}
	}
	for _, s := range a.rec.Phases {
		if (!a.steps || s.Step >= 0) && a.collates(s.Name) && s.Mallocs > 0 {
			t := groups.at(s.Name, s.Name)
			if t.count < s.Mallocs { // declared work tells more than the heap
				t.addMany(a, -1, 0, s.Mallocs, s.HeapBytes, 0)
			}
		}
	}
	list := groups.perStep(a, collateCalls)
	if len(list) == 0 {
		return nil
	}
	var price int64
	for _, t := range list {
		t.time = a.idleBy[gapPart{working, t.phase}] + a.idleBy[gapPart{between, t.phase}]
		price += t.time - bulk[t]
	}
	e := a.evidence(list)
	f := Finding{Title: fmt.Sprintf("%s put batches together%s", a.each(e.Count, "calls or allocations"), e.where()), Price: price, Evidence: e}
	if a.p == nil {
		f.Price, f.Unpriced = 0, "no device profile says what one plain copy would take"
	}
	return []Finding{f}
}
