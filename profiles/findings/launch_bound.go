package findings

import "gputax/profiles"

const (
	// shortPerStep is how many short kernels a step may launch: a few dozen
	// cost a few hundred microseconds on any host, and every step needs some.
	shortPerStep = 64
	// launchShare is the least share of the loop that the device must have been
	// idle for because of them.
	launchShare = 0.02
	// dispatch is the longest way to a launch that counts as part of it: what a
	// framework does to get there. Longer ones are the program's own doing.
	dispatch = 100_000
)

var launchBound = Rule{
	Name:      "launch_bound",
	About:     "kernels that take less time than launching them, so that the device waits for the host",
	Threshold: "64 or more a step, half of all launches, and the device idle for 2% of the loop because of them",
	Pricing:   "the time the device was idle on the way to them, less one graph launch a step",
	Advice:    "Do the whole batch in one kernel, fuse neighbours, or capture the sequence in a graph.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkLaunchBound,
}

// launchIdle is how long the device was idle because a kernel was on its way:
// the host was getting to the launch, then in it, then the launch took effect.
func (a *analysis) launchIdle(op int32, o *profiles.Op) int64 {
	idle := a.callTime[o.Call].idle + a.opTime[op].lead
	if before := a.before(o.Call); before <= dispatch {
		idle += before
	}
	return idle
}

func checkLaunchBound(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	var launches, short, idle, calls int64
	for i, o := range a.kernels() {
		launches++
		c := a.callOf(o)
		took := c.Dur
		if a.p != nil {
			took = ns(a.p.LaunchHost)
		}
		if o.Dur >= took {
			continue
		}
		short++
		calls += c.Dur
		t := a.launchIdle(i, o)
		idle += t
		groups.at(c.Phase, c.Phase).add(a, o.Call, o.Name, 0, t)
	}
	if short < shortPerStep*a.stepCount() || 2*short < launches || share(idle, a.loop) < launchShare {
		return nil
	}
	price := a.capped(func() int64 { return a.launchPrice(short) }, idle) - a.graphPrice(a.stepCount(), calls/short)
	e := a.evidence(groups.all)
	return []Finding{{
		Title: a.title("kernels shorter than their launch", &e, false),
		Price: price, Evidence: e,
	}}
}
