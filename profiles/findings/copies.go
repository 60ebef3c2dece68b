package findings

import (
	"iter"

	"gputax/profiles"
)

// copies goes over the copies between host and device that the loop makes one
// by one; those of graphs are started together and are left out.
func (a *analysis) copies() iter.Seq2[int32, *profiles.Op] {
	return func(yield func(int32, *profiles.Op) bool) {
		for i, o := range a.rec.Ops.All() {
			if o.Kind != profiles.OpCopy || o.InGraph || o.Call < 0 || !a.opInLoop(o) {
				continue
			}
			if o.Dir != profiles.HostToDevice && o.Dir != profiles.DeviceToHost {
				continue
			}
			if !yield(int32(i), o) {
				return
			}
		}
	}
}

// kernels goes over the kernels that the loop launches one by one and that are
// no duplicates: what a rule prices should not go away with another's advice.
func (a *analysis) kernels() iter.Seq2[int32, *profiles.Op] {
	return func(yield func(int32, *profiles.Op) bool) {
		for i, o := range a.rec.Ops.All() {
			if o.Kind != profiles.OpKernel || o.InGraph || o.Call < 0 || !a.opInLoop(o) || a.repeats(int32(i)) {
				continue
			}
			if !yield(int32(i), o) {
				return
			}
		}
	}
}

// adjacent is how far apart two calls of a thread are at most that belong
// together: a copy, and the wait for it that a framework makes.
const adjacent = 5_000

// neighbour is the call of the same thread next to call i, in direction by,
// where it is adjacent; -1 where there is none. Calls of no importance between
// them do not count.
func (a *analysis) neighbour(i, by int32) int32 {
	c := a.rec.Calls.At(int(i))
	for j := i + by; j >= 0 && int(j) < a.rec.Calls.Len() && j != i+4*by; j += by {
		d := a.rec.Calls.At(int(j))
		if d.Thread != c.Thread || d.Kind == profiles.CallOther {
			continue
		}
		if max(d.Start, c.Start)-min(d.Start+d.Dur, c.Start+c.Dur) > adjacent {
			return -1
		}
		return j
	}
	return -1
}

// ownSync is the wait that follows a copy at once and is only for it; -1 where
// there is none.
func (a *analysis) ownSync(copyCall int32) int32 {
	if j := a.neighbour(copyCall, 1); j >= 0 && a.rec.Calls.At(int(j)).Kind == profiles.CallSync {
		return j
	}
	return -1
}

// syncedCopy is the copy that a wait follows at once; -1 where there is none.
func (a *analysis) syncedCopy(sync int32) int32 {
	if j := a.neighbour(sync, -1); j >= 0 && a.rec.Calls.At(int(j)).Kind == profiles.CallCopy {
		return j
	}
	return -1
}

// copySpent is what was charged to a copy, to its call and to the wait for it.
func (a *analysis) copySpent(op int32) (spent int64, synced bool) {
	spent = a.spent(op)
	if s := a.ownSync(a.rec.Ops.At(int(op)).Call); s >= 0 {
		return spent + a.callTime[s].idle, true
	}
	return spent, false
}

// blocks says whether the host waits for a copy, in its call or right after.
func (a *analysis) blocks(o *profiles.Op) bool {
	return a.rec.Calls.At(int(o.Call)).Blocking || a.ownSync(o.Call) >= 0
}

// direction says which way, in titles.
func direction(d profiles.Dir) string {
	if d == profiles.DeviceToHost {
		return "back to the host"
	}
	return "to the device"
}
