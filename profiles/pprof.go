package profiles

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
)

// gpuSamples are the sample types of the profile that WriteGPU writes. The
// first is what -mean divides by: with it, a mean is one of a kernel, or of a
// copy.
var gpuSamples = []*profile.ValueType{
	{Type: "launches", Unit: "count"},          // every kernel, copy and memset, also those that a graph ran
	{Type: "gpu_time", Unit: "nanoseconds"},    // while it ran
	{Type: "launch_time", Unit: "nanoseconds"}, // of the host, inside the call that issued it
	{Type: "queue_time", Unit: "nanoseconds"},  // from the end of that call until it began; of a graph, its first node's
	{Type: "transferred", Unit: "bytes"},       // between host and device, also by kernels on pinned memory
	{Type: "idle_time", Unit: "nanoseconds"},   // that the device had nothing to do before it
	{Type: "kernels", Unit: "count"},           // of the launches, the kernels
	{Type: "copies", Unit: "count"},            // of the launches, the copies
	{Type: "syncs", Unit: "count"},             // waits of the host for the device
	{Type: "wait_time", Unit: "nanoseconds"},   // of the host, inside those
	{Type: "graph_launches", Unit: "count"},    // graphs launched
	{Type: "allocations", Unit: "count"},       // of device memory and pinned memory
}

// Indices in gpuSamples.
const (
	sampleLaunches = iota
	sampleGPUTime
	sampleLaunchTime
	sampleQueueTime
	sampleTransferred
	sampleIdleTime
	sampleKernels
	sampleCopies
	sampleSyncs
	sampleWaitTime
	sampleGraphs
	sampleAllocs
	sampleTypes
)

// sampleKey is what makes events one sample: where they come from and what they
// are.
type sampleKey struct {
	leaf, kind         string
	phase, captured    NameID
	site, capturedSite SiteID
	dir                Dir
	mem                Mem
	device, stream     int32 // -1 for calls
}

// gpuProfile is a pprof profile being made.
type gpuProfile struct {
	rec       *Recording
	out       *profile.Profile
	values    map[sampleKey][]int64
	keys      []sampleKey
	locations map[Frame]*profile.Location
	functions map[Frame]*profile.Function // by frames without a line
}

// WriteGPU writes the device's side as a compressed pprof profile. Stacks go
// from the phase over the call site to the kernel or copy, or to the call where
// the host waits or allocates; labels tell kind, direction, memory and stream.
// Equal events are one sample, so it stays small whatever the run.
func (r *Recording) WriteGPU(w io.Writer) error {
	if err := r.CheckValid(); err != nil {
		return err
	}
	p := &gpuProfile{rec: r, values: map[sampleKey][]int64{}, locations: map[Frame]*profile.Location{}, functions: map[Frame]*profile.Function{}}
	p.addOps()
	p.addCalls()
	p.build()
	if err := p.out.CheckValid(); err != nil {
		return fmt.Errorf("gpu profile: %w", err)
	}
	return p.out.Write(w)
}

// at is the values of a sample.
func (p *gpuProfile) at(k sampleKey) []int64 {
	v, ok := p.values[k]
	if !ok {
		v = make([]int64, sampleTypes)
		p.values[k] = v
		p.keys = append(p.keys, k)
	}
	return v
}

// addOps adds what the device did, and when it did nothing.
func (p *gpuProfile) addOps() {
	r := p.rec
	ends := map[uint8]int64{} // of the last op, by device
	inGraph := map[int32]bool{}
	for _, o := range r.Ops.All() {
		v := p.at(p.opKey(o))
		v[sampleLaunches]++
		v[sampleGPUTime] += o.Dur
		switch o.Kind {
		case OpKernel:
			v[sampleKernels]++
		case OpCopy:
			v[sampleCopies]++
		}
		if o.Kind != OpMemset {
			v[sampleTransferred] += o.Bytes
		}
		if o.Call >= 0 && !inGraph[o.Call] {
			c := r.Calls.At(int(o.Call))
			v[sampleQueueTime] += max(o.Start-c.Start-c.Dur, 0)
			if o.InGraph {
				inGraph[o.Call] = true
			} else {
				v[sampleLaunchTime] += c.Dur
			}
		}
		end, ok := ends[o.Device]
		if !ok {
			end = r.Start
		}
		v[sampleIdleTime] += max(o.Start-end, 0)
		ends[o.Device] = max(end, o.Start+o.Dur)
	}
	for dev, end := range ends {
		if end < r.End {
			p.at(sampleKey{leaf: "(after the last op)", kind: "idle", device: int32(dev), stream: -1})[sampleIdleTime] += r.End - end
		}
	}
}

// addCalls adds what the host did that is no op of the device.
func (p *gpuProfile) addCalls() {
	for _, c := range p.rec.Calls.All() {
		k := sampleKey{leaf: p.rec.Names.Name(c.Name), phase: c.Phase, site: c.Site, mem: c.Mem, device: -1, stream: -1}
		switch c.Kind {
		case CallSync:
			k.kind = "sync"
			v := p.at(k)
			v[sampleSyncs]++
			v[sampleWaitTime] += c.Dur
		case CallGraphLaunch:
			k.kind = "graph"
			v := p.at(k)
			v[sampleGraphs]++
			v[sampleLaunchTime] += c.Dur
		case CallAlloc:
			k.kind = "allocation"
			p.at(k)[sampleAllocs]++
		}
	}
}

func (p *gpuProfile) opKey(o *Op) sampleKey {
	k := sampleKey{leaf: p.rec.Names.Name(o.Name), kind: [...]string{"kernel", "copy", "memset"}[o.Kind], dir: o.Dir, mem: o.Mem, device: int32(o.Device), stream: o.Stream}
	if o.Call >= 0 {
		c := p.rec.Calls.At(int(o.Call))
		k.phase, k.site = c.Phase, c.Site
	}
	if o.InGraph && o.Detail >= 0 {
		d := p.rec.Detail.At(int(o.Detail))
		k.captured, k.capturedSite = d.Phase, d.Site
	}
	return k
}

// build turns samples into the profile.
func (p *gpuProfile) build() {
	r := p.rec
	p.out = &profile.Profile{
		SampleType:        gpuSamples,
		DefaultSampleType: "gpu_time",
		PeriodType:        gpuSamples[sampleLaunches],
		Period:            1,
		DurationNanos:     r.End - r.Start,
		// pprof looks for symbols in files of mappings that lack them.
		Mapping: []*profile.Mapping{{ID: 1, File: r.Source.Name, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}},
	}
	for _, s := range r.Config {
		p.out.Comments = append(p.out.Comments, s.Key+": "+s.Value)
	}
	for _, k := range p.keys {
		p.out.Sample = append(p.out.Sample, &profile.Sample{Location: p.stack(k), Value: p.values[k], Label: labels(k)})
	}
	slices.SortStableFunc(p.out.Sample, func(a, b *profile.Sample) int {
		return cmp.Compare(b.Value[sampleGPUTime], a.Value[sampleGPUTime])
	})
}

// stack is a sample's locations, the leaf first. The node of a graph stands
// above where it was captured, and that above where the graph was launched.
func (p *gpuProfile) stack(k sampleKey) []*profile.Location {
	r := p.rec
	stack := []*profile.Location{p.location(Frame{Func: cmp.Or(k.leaf, "(unnamed)")})}
	launched := r.site(k.site)
	if k.captured != 0 || k.capturedSite != 0 {
		for _, f := range uncommon(r.site(k.capturedSite), launched) {
			stack = append(stack, p.location(f))
		}
		stack = append(stack, p.location(Frame{Func: "captured in " + phaseFrame(r.Names.Name(k.captured))}))
	}
	for _, f := range launched {
		stack = append(stack, p.location(f))
	}
	return append(stack, p.location(Frame{Func: phaseFrame(r.Names.Name(k.phase))}))
}

// phaseFrame is what stacks call a phase.
func phaseFrame(phase string) string { return "phase=" + cmp.Or(phase, "(none)") }

// uncommon is the inner frames of a stack that it does not share with another,
// by function.
func uncommon(frames, with []Frame) []Frame {
	n, m := len(frames), len(with)
	for n > 0 && m > 0 && frames[n-1].Func == with[m-1].Func {
		n, m = n-1, m-1
	}
	return frames[:n]
}

// site is a call site's frames, innermost first.
func (r *Recording) site(id SiteID) []Frame {
	if int(id) >= len(r.Sites) {
		return nil
	}
	return r.Sites[id].Frames
}

func (p *gpuProfile) location(f Frame) *profile.Location {
	if l, ok := p.locations[f]; ok {
		return l
	}
	l := &profile.Location{ID: uint64(len(p.locations) + 1), Mapping: p.out.Mapping[0],
		Line: []profile.Line{{Function: p.function(f), Line: int64(f.Line)}}}
	p.locations[f] = l
	p.out.Location = append(p.out.Location, l)
	return l
}

func (p *gpuProfile) function(f Frame) *profile.Function {
	f.Line = 0
	if fn, ok := p.functions[f]; ok {
		return fn
	}
	fn := &profile.Function{ID: uint64(len(p.functions) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File}
	p.functions[f] = fn
	p.out.Function = append(p.out.Function, fn)
	return fn
}

// dirNames and memNames are the values of the labels direction and memory.
var (
	dirNames = [...]string{DirUnknown: "", HostToDevice: "h2d", DeviceToHost: "d2h", DeviceToDevice: "d2d", PeerToPeer: "p2p", HostToHost: "h2h"}
	memNames = [...]string{MemUnknown: "", MemPageable: "pageable", MemPinned: "pinned", MemDevice: "device", MemManaged: "managed"}
)

func labels(k sampleKey) map[string][]string {
	l := map[string][]string{"kind": {k.kind}}
	set := func(key, value string) {
		if value != "" {
			l[key] = []string{value}
		}
	}
	set("direction", dirNames[k.dir])
	set("memory", memNames[k.mem])
	if k.kind == "kernel" && k.mem == MemPinned {
		set("direction", "mapped")
	}
	if k.stream >= 0 {
		set("stream", strconv.Itoa(int(k.stream)))
	}
	if k.device > 0 {
		set("device", strconv.Itoa(int(k.device)))
	}
	return l
}
