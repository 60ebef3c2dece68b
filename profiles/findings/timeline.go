package findings

import (
	"math"
	"slices"

	"gputax/profiles"
)

// cause is what the host did while the device was idle.
type cause uint8

const (
	launching  cause = iota // in a launch
	copying                 // in a copy, before the device began it or after it ended
	syncing                 // in a wait, when nothing ran any more
	allocating              // in an allocation or a free
	working                 // work of its own, declared
	loading                 // waited for a loader, or was one
	between                 // between two calls
	starting                // the device had work, and had not begun it: launch latency
	calling                 // in another call
	causes
)

var causeNames = [causes]string{"launching", "copies", "syncs", "allocations", "host work", "loading", "host between calls", "launch latency", "other calls"}

// Split is where the recorded window went.
type Split struct {
	Kernels int64  `json:"kernels_ns"` // at least one kernel ran
	Copies  int64  `json:"copies_ns"`  // a copy ran, and no kernel
	Idle    []Part `json:"idle"`       // neither, by what the host did meanwhile; the longest first
}

// Part is a part of the time the device was idle.
type Part struct {
	Cause string `json:"cause"`
	Time  int64  `json:"time_ns"`
}

// callTime is what was charged to a call.
type callTime struct {
	idle   int64 // the device was idle while the host was in the call
	before int64 // and while the host was on its way from the call before to this one
	waited int64 // kernels ran while the host waited in the call
}

// opTime is what was charged to an op.
type opTime struct {
	run  int64 // it ran; of several at once a kernel is charged before a copy, the last begun before others
	lead int64 // it had been issued, and the device was idle before it began
}

// gapPart is idle time of one cause in one phase.
type gapPart struct {
	cause cause
	phase profiles.NameID
}

// gapSum adds up gaps' parts.
type gapSum struct {
	count int64
	times []int64 // by step
	site  int32   // the first call, or -1
	last  int64   // number of the gap counted last
}

// time is what the middle step has, for all steps: the host may pause once for
// many reasons, of which this recording may be one.
func (g *gapSum) time() int64 {
	times := slices.Sorted(slices.Values(g.times))
	return times[(len(times)-1)/2] * int64(len(times))
}

// sweep goes through a recording once, in order of time.
type sweep struct {
	a         *analysis
	now       int64
	calls     []int32 // begun and not ended, in order of start
	ops       []int32
	nextCall  int
	nextOp    int
	phase     int // the first of rec.Phases that has not ended
	step      int // the same, of rec.Steps
	gap       []gapRun
	gapLength int64
	gaps      int64
	least     int64 // the shortest gap that is one
	idle      [causes]int64
}

// gapRun is a stretch of the gap the device is in.
type gapRun struct {
	part gapPart
	time int64
	call int32
	step int32
	loop bool
}

// timeline charges every nanosecond of the window.
func (a *analysis) timeline() {
	a.callTime = make([]callTime, a.rec.Calls.Len())
	a.opTime = make([]opTime, a.rec.Ops.Len())
	a.idleBy, a.longGaps = map[gapPart]int64{}, map[gapPart]*gapSum{}
	s := &sweep{a: a, now: a.rec.Start, least: max(leastGap, a.stepTime()/200)}
	if !a.rec.Knows(profiles.DeviceTimes) {
		s.nextOp = a.rec.Ops.Len() // an op's times are its call's: leave the device out
	}
	for {
		t := s.next()
		if t == math.MaxInt64 {
			break
		}
		s.charge(t)
		s.now = max(s.now, t)
		s.retire()
		s.admit()
	}
	s.charge(a.rec.End)
	s.endGap()
	a.split.Idle = idleParts(s.idle)
}

// next is when something begins or ends.
func (s *sweep) next() int64 {
	t := int64(math.MaxInt64)
	rec := s.a.rec
	if s.nextCall < rec.Calls.Len() {
		t = rec.Calls.At(s.nextCall).Start
	}
	if s.nextOp < rec.Ops.Len() {
		t = min(t, rec.Ops.At(s.nextOp).Start)
	}
	for _, i := range s.calls {
		t = min(t, s.a.callEnd(i))
	}
	for _, i := range s.ops {
		t = min(t, s.a.opEnd(i))
	}
	return t
}

// retire takes out what has ended.
func (s *sweep) retire() {
	s.calls = still(s.calls, s.now, s.a.callEnd)
	s.ops = still(s.ops, s.now, s.a.opEnd)
}

func still(list []int32, now int64, end func(int32) int64) []int32 {
	kept := list[:0]
	for _, i := range list {
		if end(i) > now {
			kept = append(kept, i)
		}
	}
	return kept
}

// admit takes in what has begun.
func (s *sweep) admit() {
	rec := s.a.rec
	for s.nextCall < rec.Calls.Len() && rec.Calls.At(s.nextCall).Start <= s.now {
		s.calls = append(s.calls, int32(s.nextCall))
		s.nextCall++
	}
	for s.nextOp < rec.Ops.Len() && rec.Ops.At(s.nextOp).Start <= s.now {
		s.ops = append(s.ops, int32(s.nextOp))
		s.nextOp++
	}
}

// charge gives the time from now to t to what it is due to.
func (s *sweep) charge(t int64) {
	d := t - s.now
	if d <= 0 {
		return
	}
	host := int32(-1)
	if n := len(s.calls); n > 0 {
		host = s.calls[n-1]
	}
	op := s.running()
	if op < 0 {
		s.chargeIdle(d, host)
		return
	}
	s.endGap()
	a := s.a
	o := a.rec.Ops.At(int(op))
	a.opTime[op].run += d
	if o.Kind != profiles.OpKernel {
		a.split.Copies += d
		return
	}
	a.split.Kernels += d
	if a.opInLoop(o) {
		a.busy += d
	}
	if host >= 0 && waits(a.rec.Calls.At(int(host))) {
		a.callTime[host].waited += d
	}
}

// running is the op that the device's time is charged to; -1 where none runs.
func (s *sweep) running() int32 {
	copying := int32(-1)
	for i := len(s.ops) - 1; i >= 0; i-- {
		if s.a.rec.Ops.At(int(s.ops[i])).Kind == profiles.OpKernel {
			return s.ops[i]
		}
		if copying < 0 {
			copying = s.ops[i]
		}
	}
	return copying
}

// chargeIdle charges d in which the device did nothing.
func (s *sweep) chargeIdle(d int64, host int32) {
	a, rec := s.a, s.a.rec
	run := gapRun{time: d, call: host}
	issued := int32(-1)
	if s.nextOp < rec.Ops.Len() {
		if c := rec.Ops.At(s.nextOp).Call; c >= 0 && int(c) < s.nextCall && a.callEnd(c) <= s.now {
			issued = int32(s.nextOp)
		}
	}
	switch {
	case issued >= 0:
		o := rec.Ops.At(int(issued))
		a.opTime[issued].lead += d
		run.part, run.call, run.step, run.loop = gapPart{starting, a.opPhase(o)}, o.Call, a.rec.Calls.At(int(o.Call)).Step, a.opInLoop(o)
	case host >= 0:
		c := rec.Calls.At(int(host))
		a.callTime[host].idle += d
		run.part, run.step, run.loop = gapPart{causeOf(c, a.isLoader(c.Phase)), c.Phase}, c.Step, a.inLoop(c)
	default:
		phase, step := s.place()
		run.part, run.step, run.loop = gapPart{between, phase}, step, step >= 0 || !a.steps
		if a.isLoader(phase) && !a.disturbed {
			run.part.cause = loading
		}
		if s.nextCall < rec.Calls.Len() {
			a.callTime[s.nextCall].before += d
			run.call = int32(s.nextCall)
		}
	}
	s.idle[run.part.cause] += d
	if run.loop {
		a.idleBy[run.part] += d
	}
	s.gapLength += d
	if n := len(s.gap); n > 0 && s.gap[n-1].part == run.part && s.gap[n-1].step == run.step {
		s.gap[n-1].time += d
		return
	}
	s.gap = append(s.gap, run)
}

// place is the phase and the step at this time, where no call tells.
func (s *sweep) place() (phase profiles.NameID, step int32) {
	rec := s.a.rec
	for s.phase < len(rec.Phases) && rec.Phases[s.phase].End <= s.now {
		s.phase++
	}
	for s.step < len(rec.Steps) && rec.Steps[s.step].End <= s.now {
		s.step++
	}
	step = -1
	if s.phase < len(rec.Phases) && rec.Phases[s.phase].Start <= s.now {
		phase = rec.Phases[s.phase].Name
	}
	if s.step < len(rec.Steps) && rec.Steps[s.step].Start <= s.now {
		step = int32(s.step)
	}
	return phase, step
}

// leastGap is the shortest idle stretch that is a gap by itself: a few
// launches' worth. In longer steps it is half a percent of one.
const leastGap = 20_000

// endGap ends the idle stretch, if the device was in one.
func (s *sweep) endGap() {
	if s.gapLength >= s.least {
		s.gaps++
		for _, run := range s.gap {
			if !run.loop {
				continue
			}
			sum := s.a.longGaps[run.part]
			if sum == nil {
				sum = &gapSum{site: run.call, times: make([]int64, s.a.stepCount())}
				s.a.longGaps[run.part] = sum
			}
			if sum.last != s.gaps {
				sum.count, sum.last = sum.count+1, s.gaps
			}
			sum.times[max(run.step, 0)] += run.time
		}
	}
	s.gap, s.gapLength = s.gap[:0], 0
}

// waits says whether the host may wait for the device in c.
func waits(c *profiles.Call) bool {
	return c.Blocking || c.Kind == profiles.CallSync || c.Kind == profiles.CallFree
}

func causeOf(c *profiles.Call, inLoader bool) cause {
	switch c.Kind {
	case profiles.CallLaunch, profiles.CallGraphLaunch:
		return launching
	case profiles.CallCopy, profiles.CallMemset:
		return copying
	case profiles.CallSync:
		return syncing
	case profiles.CallAlloc, profiles.CallFree:
		return allocating
	case profiles.CallLoad:
		return loading
	case profiles.CallHostWork:
		if inLoader {
			return loading
		}
		return working
	}
	return calling
}
