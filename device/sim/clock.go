package sim

import (
	"math"
	"math/bits"

	"gputax/device"
	"gputax/device/host"
)

// clock is virtual time, in whole nanoseconds. Integers give the same sums on
// every machine, where floating point may be fused differently; and since every
// charge is whole, what an op takes does not depend on what came before it.
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
	pool     pool
	known    kernelTimes
}

// pool is background workers that do pieces of host work ahead of the host.
type pool struct {
	finish  []int64 // when each worker is done with its last piece
	claimed []int64 // when each of the last pieces was asked for
	pieces  int
}

// claim says when the next piece, which takes t, is ready for a host that asks
// at now. Piece i is worker i mod workers', who starts it when done with the
// one before and when fewer than ahead pieces wait to be asked for.
func (p *pool) claim(now, t int64, workers, ahead int) (ready int64) {
	if len(p.finish) != workers || len(p.claimed) != ahead {
		*p = pool{finish: make([]int64, workers), claimed: make([]int64, ahead)}
		for i := range p.finish {
			p.finish[i] = now
		}
		for i := range p.claimed {
			p.claimed[i] = now
		}
	}
	worker, slot := &p.finish[p.pieces%workers], &p.claimed[p.pieces%ahead]
	*worker = max(*worker, *slot) + t
	*slot = max(now, *worker)
	p.pieces++
	return *slot
}

// costs is a Profile in whole nanoseconds and whole rates; only the two that
// are multiplied before they are rounded are in picoseconds.
type costs struct {
	launchHost, launchLatency, launchGap int64
	kernelFloor                          int64
	flops, tensor, mem                   uint64
	copyHost                             int64
	copies                               [2][2]copyCost // by direction, and pageable 0, pinned 1
	syncHost, eventHost                  int64
	graphHost, graphNode                 int64
	alloc, allocPinned, free             int64
	freeWaits                            bool
	hostCallPS, hostItemPS               int64
	hostBytes, hostFlops                 uint64
}

type copyCost struct {
	latency int64
	rate    uint64
}

const (
	pageable = 0
	pinned   = 1
)

func ns(v float64) int64    { return int64(math.Round(v)) }
func ps(v float64) int64    { return int64(math.Round(v * 1000)) }
func rate(v float64) uint64 { return uint64(math.Round(v)) }

// wait moves the host to t, if it is not past it.
func (c *clock) wait(t int64) { c.host = max(c.host, t) }

func newCosts(p *Profile) costs {
	return costs{
		launchHost: ns(p.LaunchHost), launchLatency: ns(p.LaunchLatency), launchGap: ns(p.LaunchGap), kernelFloor: ns(p.KernelFloor),
		flops: rate(p.FlopsPerS), tensor: rate(p.TensorPerS), mem: rate(p.MemBytesPerS),
		copyHost: ns(p.CopyHost),
		copies: [2][2]copyCost{
			device.HostToDevice: {
				{ns(p.UploadPageable), rate(p.UploadPageablePerS)},
				{ns(p.UploadPinned), rate(p.UploadPinnedPerS)},
			},
			device.DeviceToHost: {
				{ns(p.DownloadPageable), rate(p.DownloadPageablePerS)},
				{ns(p.DownloadPinned), rate(p.DownloadPinnedPerS)},
			},
		},
		syncHost: ns(p.SyncHost), eventHost: ns(p.EventHost),
		graphHost: ns(p.GraphHost), graphNode: ns(p.GraphNode),
		alloc: ns(p.AllocHost), allocPinned: ns(p.AllocPinnedHost), free: ns(p.FreeHost), freeWaits: p.FreeWaits != 0,
		hostCallPS: ps(p.HostCall), hostItemPS: ps(p.HostItem),
		hostBytes: rate(p.HostBytesPerS), hostFlops: rate(p.HostFlopsPerS),
	}
}

// over is the nanoseconds n units take at a rate a second, rounded up.
func over(n int64, rate uint64) int64 {
	hi, lo := bits.Mul64(uint64(max(n, 0)), 1e9)
	lo, carry := bits.Add64(lo, rate-1, 0)
	hi += carry
	if hi >= rate {
		return math.MaxInt64 / 4 // beyond any run: decades
	}
	q, _ := bits.Div64(hi, lo, rate)
	return int64(min(q, math.MaxInt64/4))
}

// kernel is how long a launch takes: as long as one like it is known to take,
// or else the slowest of its declared arithmetic, its memory traffic, and what
// it reads across the bus, which takes as long as a pinned upload.
func (c *clock) kernel(k *device.Kernel, a device.Args) int64 {
	w := k.WorkOf(a)
	if t, ok := c.known.of(k.Symbol, w); ok {
		return t
	}
	t := max(over(w.Flops, c.c.flops)+over(w.TensorFlops, c.c.tensor), over(w.ReadBytes+w.WriteBytes, c.c.mem))
	if n := a.Mapped(); n > 0 {
		bus := c.c.copies[device.HostToDevice][pinned]
		t = max(t, bus.latency+over(n, bus.rate))
	}
	return t
}

// span is when work begins and ends.
type span struct{ start, end int64 }

// launch issues one kernel and says when it runs.
func (c *clock) launch(s device.Stream, k *device.Kernel, a device.Args) span {
	c.host += c.c.launchHost
	at := c.run(s, c.host+c.c.launchLatency, c.kernel(k, a), c.c.kernelFloor)
	c.streams[s] += c.c.launchGap
	return at
}

// node puts one node of a graph on a stream and says when it runs.
func (c *clock) node(s device.Stream, n *host.Node) span {
	if n.Kernel != nil {
		return c.run(s, 0, c.kernel(n.Kernel, n.Args), c.c.graphNode)
	}
	cp := n.Copy
	cp.Stream = s
	return c.move(cp, 0)
}

// run puts work on a stream, no sooner than ready. Work at the floor overlaps
// with other streams' freely: it leaves most of the device idle.
func (c *clock) run(s device.Stream, ready, work, floor int64) span {
	start := max(ready, c.streams[s])
	if work <= floor {
		c.streams[s] = start + floor
		return span{start, c.streams[s]}
	}
	start = max(start, c.compute)
	c.compute = start + work
	c.streams[s] = start + work
	return span{start, c.streams[s]}
}

// transfer issues one copy and says when it runs; the host waits for a blocking
// one.
func (c *clock) transfer(cp device.Copy) span {
	c.host += c.c.copyHost
	at := c.move(cp, c.host)
	if cp.Mode != device.Async {
		c.wait(at.end)
	}
	return at
}

// move puts a copy on its stream, no sooner than ready, and says when it runs.
func (c *clock) move(cp device.Copy, ready int64) span {
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
	end := start + cost.latency + over(int64(len(cp.Host)), cost.rate)
	c.streams[cp.Stream], *engine = end, end
	return span{start, end}
}

// hostWork charges what the host does by itself.
func (c *clock) hostWork(w device.HostWork) {
	loop := w.Calls*c.c.hostCallPS + w.Items*c.c.hostItemPS
	t := (loop+999)/1000 + over(w.Bytes, c.c.hostBytes) + over(w.Flops, c.c.hostFlops)
	if w.Workers > 0 {
		c.wait(c.pool.claim(c.host, t, w.Workers, max(w.Ahead, 1)))
		return
	}
	c.host += t
}
