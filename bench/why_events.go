package bench

import (
	"math"
	"slices"

	"gputax/device"
)

// Prices is what one counted event costs on a device, in nanoseconds of the op's
// time. They are prices on an otherwise idle time line: where the device is
// behind, a launch more may cost only the device's part, and where the host is
// behind, only the host's; a launch is priced at the larger of the two.
type Prices struct {
	Of string `json:"of"` // whose prices: a profile's name

	Launch      float64 `json:"launch_ns"`       // a kernel launched by itself: the host's call, or the shortest kernel with its gap
	GraphLaunch float64 `json:"graph_launch_ns"` // a graph replayed
	GraphKernel float64 `json:"graph_kernel_ns"` // the shortest kernel in a graph

	UploadPageable   float64 `json:"upload_pageable_ns"` // a copy up that is waited for, without its bytes
	UploadPinned     float64 `json:"upload_pinned_ns"`
	DownloadPageable float64 `json:"download_pageable_ns"`
	DownloadPinned   float64 `json:"download_pinned_ns"`
	UploadByte       float64 `json:"upload_byte_ns"`   // a byte of a pageable copy up
	DownloadByte     float64 `json:"download_byte_ns"` // and down
	MappedByte       float64 `json:"mapped_byte_ns"`   // a byte that a kernel reads or writes across the bus

	Sync  float64 `json:"sync_ns"`  // a wait for a stream that is done
	Alloc float64 `json:"alloc_ns"` // an allocation on the device
	Free  float64 `json:"free_ns"`
}

// events fills in the counters that changed, priced, the dearest first. Without
// prices they are listed by name, and explain nothing.
func (x *Explanation) events(old, new *Results, p *Prices) {
	if p == nil {
		p = &Prices{}
	} else {
		x.PricedBy = p.Of
	}
	var before, after device.Counters
	for c := range before {
		before[c] = countOf(old, x.Benchmark, device.Counter(c))
		after[c] = countOf(new, x.Benchmark, device.Counter(c))
	}
	x.Events = priced(before, after, p)
	total := 0.0
	for i := range x.Events {
		e := &x.Events[i]
		e.Fraction = x.fraction(e.NS)
		total += e.NS
	}
	x.Explained = x.fraction(total)
	slices.SortStableFunc(x.Events, func(a, b Event) int { return compareSize(a.NS, b.NS) })
}

func countOf(r *Results, name string, c device.Counter) int64 {
	s := r.Samples(name, c.Unit())
	if len(s) == 0 {
		return 0
	}
	return int64(math.Round(middle(s)))
}

// priced is what changed between two counts of an op.
func priced(before, after device.Counters, p *Prices) []Event {
	d := after.Sub(before)
	up, down := pageable(before, after)
	var out []Event
	for _, e := range []struct {
		name    string
		counter device.Counter
		change  int64
		price   float64
	}{
		{"kernel launches", device.Launches, d[device.Launches], p.Launch},
		{"graph launches", device.GraphLaunches, d[device.GraphLaunches], p.GraphLaunch},
		{"kernels in graphs", device.GraphKernels, d[device.GraphKernels], p.GraphKernel},
		{"uploads, pageable", device.UploadCopies, up, p.UploadPageable},
		{"uploads, pinned", device.UploadCopies, d[device.UploadCopies] - up, p.UploadPinned},
		{"bytes uploaded", device.UploadBytes, d[device.UploadBytes], p.UploadByte},
		{"downloads, pageable", device.DownloadCopies, down, p.DownloadPageable},
		{"downloads, pinned", device.DownloadCopies, d[device.DownloadCopies] - down, p.DownloadPinned},
		{"bytes downloaded", device.DownloadBytes, d[device.DownloadBytes], p.DownloadByte},
		{"bytes mapped", device.MappedBytes, d[device.MappedBytes], p.MappedByte},
		{"syncs", device.Syncs, d[device.Syncs], p.Sync},
		{"device allocations", device.Allocs, d[device.Allocs], p.Alloc},
		{"device frees", device.Frees, d[device.Frees], p.Free},
	} {
		if e.change != 0 {
			out = append(out, Event{Name: e.name, Counter: e.counter.Unit(), Change: float64(e.change), Price: e.price, NS: float64(e.change) * e.price})
		}
	}
	return out
}

// pageable splits the change in pageable copies, which are counted both ways
// together, into up and down: the split that changes least, and of those the
// one where uploads change.
func pageable(before, after device.Counters) (up, down int64) {
	least := func(c device.Counters) int64 { return max(0, c[device.PageableCopies]-c[device.DownloadCopies]) }
	most := func(c device.Counters) int64 { return min(c[device.UploadCopies], c[device.PageableCopies]) }
	change := after[device.PageableCopies] - before[device.PageableCopies]
	up = min(max(change, least(after)-most(before)), most(after)-least(before))
	return up, change - up
}
