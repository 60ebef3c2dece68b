package findings

import "gputax/profiles"

var tensorPerItem = Rule{
	Name:      "tensor_per_item",
	About:     "small tensors made one by one: each allocated, and filled by a copy of its own",
	Threshold: "8 or more a step in one phase, of at most 16 KiB",
	Pricing:   "their allocations, copies and frees, less those of one tensor for all",
	Advice:    "Make one tensor for all items, in one operation; make what does not change once, before the loop.",
	check:     checkTensorPerItem,
}

func checkTensorPerItem(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	frees := map[profiles.NameID]int64{}
	for i, c := range a.rec.Calls.All() {
		if !a.inLoop(c) {
			continue
		}
		if c.Kind == profiles.CallFree {
			frees[c.Phase] += a.allocTime(int32(i), c)
			continue
		}
		if c.Kind != profiles.CallAlloc || i+1 == a.rec.Calls.Len() || a.opOf[i+1] < 0 {
			continue
		}
		o := a.rec.Ops.At(int(a.opOf[i+1]))
		if o.Kind != profiles.OpCopy || o.Dir != profiles.HostToDevice || o.Bytes > tinyBytes {
			continue
		}
		spent, _ := a.copySpent(a.opOf[i+1])
		groups.at(c.Phase, c.Phase).add(a, int32(i), o.Name, o.Bytes, a.allocTime(int32(i), c)+a.capCopy(o, spent))
	}
	list := groups.perStep(a, tinyPerStep)
	if len(list) == 0 {
		return nil
	}
	for _, t := range list {
		t.time += frees[t.phase]
	}
	e := a.evidence(list)
	kept := a.stepCount() * int64(len(list))
	return []Finding{{
		Title: a.title("small tensors made one by one", &e, true),
		Price: e.Time - e.Time/e.Count*kept, Evidence: e,
	}}
}
