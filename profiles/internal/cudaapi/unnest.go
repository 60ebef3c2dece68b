package cudaapi

import "gputax/profiles"

// Unnest makes waits, allocations and frees that lie within another of the same
// kind, on the same thread, plain calls: profilers that record both the runtime
// and the driver see cudaMalloc and the cuMemAlloc in it. Calls must be in
// order.
func Unnest(r *profiles.Recording) {
	type outer struct {
		end  int64
		kind profiles.CallKind
	}
	var threads []outer
	for _, c := range r.Calls.All() {
		switch c.Kind {
		case profiles.CallSync, profiles.CallAlloc, profiles.CallFree:
		default:
			continue
		}
		for len(threads) <= int(c.Thread) {
			threads = append(threads, outer{})
		}
		o := &threads[c.Thread]
		if o.kind == c.Kind && c.Start+c.Dur <= o.end {
			c.Kind = profiles.CallOther
			continue
		}
		*o = outer{c.Start + c.Dur, c.Kind}
	}
}
