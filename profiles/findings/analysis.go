package findings

import (
	"cmp"
	"slices"
	"strings"

	"gputax/device"
	"gputax/device/sim"
	"gputax/profiles"
)

// analysis is a recording with what every rule needs to know about it.
type analysis struct {
	rec   *profiles.Recording
	p     *sim.Profile // nil where there is none
	epoch int64
	loop  int64 // the time of all steps; the epoch where none are known
	steps bool  // they are known: what is outside of them is not looked at
	// disturbed says that the recording itself took time between calls, to hash
	// contents or to count allocations on a real clock: what the host did there
	// is then not known.
	disturbed bool

	callTime []callTime
	opTime   []opTime
	split    Split
	busy     int64 // kernels of steps ran
	idleBy   map[gapPart]int64
	longGaps map[gapPart]*gapSum
	tiny     tallies[copyGroup] // small copies
	tinySync map[*tally]int64   // how many of each group were waited for by a call of its own
	loaders  map[profiles.NameID]bool
	opOf     []int32 // by call: its first op, or -1
	dups     *duplicates
}

func analyse(rec *profiles.Recording, p *sim.Profile) *analysis {
	a := &analysis{rec: rec, p: p, epoch: rec.End - rec.Start, steps: len(rec.Steps) > 0,
		disturbed: rec.Clock == device.Real && (rec.Knows(profiles.Contents) || rec.Knows(profiles.HeapAllocs)), loaders: map[profiles.NameID]bool{}}
	a.opOf = make([]int32, rec.Calls.Len())
	for i := range a.opOf {
		a.opOf[i] = -1
	}
	for i, o := range rec.Ops.All() {
		if o.Call >= 0 && a.opOf[o.Call] < 0 {
			a.opOf[o.Call] = int32(i)
		}
	}
	a.loop = a.loopOf()
	a.timeline()
	a.findTiny()
	a.dups = findDuplicates(a)
	return a
}

// stepCount is how many steps were recorded; 1 where none are known.
func (a *analysis) stepCount() int64 { return max(int64(len(a.rec.Steps)), 1) }

// stepTime is the mean length of a step; the window's where none are known.
func (a *analysis) stepTime() int64 { return a.loop / a.stepCount() }

// loopOf is how long all steps take together: until the host has left the last
// and the device has done what they issued.
func (a *analysis) loopOf() int64 {
	if !a.steps {
		return a.epoch
	}
	end := a.rec.Steps[len(a.rec.Steps)-1].End
	for i, o := range a.rec.Ops.All() {
		if c := a.callOf(o); c != nil && c.Step >= 0 {
			end = max(end, a.opEnd(int32(i)))
		}
	}
	return end - a.rec.Steps[0].Start
}

func (a *analysis) callEnd(i int32) int64 {
	c := a.rec.Calls.At(int(i))
	return c.Start + c.Dur
}

func (a *analysis) opEnd(i int32) int64 {
	o := a.rec.Ops.At(int(i))
	return o.Start + o.Dur
}

// inLoop says whether rules look at c.
func (a *analysis) inLoop(c *profiles.Call) bool { return !a.steps || c.Step >= 0 }

// callOf is an op's call; nil where it is not known.
func (a *analysis) callOf(o *profiles.Op) *profiles.Call {
	if o.Call < 0 {
		return nil
	}
	return a.rec.Calls.At(int(o.Call))
}

// opInLoop says whether rules look at o.
func (a *analysis) opInLoop(o *profiles.Op) bool {
	c := a.callOf(o)
	return c != nil && a.inLoop(c) || c == nil && !a.steps
}

// opPhase is the phase an op was issued in; a graph's node, captured in.
func (a *analysis) opPhase(o *profiles.Op) profiles.NameID {
	if d := a.detail(o); d != nil && d.Phase != 0 {
		return d.Phase
	}
	if c := a.callOf(o); c != nil {
		return c.Phase
	}
	return 0
}

// detail is what is known about o besides; nil where nothing is.
func (a *analysis) detail(o *profiles.Op) *profiles.Detail {
	if o.Detail < 0 {
		return nil
	}
	return a.rec.Detail.At(int(o.Detail))
}

// notLoaders takes out words that have load in them and mean something else.
var notLoaders = strings.NewReplacer("upload", "", "download", "", "offload", "", "payload", "", "workload", "")

// isLoader says whether a phase is, by its name, the loading of data.
func (a *analysis) isLoader(phase profiles.NameID) bool {
	is, ok := a.loaders[phase]
	if !ok {
		is = strings.Contains(notLoaders.Replace(strings.ToLower(a.rec.Names.Name(phase))), "load")
		a.loaders[phase] = is
	}
	return is
}

// before is how long the device was idle while the host was on its way to a
// call; 0 where that is not known.
func (a *analysis) before(call int32) int64 {
	if a.disturbed {
		return 0
	}
	return a.callTime[call].before
}

// spent is what was charged to an op and to its call; a graph's nodes share
// theirs, and it is left out.
func (a *analysis) spent(op int32) int64 {
	t := a.opTime[op].run + a.opTime[op].lead
	if o := a.rec.Ops.At(int(op)); o.Call >= 0 && !o.InGraph {
		t += a.callTime[o.Call].idle
	}
	return t
}

// idleParts is the causes that were, the longest first.
func idleParts(by [causes]int64) []Part {
	var parts []Part
	for c, t := range by {
		if t > 0 {
			parts = append(parts, Part{causeNames[c], t})
		}
	}
	slices.SortStableFunc(parts, func(x, y Part) int { return cmp.Compare(y.Time, x.Time) })
	return parts
}
