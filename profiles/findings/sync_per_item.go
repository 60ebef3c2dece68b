package findings

import "gputax/profiles"

const (
	// itemsPerStep is how often a step may wait: once or twice for its
	// statistics, not for every item of a batch.
	itemsPerStep = 16
	// itemBytes is the most that reading one item back moves.
	itemBytes = 64
)

var syncPerItem = Rule{
	Name:      "sync_per_item",
	About:     "waits for the device after a launch or a few, over and over: a scalar read back for every item",
	Threshold: "16 or more a step in one phase, each with a launch since the one before",
	Pricing:   "the waits, the reads they are for, and the latency of the launch after them, less one of each a step",
	Advice:    "Leave the results on the device, and read them all in one copy after the loop over items.",
	check:     checkSyncPerItem,
}

// itemWaits is the waits of the loop that come after a launch, by phase. Their
// time has in it the latency of the launch that follows: while the device has
// work queued it is hidden.
func (a *analysis) itemWaits() (groups tallies[profiles.NameID]) {
	var launches int64 // since the last wait
	var last *tally    // of the last wait
	for i, c := range a.rec.Calls.All() {
		switch {
		case !a.inLoop(c):
			launches, last = 0, nil
			continue
		case c.Kind == profiles.CallLaunch || c.Kind == profiles.CallGraphLaunch:
			if op := a.opOf[i]; launches == 0 && last != nil && op >= 0 {
				last.time += a.capped(func() int64 { return ns(a.p.LaunchLatency) }, a.opTime[op].lead)
			}
			launches++
			continue
		}
		spent, bytes, wait := a.itemWait(int32(i), c)
		if !wait {
			continue
		}
		if last = nil; launches > 0 {
			last = groups.at(c.Phase, c.Phase)
			last.add(a, int32(i), c.Name, bytes, spent)
		}
		launches = 0
	}
	return groups
}

// itemWait is what a wait for an item took, with the read it is for, no more than
// the profile says. A wait for an upload is none: it is the upload's.
func (a *analysis) itemWait(i int32, c *profiles.Call) (spent, bytes int64, is bool) {
	read := i
	switch {
	case c.Kind == profiles.CallSync:
		spent = a.capped(func() int64 { return ns(a.p.SyncHost) }, a.callTime[i].idle)
		if read = a.syncedCopy(i); read < 0 {
			return spent, 0, true
		}
	case c.Kind != profiles.CallCopy || !c.Blocking:
		return 0, 0, false
	}
	op := a.opOf[read]
	if op < 0 {
		return spent, 0, c.Kind == profiles.CallSync
	}
	o := a.rec.Ops.At(int(op))
	if o.Dir != profiles.DeviceToHost || o.Bytes > itemBytes {
		return 0, 0, false
	}
	return spent + a.capped(func() int64 {
		return a.copyPrice(o.Dir, o.Mem == profiles.MemPinned, o.Bytes)
	}, a.spent(op)), o.Bytes, true
}

func checkSyncPerItem(a *analysis) []Finding {
	waits := a.itemWaits()
	list := waits.perStep(a, itemsPerStep)
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	kept := a.stepCount() * int64(len(list))
	return []Finding{{
		Title: a.title("waits for the device, one an item", &e, false),
		Price: e.Time - e.Time/e.Count*kept, Evidence: e,
	}}
}
