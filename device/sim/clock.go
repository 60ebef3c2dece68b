package sim

import (
	"math"
	"math/bits"

	"gputax/device"
)

// clock is virtual time, in whole picoseconds: integers give the same sums on
// every machine, where floating point may be fused differently.
//
// The host has one time line and each stream another. A call moves the host
// forward by what the call costs; queued work starts when the host has issued
// it, its stream has come to it and, for copies and for kernels with more work
// than the floor, the engine that does it is free. The host waits only in
// Sync and in blocking copies.
type clock struct {
	c        costs
	host     int64
	streams  []int64 // when each stream has done all it was given
	events   []int64 // the stream time each event last marked
	compute  int64   // when the arithmetic units are free
	upload   int64   // when each copy engine is free
	download int64
}

// costs is a Profile in picoseconds and whole rates.
type costs struct {
	launchHost, launchLatency, kernelFloor int64
	flops, mem                             uint64
	copyHost                               int64
	copies                                 [2][2]copyCost // by direction, and pageable 0, pinned 1
	syncHost, eventHost                    int64
	graphHost, graphNode                   int64
	alloc, allocPinned, free               int64
	hostCall, hostItem                     int64
	hostBytes, hostFlops                   uint64
}

type copyCost struct {
	latency int64
	rate    uint64
}

const (
	pageable = 0
	pinned   = 1
)

func ps(ns float64) int64     { return int64(math.Round(ns * 1000)) }
func rate(v float64) uint64   { return uint64(math.Round(v)) }
func nonNeg(v int64) uint64   { return uint64(max(v, 0)) }
func (c *clock) sync(t int64) { c.host = max(c.host, t) }

func newCosts(p *Profile) costs {
	return costs{
		launchHost: ps(p.LaunchHost), launchLatency: ps(p.LaunchLatency), kernelFloor: ps(p.KernelFloor),
		flops: rate(p.FlopsPerS), mem: rate(p.MemBytesPerS),
		copyHost: ps(p.CopyHost),
		copies: [2][2]copyCost{
			device.HostToDevice: {
				{ps(p.UploadPageable), rate(p.UploadPageablePerS)},
				{ps(p.UploadPinned), rate(p.UploadPinnedPerS)},
			},
			device.DeviceToHost: {
				{ps(p.DownloadPageable), rate(p.DownloadPageablePerS)},
				{ps(p.DownloadPinned), rate(p.DownloadPinnedPerS)},
			},
		},
		syncHost: ps(p.SyncHost), eventHost: ps(p.EventHost),
		graphHost: ps(p.GraphHost), graphNode: ps(p.GraphNode),
		alloc: ps(p.AllocHost), allocPinned: ps(p.AllocPinnedHost), free: ps(p.FreeHost),
		hostCall: ps(p.HostCall), hostItem: ps(p.HostItem),
		hostBytes: rate(p.HostBytesPerS), hostFlops: rate(p.HostFlopsPerS),
	}
}

// over is the time n units take at a rate a second, rounded up.
func over(n int64, rate uint64) int64 {
	hi, lo := bits.Mul64(nonNeg(n), 1e12)
	lo, carry := bits.Add64(lo, rate-1, 0)
	hi += carry
	if hi >= rate {
		return math.MaxInt64 / 4 // beyond any run: a hundred days and more
	}
	q, _ := bits.Div64(hi, lo, rate)
	return int64(min(q, math.MaxInt64/4))
}

// kernel is how long declared work takes: the slower of arithmetic and memory.
func (c *clock) kernel(w device.Work) int64 {
	return max(over(w.Flops, c.c.flops), over(w.ReadBytes+w.WriteBytes, c.c.mem))
}

// launch issues one kernel.
func (c *clock) launch(s device.Stream, w device.Work) {
	c.host += c.c.launchHost
	c.run(s, c.host+c.c.launchLatency, c.kernel(w), c.c.kernelFloor)
}

// run puts work on a stream, no sooner than ready. Work at the floor overlaps
// with other streams' freely: it leaves most of the device idle.
func (c *clock) run(s device.Stream, ready, work, floor int64) {
	start := max(ready, c.streams[s])
	if work <= floor {
		c.streams[s] = start + floor
		return
	}
	start = max(start, c.compute)
	c.compute = start + work
	c.streams[s] = start + work
}

// transfer issues one copy; the host waits for a blocking one.
func (c *clock) transfer(cp device.Copy) {
	c.host += c.c.copyHost
	end := c.move(cp, c.host)
	if cp.Mode != device.Async {
		c.sync(end)
	}
}

// move puts a copy on its stream, no sooner than ready, and says when it ends.
func (c *clock) move(cp device.Copy, ready int64) (end int64) {
	kind := pinned
	if cp.Mode == device.Pageable {
		kind = pageable
	}
	engine := &c.upload
	if cp.Direction == device.DeviceToHost {
		engine = &c.download
	}
	cost := c.c.copies[cp.Direction][kind]
	start := max(ready, c.streams[cp.Stream], *engine)
	end = start + cost.latency + over(int64(len(cp.Host)), cost.rate)
	c.streams[cp.Stream], *engine = end, end
	return end
}

// hostWork charges what the host does by itself.
func (c *clock) hostWork(w device.HostWork) {
	c.host += w.Calls*c.c.hostCall + w.Items*c.c.hostItem +
		over(w.Bytes, c.c.hostBytes) + over(w.Flops, c.c.hostFlops)
}
