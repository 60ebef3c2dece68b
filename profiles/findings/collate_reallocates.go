package findings

import (
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
	OnHost:    true,
	check:     checkCollate,
}

// collates says whether a phase is, by its name, the putting together of
// batches.
func (a *analysis) collates(phase profiles.NameID) bool {
	return strings.Contains(strings.ToLower(a.rec.Names.Name(phase)), "collate")
}

// collateHeap is what such phases allocated on the program's own heap.
func (a *analysis) collateHeap() (groups tallies[profiles.NameID]) {
	for _, s := range a.rec.Phases {
		if (!a.steps || s.Step >= 0) && a.collates(s.Name) && s.Mallocs > 0 {
			groups.at(s.Name, s.Name).addStep(s.Step, -1, 0, s.Mallocs, s.HeapBytes, 0)
		}
	}
	return groups
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
	heap := a.collateHeap()
	list := groups.perStep(a, collateCalls)
	for _, t := range heap.perStep(a, collateCalls) {
		if declared := groups.index[t.phase]; declared == nil || !declared.perStep(a, collateCalls) {
			list = append(list, t)
			if a.p != nil {
				bulk[t] = ns(float64(t.bytes) / a.p.HostBytesPerS * 1e9)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	var price int64
	for _, t := range list {
		t.time = a.idleBy[gapPart{working, t.phase}] + a.idleBy[gapPart{between, t.phase}]
		price += t.time - bulk[t]
	}
	e := a.evidence(list)
	f := Finding{Title: a.title("calls or allocations to put a batch together", &e, false), Price: price, Evidence: e}
	if a.p == nil {
		f.Price, f.Unpriced = 0, "no device profile says what one plain copy would take"
	}
	return []Finding{f}
}
