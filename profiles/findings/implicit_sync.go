package findings

import (
	"fmt"

	"gputax/profiles"
)

var implicitSync = Rule{
	Name:      "implicit_sync",
	About:     "uploads that make the host wait for the kernels before them, because they are pageable or blocking",
	Threshold: "one in every second step",
	Pricing:   "the idle time that follows, up to the next call that waits for something else, and no more than the host waited: it would have been that far ahead",
	Advice:    "Copy from pinned memory, asynchronously, into a second buffer, on a stream of its own if it is large.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkImplicitSync,
}

// afterWaits gives for every call that waited for kernels the idle time between
// it and the next call that may wait, to visit: the host's part of it, for a
// device with work queued has its gaps too. Calls that pass names may wait, and
// are passed.
func (a *analysis) afterWaits(pass func(call int32) bool, visit func(call int32, waited, idle int64)) {
	last, idle := int32(-1), int64(0)
	end := func() {
		if last >= 0 {
			visit(last, a.callTime[last].waited, idle)
		}
		last, idle = -1, 0
	}
	for i, c := range a.rec.Calls.All() {
		t := a.callTime[i]
		idle += a.before(int32(i))
		if waits(c) && (t.waited > 0 || !pass(int32(i))) {
			end()
		}
		if t.waited > 0 {
			last = int32(i)
			continue
		}
		idle += t.idle
		if op := a.opOf[i]; op >= 0 && a.p != nil {
			idle += max(a.opTime[op].lead-ns(a.p.LaunchGap), 0)
		}
	}
	end()
}

// isUpload says whether a call is an upload, or the wait for one.
func (a *analysis) isUpload(call int32) (upload int32, is bool) {
	if a.rec.Calls.At(int(call)).Kind == profiles.CallSync {
		if call = a.syncedCopy(call); call < 0 {
			return -1, false
		}
	}
	op := a.opOf[call]
	if op < 0 {
		return -1, false
	}
	o := a.rec.Ops.At(int(op))
	return call, o.Kind == profiles.OpCopy && o.Dir == profiles.HostToDevice
}

func checkImplicitSync(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	waited := map[*tally]int64{}
	passUploads := func(i int32) bool {
		_, is := a.isUpload(i)
		return is
	}
	a.afterWaits(passUploads, func(i int32, wait, idle int64) {
		c := a.rec.Calls.At(int(i))
		upload, is := a.isUpload(i)
		if !is || !a.inLoop(c) {
			return
		}
		o := a.rec.Ops.At(int(a.opOf[upload]))
		t := groups.at(c.Phase, c.Phase)
		t.add(a, upload, o.Name, o.Bytes, min(wait, idle))
		waited[t] += wait
	})
	var list []*tally
	for _, t := range groups.all {
		if 2*(t.seen+1) > a.stepCount() { // the first step has nothing to wait for
			list = append(list, t)
		}
	}
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
		Title: a.title("uploads that wait for the kernels before them", &e, true),
		Price: e.Time, Evidence: e,
	}}
}
