package findings

import (
	"fmt"

	"gputax/profiles"
)

var implicitSync = Rule{
	Name:      "implicit_sync",
	About:     "uploads that make the host wait for the kernels before them, because they are pageable or blocking",
	Threshold: "one a step",
	Pricing:   "the idle time that follows, up to the next wait, and no more than the host waited: it would have been that far ahead",
	Advice:    "Copy from pinned memory, asynchronously, into a second buffer, on a stream of its own if it is large.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkImplicitSync,
}

// afterWaits gives for every call that waited for the device the idle time
// between it and the next that did, to visit: the host's part of it, for a
// device with work queued has its gaps too.
func (a *analysis) afterWaits(visit func(call int32, waited, idle int64)) {
	last, idle := int32(-1), int64(0)
	for i := range a.callTime {
		t := a.callTime[i]
		idle += t.before
		if t.waited > 0 {
			if last >= 0 {
				visit(last, a.callTime[last].waited, idle)
			}
			last, idle = int32(i), 0
			continue
		}
		idle += t.idle
	}
	if last >= 0 {
		visit(last, a.callTime[last].waited, idle)
	}
}

func checkImplicitSync(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	waited := map[*tally]int64{}
	a.afterWaits(func(i int32, wait, idle int64) {
		c := a.rec.Calls.At(int(i))
		upload := i
		if c.Kind == profiles.CallSync {
			upload = a.syncedCopy(i)
		}
		if upload < 0 || a.opOf[upload] < 0 || !a.inLoop(c) {
			return
		}
		o := a.rec.Ops.At(int(a.opOf[upload]))
		if o.Kind != profiles.OpCopy || o.Dir != profiles.HostToDevice {
			return
		}
		t := groups.at(c.Phase, c.Phase)
		t.add(a, upload, o.Name, o.Bytes, min(wait, idle))
		waited[t] += wait
	})
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	var all int64
	for _, t := range list {
		all += waited[t]
	}
	e.Note = fmt.Sprintf("the host waited %s in them", duration(all))
	return []Finding{{
		Title: fmt.Sprintf("%s%s wait for the kernels before them", a.each(e.Count, "uploads"), e.where()),
		Price: e.Time, Evidence: e,
	}}
}
