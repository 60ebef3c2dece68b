package findings

import (
	"fmt"

	"gputax/profiles"
)

// maskedShare is the least share of masked items: padding a little is the usual
// price of one shape for all.
const maskedShare = 0.15

var padding = Rule{
	Name:      "padding",
	About:     "batches padded to one shape, as declared by Recorder.Padded, with much of it masked out",
	Threshold: "15% of the items masked, in every second step",
	Pricing: "the masked share of the phase's kernels; where these take less than starting them, all that the phase does on the device, " +
		"less one copy of the useful bytes and one launch a step",
	Advice: "Lay the items out one after the other with their lengths, in one array, for one kernel; at this size a plain loop on the host may do.",
	OnHost: true,
	check:  checkPadding,
}

// padded is a phase with padding.
type padded struct {
	useful, total int64
	kernels       int64 // their time
}

func checkPadding(a *analysis) []Finding {
	phases := map[profiles.NameID]*padded{}
	for _, p := range a.rec.Padded {
		if a.steps && p.Step < 0 || p.Total <= 0 {
			continue
		}
		if phases[p.Phase] == nil {
			phases[p.Phase] = &padded{}
		}
		phases[p.Phase].useful += p.Useful
		phases[p.Phase].total += p.Total
	}
	var groups tallies[profiles.NameID]
	for i, o := range a.kernels() {
		phase := a.opPhase(o)
		if p := phases[phase]; p != nil {
			groups.at(phase, phase).add(a, o.Call, o.Name, 0, a.spent(i))
			p.kernels += a.opTime[i].run
		}
	}
	a.addCalls(&groups)
	var list []*tally
	var price, useful, total int64
	for _, t := range groups.all {
		p := phases[t.phase]
		if 1-share(p.useful, p.total) >= maskedShare && 2*t.seen > a.stepCount() {
			list = append(list, t)
			price += a.paddingPrice(t, p)
			useful, total = useful+p.useful, total+p.total
		}
	}
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	return []Finding{{
		Title: fmt.Sprintf("padding: %.0f%% of it is masked out%s", 100*(1-share(useful, total)), e.where()),
		Price: price, Evidence: e,
	}}
}

// paddingPrice is what not padding would save in a phase.
func (a *analysis) paddingPrice(t *tally, p *padded) int64 {
	if 2*p.kernels > t.time || a.p == nil {
		return ns(float64(p.kernels) * (1 - share(p.useful, p.total)))
	}
	steps := a.stepCount()
	bytes := ns(float64(t.bytes/steps) * share(p.useful, p.total))
	return t.time - steps*(a.copyPrice(profiles.HostToDevice, false, bytes)+a.launchPrice(1)+ns(a.p.KernelFloor))
}

// addCalls adds to phases that have kernels the time of their copies and waits,
// and counts nothing.
func (a *analysis) addCalls(groups *tallies[profiles.NameID]) {
	for i, o := range a.copies() {
		if t := groups.index[a.opPhase(o)]; t != nil {
			t.time += a.spent(i)
			t.bytes += o.Bytes
		}
	}
	for i, c := range a.rec.Calls.All() {
		if c.Kind == profiles.CallSync && a.inLoop(c) {
			if t := groups.index[c.Phase]; t != nil {
				t.time += a.callTime[i].idle
			}
		}
	}
}
