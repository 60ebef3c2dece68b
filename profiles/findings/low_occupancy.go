package findings

import "gputax/profiles"

const (
	// fewBlocks is fewer blocks than any card that people train on has
	// multiprocessors (a T4 has 40, an H200 132): the others are idle.
	fewBlocks = 32
	// slowKernel is how long such a kernel must take: a short one is bound by
	// its launch, whatever its layout.
	slowKernel = 10_000
	// occupancyShare is the least share of the loop.
	occupancyShare = 0.02
)

var lowOccupancy = Rule{
	Name:      "low_occupancy",
	About:     "long kernels of fewer blocks than the device has multiprocessors",
	Threshold: "fewer than 32 blocks and 10 us or more each, 2% of the loop together",
	Pricing:   "what they would save on 32 multiprocessors, if the work can be split, as long as kernels are queued behind them",
	Advice:    "Give the kernel more blocks: split the longest dimension, or do several items in one launch.",
	Needs:     []profiles.Knowledge{profiles.Layout, profiles.DeviceTimes},
	check:     checkOccupancy,
}

func checkOccupancy(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	saved := shorter{a: a}
	for i, o := range a.rec.Ops.All() {
		if o.Kind != profiles.OpKernel || !a.opInLoop(o) || o.Blocks < 1 || o.Blocks >= fewBlocks || o.Dur < slowKernel {
			saved.op(int32(i), o, 0)
			continue
		}
		phase := a.opPhase(o)
		groups.at(phase, phase).add(a, o.Call, o.Name, 0, a.opTime[i].run)
		saved.op(int32(i), o, o.Dur-max(o.Dur*int64(o.Blocks)/fewBlocks, slowKernel))
	}
	e := a.evidence(groups.all)
	if share(e.Time, a.loop) < occupancyShare {
		return nil
	}
	return []Finding{{
		Title: a.title("long kernels of too few blocks to fill the device", &e, false),
		Price: saved.total(), Evidence: e, Likely: true,
	}}
}
