package profiles

import (
	"cmp"
	"slices"
	"time"

	"gputax/device"
)

// Counters is what a device.Recorder would have counted in the same run.
// Kernels and copies are counted as the device ran them, the rest as the host
// called.
func (r *Recording) Counters() device.Counters {
	var sum device.Counters
	r.count(func(*Call) *device.Counters { return &sum })
	return sum
}

// PhaseCounters is Counters and the host's time by phase, in order of first
// appearance, the unnamed phase first: what Recorder.Phases would have been.
func (r *Recording) PhaseCounters() []device.Phase {
	all := []device.Phase{{}}
	index := map[NameID]int{0: 0}
	of := func(name NameID) *device.Phase {
		i, ok := index[name]
		if !ok {
			i = len(all)
			index[name], all = i, append(all, device.Phase{Name: r.Names.Name(name)})
		}
		return &all[i]
	}
	for _, s := range r.Phases {
		of(s.Name).Time += s.duration()
	}
	r.count(func(c *Call) *device.Counters {
		if c == nil {
			return &all[0].Counters
		}
		return &of(c.Phase).Counters
	})
	return all
}

// StepTotals is what one step came to.
type StepTotals struct {
	Time     time.Duration // from its begin to the next one's, or to its end
	Busy     time.Duration // while the device ran at least one op that it issued
	Counters device.Counters
}

// StepTotals is Counters and times by step, in order of Steps.
func (r *Recording) StepTotals() []StepTotals {
	all := make([]StepTotals, len(r.Steps))
	var none device.Counters
	r.count(func(c *Call) *device.Counters {
		if c == nil || c.Step < 0 {
			return &none
		}
		return &all[c.Step].Counters
	})
	spans := make([][]interval, len(r.Steps))
	for _, o := range r.Ops.All() {
		if step := r.stepOf(o); step >= 0 {
			spans[step] = append(spans[step], interval{o.Start, o.Start + o.Dur})
		}
	}
	for i, s := range r.Steps {
		all[i].Time = s.duration()
		all[i].Busy = time.Duration(union(spans[i]))
	}
	return all
}

// Busy is how long the device ran at least one op.
func (r *Recording) Busy() time.Duration {
	spans := make([]interval, 0, r.Ops.Len())
	for _, o := range r.Ops.All() {
		spans = append(spans, interval{o.Start, o.Start + o.Dur})
	}
	return time.Duration(union(spans))
}

// stepOf is the step an op belongs to; -1 for none.
func (r *Recording) stepOf(o *Op) int32 {
	if o.Call < 0 {
		return -1
	}
	return r.Calls.At(int(o.Call)).Step
}

// count counts every event into the counters that its call belongs to; the call
// is nil where it is not known.
func (r *Recording) count(into func(*Call) *device.Counters) {
	for _, c := range r.Calls.All() {
		switch c.Kind {
		case CallGraphLaunch:
			into(c)[device.GraphLaunches]++
		case CallSync:
			into(c)[device.Syncs]++
		case CallAlloc:
			into(c)[device.Allocs]++
		case CallFree:
			into(c)[device.Frees]++
		}
	}
	for _, o := range r.Ops.All() {
		var call *Call
		if o.Call >= 0 {
			call = r.Calls.At(int(o.Call))
		}
		countOp(into(call), o)
	}
}

func countOp(c *device.Counters, o *Op) {
	switch {
	case o.Kind == OpKernel:
		if o.InGraph {
			c[device.GraphKernels]++
		} else {
			c[device.Launches]++
		}
		c[device.MappedBytes] += o.Bytes
		return
	case o.Kind != OpCopy:
		return
	case o.Dir == HostToDevice:
		c[device.UploadCopies]++
		c[device.UploadBytes] += o.Bytes
	case o.Dir == DeviceToHost:
		c[device.DownloadCopies]++
		c[device.DownloadBytes] += o.Bytes
	default:
		return
	}
	if o.Mem == MemPageable {
		c[device.PageableCopies]++
	}
}

// interval is a stretch of time.
type interval struct{ start, end int64 }

// union is how much time the intervals cover together. It sorts them.
func union(spans []interval) (covered int64) {
	slices.SortFunc(spans, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	var end int64
	for i, s := range spans {
		if i == 0 || s.start >= end {
			covered += s.end - s.start
			end = s.end
		} else if s.end > end {
			covered += s.end - end
			end = s.end
		}
	}
	return covered
}
