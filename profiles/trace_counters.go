package profiles

import (
	"cmp"
	"slices"
)

// counterPoints is how many points a counter track has, at most.
const counterPoints = 1000

// counters writes the counter tracks of what is in the trace: how much is
// launched and copied a millisecond, and how many ops wait or run.
func (t *trace) counters() {
	r := t.rec
	if t.until <= r.Start || r.Ops.Len() == 0 {
		return
	}
	width := max((t.until-r.Start)/counterPoints, 1)
	points := (t.until-r.Start)/width + 1
	launches, copied := make([]int64, points), make([]int64, points)
	var changes []change
	for i, o := range r.Ops.All() {
		if i >= t.limit {
			break
		}
		at := (o.Start - r.Start) / width
		if o.Kind == OpCopy {
			copied[at] += o.Bytes
		} else {
			launches[at]++
		}
		if o.Call >= 0 {
			changes = append(changes, change{min(r.Calls.At(int(o.Call)).Start, o.Start), 1}, change{o.Start + o.Dur, -1})
		}
	}
	t.counter("kernels a ms", rates(launches, width), width)
	t.counter("bytes copied a ms", rates(copied, width), width)
	t.counter("ops issued and not done", depth(changes, r.Start, width, points), width)
}

// rates turns sums by stretches of so many ns into rates a millisecond.
func rates(sums []int64, width int64) []int64 {
	for i := range sums {
		sums[i] = sums[i] * 1_000_000 / width
	}
	return sums
}

// change is one more or one less from a time on.
type change struct{ at, by int64 }

// depth is the most there were in each stretch of the window.
func depth(changes []change, start, width, points int64) []int64 {
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	most := make([]int64, points)
	var now int64
	next := 0
	for i := range most {
		most[i] = now
		for ; next < len(changes) && changes[next].at < start+int64(i+1)*width; next++ {
			now += changes[next].by
			most[i] = max(most[i], now)
		}
	}
	return most
}

// counter writes a counter track, a point where it changes.
func (t *trace) counter(name string, values []int64, width int64) {
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			continue
		}
		t.begin('C', name, hostPID+1, 0)
		t.time("ts", int64(i)*width)
		t.number("value", v)
		t.end()
	}
}
