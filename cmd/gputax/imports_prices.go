package main

import (
	"slices"

	"gputax/bench"
	"gputax/profiles"
)

// event is something counted that has a price.
type event uint8

const (
	noEvent event = iota
	launchEvent
	graphEvent
	syncEvent
	allocEvent
	freeEvent
	uploadPageable
	uploadPinned
	downloadPageable
	downloadPinned
	eventCount
)

// eventOf is what a call counts as; copies are told by what the device did.
func eventOf(k profiles.CallKind) event {
	switch k {
	case profiles.CallLaunch:
		return launchEvent
	case profiles.CallGraphLaunch:
		return graphEvent
	case profiles.CallSync:
		return syncEvent
	case profiles.CallAlloc:
		return allocEvent
	case profiles.CallFree:
		return freeEvent
	}
	return noEvent
}

func copyEvent(o *profiles.Op) event {
	pageable := o.Mem == profiles.MemPageable
	switch {
	case o.Dir == profiles.HostToDevice && pageable:
		return uploadPageable
	case o.Dir == profiles.HostToDevice:
		return uploadPinned
	case o.Dir == profiles.DeviceToHost && pageable:
		return downloadPageable
	case o.Dir == profiles.DeviceToHost:
		return downloadPinned
	}
	return noEvent
}

// hostCosts adds what events cost the host in a recording: the time from the
// end of the call before, on the same thread and in the same step, to the end of
// the event's own. It is what the program around the call takes, which in Python
// is most of it.
func (o *importFlags) hostCosts(rec *profiles.Recording) {
	events := make([]event, rec.Calls.Len())
	for i, c := range rec.Calls.All() {
		events[i] = eventOf(c.Kind)
	}
	for _, op := range rec.Ops.All() {
		if op.Kind == profiles.OpCopy && op.Call >= 0 && !op.InGraph {
			events[op.Call] = copyEvent(op)
		}
	}
	last := map[uint16]*profiles.Call{}
	for i, c := range rec.Calls.All() {
		switch c.Kind {
		case profiles.CallOther, profiles.CallHostWork, profiles.CallLoad:
			continue // they are part of what the next event costs
		}
		before := last[c.Thread]
		last[c.Thread] = c
		if before == nil || events[i] == noEvent || before.Step != c.Step {
			continue
		}
		o.costs[events[i]] = append(o.costs[events[i]], c.Start+c.Dur-min(before.Start+before.Dur, c.Start))
	}
}

// prices is the medians of what events cost the host in all that was read; nil
// where nothing was.
func (o *importFlags) prices() *bench.Prices {
	var median [eventCount]float64
	some := false
	for e := range median {
		if costs := o.costs[e]; len(costs) > 0 {
			slices.Sort(costs)
			median[e], some = float64(costs[len(costs)/2]), true
		}
	}
	if !some {
		return nil
	}
	return &bench.Prices{Of: "the traces (the host's time up to and in each call, medians)",
		Launch: median[launchEvent], GraphLaunch: median[graphEvent], Sync: median[syncEvent], Alloc: median[allocEvent], Free: median[freeEvent],
		UploadPageable: median[uploadPageable], UploadPinned: median[uploadPinned],
		DownloadPageable: median[downloadPageable], DownloadPinned: median[downloadPinned]}
}
