package findings

import (
	"fmt"

	"gputax/profiles"
)

const (
	// crossKernels is how many kernels a phase must launch a step: one or two
	// small ones among large ones are best left where their data is.
	crossKernels = 8
	// crossMargin is how many times cheaper the host must be: its rates are
	// those of a plain loop, and say nothing about caches.
	crossMargin = 2
)

var belowCrossover = Rule{
	Name:         "below_crossover",
	About:        "a phase whose kernels do so little that the host would be done sooner, the data's way there and back included",
	Threshold:    "8 or more launches a step in the phase, and the host at least twice as fast",
	Pricing:      "the phase's launches and kernels, less the host's time by the profile's rates and one copy each way",
	Advice:       "Do this phase on the host at this size, or do the whole batch in one kernel.",
	Needs:        []profiles.Knowledge{profiles.DeclaredWork, profiles.PhaseNames},
	NeedsProfile: true,
	check:        checkCrossover,
}

func checkCrossover(a *analysis) []Finding {
	type work struct{ n, flops, bytes int64 }
	var groups tallies[profiles.NameID]
	works := map[*tally]*work{}
	for i, o := range a.kernels() {
		phase := a.opPhase(o)
		t := groups.at(phase, phase)
		w := works[t]
		if w == nil {
			w = &work{}
			works[t] = w
		}
		t.add(a, o.Call, o.Name, 0, a.spent(i))
		if d := a.detail(o); d != nil {
			w.n, w.flops, w.bytes = w.n+1, w.flops+d.Flops+d.TensorFlops, w.bytes+d.MemBytes
		}
	}
	var list []*tally
	var price int64
	for _, t := range groups.all {
		w, steps := works[t], a.stepCount()
		if w == nil || w.n < t.count || !t.perStep(a, crossKernels) {
			continue
		}
		each := w.bytes / steps
		host := a.hostPrice(w.n, w.flops, w.bytes) +
			steps*(a.copyPrice(profiles.DeviceToHost, false, each)+a.copyPrice(profiles.HostToDevice, false, each))
		if crossMargin*host < t.time {
			list = append(list, t)
			price += t.time - host
		}
	}
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	return []Finding{{
		Title: a.title(fmt.Sprintf("launches of what the host would do sooner (%s there, %s on the device)", duration(e.Time-price), duration(e.Time)), &e, false),
		Price: price, Evidence: e, Likely: true,
	}}
}
