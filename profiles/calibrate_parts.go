package profiles

import (
	"fmt"
	"math"
	"time"

	"gputax/device"
)

// Sizes of the copies that latency and rate come from: one of the write-ups'
// matrices, and a whole batch of them.
const (
	smallCopy = 484
	largeCopy = 128 * smallCopy
)

// copies measures copies of each kind, each way.
func (m *meter) copies() error {
	b, err := m.rec.Alloc(largeCopy)
	if err != nil {
		return err
	}
	pin, err := m.rec.AllocPinned(largeCopy)
	if err != nil {
		return err
	}
	host := make([]byte, largeCopy)
	issue, err := m.time(32, repeat(32, func() error { return m.rec.UploadAsync(device.Default, b, pin.Slice(0, 4)) }))
	if err != nil {
		return err
	}
	p := m.p
	m.set("copy_host_ns", &p.CopyHost, issue.median, "an asynchronous copy, not waited for, "+issue.String())
	for _, c := range []struct {
		name          string
		latency, rate *float64
		copy          func(size int) error
	}{
		{"upload_pageable", &p.UploadPageable, &p.UploadPageablePerS, func(n int) error { return m.rec.Upload(b, host[:n]) }},
		{"download_pageable", &p.DownloadPageable, &p.DownloadPageablePerS, func(n int) error { return m.rec.Download(host[:n], b) }},
		{"upload_pinned", &p.UploadPinned, &p.UploadPinnedPerS, func(n int) error { return m.rec.UploadPinned(b, pin.Slice(0, n)) }},
		{"download_pinned", &p.DownloadPinned, &p.DownloadPinnedPerS, func(n int) error { return m.rec.DownloadPinned(pin.Slice(0, n), b) }},
	} {
		small, err := m.time(batchSize, repeat(batchSize, func() error { return c.copy(smallCopy) }))
		if err != nil {
			return err
		}
		large, err := m.time(batchSize, repeat(batchSize, func() error { return c.copy(largeCopy) }))
		if err != nil {
			return err
		}
		rate := 1e9 * (largeCopy - smallCopy) / max(large.median-small.median, 1)
		m.set(c.name+"_ns", c.latency, small.median-issue.median-1e9*smallCopy/rate, fmt.Sprintf("%d bytes %v, less copy_host_ns", smallCopy, small))
		m.set(c.name+"_bytes_per_s", c.rate, math.Round(rate), fmt.Sprintf("%d bytes %v, against %d bytes", largeCopy, large, smallCopy))
	}
	if err := m.rec.Free(b); err != nil {
		return err
	}
	return m.rec.FreePinned(pin)
}

// allocations measures allocating and freeing small blocks.
func (m *meter) allocations() error {
	const n = 50
	// A block that stays, as a trainer has many: the driver gives whole pages
	// back once nothing is left in them, which takes far longer.
	held, err := m.rec.Alloc(4)
	if err != nil {
		return err
	}
	var alloc, free, pinned samples
	for range m.Rounds {
		var took [3]time.Duration
		for range n { // one at a time, as a loop that makes small tensors does
			start := time.Now()
			b, err := m.rec.Alloc(4)
			if err != nil {
				return err
			}
			took[0] += time.Since(start)
			start = time.Now()
			if err := m.rec.Free(b); err != nil {
				return err
			}
			took[1] += time.Since(start)
		}
		for range n {
			start := time.Now()
			p, err := m.rec.AllocPinned(4096)
			if err != nil {
				return err
			}
			took[2] += time.Since(start)
			if err := m.rec.FreePinned(p); err != nil {
				return err
			}
		}
		for i, to := range []*samples{&alloc, &free, &pinned} {
			*to = append(*to, float64(took[i])/n)
		}
	}
	if err := m.rec.Free(held); err != nil {
		return err
	}
	total, _ := m.Dev.Memory()
	p := m.p
	m.set("alloc_host_ns", &p.AllocHost, alloc.spread().median, "4 bytes "+alloc.spread().String())
	m.set("free_host_ns", &p.FreeHost, free.spread().median, "4 bytes "+free.spread().String())
	m.set("alloc_pinned_host_ns", &p.AllocPinnedHost, pinned.spread().median, "4 kB "+pinned.spread().String())
	p.MemoryBytes, p.From["memory_bytes"] = float64(total), "as the device says"
	p.FreeWaits, p.From["free_waits"] = 1, "known, not measured: the CUDA driver waits for the device before it frees"
	return nil
}

// host measures the host's own rates.
func (m *meter) host() error {
	const size = 1 << 16
	a, b := make([]byte, size), make([]byte, size)
	bytes, err := m.time(1, repeat(batchSize, func() error { copy(a, b); return nil }))
	if err != nil {
		return err
	}
	x := make([]float32, 4096)
	flops, err := m.time(1, repeat(batchSize, func() error {
		for i := range x {
			x[i] = x[i]*0.5 + 1
		}
		return nil
	}))
	if err != nil {
		return err
	}
	item, err := m.time(m.Items, func() error { m.Item(); return nil })
	if err != nil {
		return err
	}
	p := m.p
	m.set("host_item_ns", &p.HostItem, item.median, fmt.Sprintf("%.2f ns (%.2f to %.2f) a step of a plain loop", item.median, item.least, item.most))
	m.set("host_call_ns", &p.HostCall, item.median, "as a step of a plain loop")
	m.set("host_bytes_per_s", &p.HostBytesPerS, math.Round(1e9*size*batchSize/bytes.median), "copies of 64 KiB")
	m.set("host_flops_per_s", &p.HostFlopsPerS, math.Round(1e9*2*4096*batchSize/flops.median), "a plain loop of multiply-adds")
	return nil
}

// gap measures what a launch costs its stream beyond the same kernel in a
// graph, with kernels long enough that the host is not what is waited for.
func (m *meter) gap() error {
	const n, size = 100, 16 << 20
	b, err := m.rec.Alloc(2 * size)
	if err != nil {
		return err
	}
	launch := func() error {
		return m.rec.Launch(device.Default, copyKernel, device.Buf(b.Slice(0, size)), device.Buf(b.Slice(size, size)), device.Int(size/16))
	}
	waited := func(f func() error) func() error {
		return func() error {
			if err := f(); err != nil {
				return err
			}
			return m.rec.Sync(device.Default)
		}
	}
	g, err := m.capture(n, launch)
	if err != nil {
		return err
	}
	graph, err := m.time(n, waited(func() error { return m.rec.Replay(device.Default, g) }))
	if err != nil {
		return err
	}
	plain, err := m.time(n, waited(repeat(n, launch)))
	if err != nil {
		return err
	}
	m.set("launch_gap_ns", &m.p.LaunchGap, plain.median-graph.median, fmt.Sprintf("a kernel launched by itself %v, in a graph %v", plain, graph))
	if err := m.rec.FreeGraph(g); err != nil {
		return err
	}
	return m.rec.Free(b)
}

// memory measures how fast a kernel moves memory.
func (m *meter) memory() error {
	total, _ := m.Dev.Memory()
	size := int(min(total/8, 512<<20)) &^ 15
	to, err := m.rec.Alloc(size)
	if err != nil {
		return err
	}
	from, err := m.rec.Alloc(size)
	if err != nil {
		return err
	}
	const n = 10
	g, err := m.capture(n, func() error {
		return m.rec.Launch(device.Default, copyKernel, device.Buf(to), device.Buf(from), device.Int(size/16))
	})
	if err != nil {
		return err
	}
	t, err := m.time(n, func() error {
		if err := m.rec.Replay(device.Default, g); err != nil {
			return err
		}
		return m.rec.Sync(device.Default)
	})
	if err != nil {
		return err
	}
	m.set("mem_bytes_per_s", &m.p.MemBytesPerS, math.Round(2e9*float64(size)/t.median), fmt.Sprintf("a copy of %d bytes, read and written, %v", size, t))
	if err := m.rec.FreeGraph(g); err != nil {
		return err
	}
	if err := m.rec.Free(to); err != nil {
		return err
	}
	return m.rec.Free(from)
}
