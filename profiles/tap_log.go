package profiles

import (
	"context"
	"math"
	"runtime"
	"runtime/pprof"
	"unsafe"

	"gputax/device"
	"gputax/device/sim"
)

// logbook is a recording being made. Everything that recording costs happens in
// its methods, so that a CPU profile can leave it out by their names.
type logbook struct {
	rec      *Recording
	clock    func() int64
	virtual  bool
	ops      OpSource
	contents bool
	mallocs  bool

	on    bool
	phase NameID
	step  int32
	last  int64 // when the host last did something known
	spans struct{ phase, step Span }
	heap  heapCount // when the phase was entered
	own   heapCount // what finding call sites took

	sites   map[[maxFrames]uintptr]SiteID
	buffers map[*device.Block]map[int]uint32
	buffer  uint32 // the last number given

	seen      interval // when a simulated op ran
	current   int      // the call that is being made
	replaying []node   // what is left of the graph that the call launched

	labels map[string]context.Context // of goroutines, by phase; nil where none are set
	base   context.Context
}

// node is an op before it runs: all that its call knows.
type node struct {
	name   string
	op     Op     // its name, kind, size and layout
	detail Detail // its work, or its buffer
	kernel *device.Kernel
	args   device.Args
	copy   device.Copy // where kernel is nil
}

func newLogbook(dev device.Device, opt CaptureOptions) *logbook {
	l := &logbook{
		rec:   &Recording{Source: Source{Name: dev.Name(), Unseen: map[Knowledge]string{}}, Clock: dev.Clock(), Sites: make([]Site, 1)},
		clock: func() int64 { return int64(dev.Now()) }, virtual: dev.Clock() == device.Virtual,
		ops: opt.Ops, contents: opt.Contents, mallocs: opt.Mallocs,
		step: -1, sites: map[[maxFrames]uintptr]SiteID{}, buffers: map[*device.Block]map[int]uint32{},
	}
	return l
}

func (l *logbook) now() int64 { return l.clock() }

// open begins to note.
func (l *logbook) open() {
	l.on, l.step = true, -1
	l.rec.Start = l.now()
	l.last = l.rec.Start
	l.openPhase(l.rec.Start)
}

// close ends it.
func (l *logbook) close() {
	l.rec.End = l.now()
	l.closePhase(l.rec.End)
	l.closeStep(l.rec.End)
	l.on = false
}

func (l *logbook) openPhase(now int64) {
	l.spans.phase = Span{Name: l.phase, Step: l.step, Start: now}
	l.heap = l.countHeap()
}

// closePhase ends the current phase. One that took no time and did nothing is
// forgotten.
func (l *logbook) closePhase(now int64) {
	s := l.spans.phase
	s.End = now
	c := l.countHeap()
	s.Mallocs, s.HeapBytes = max(c.objects-l.heap.objects, 0), max(c.bytes-l.heap.bytes, 0)
	if s.End > s.Start || s.Mallocs > 0 {
		l.rec.Phases = append(l.rec.Phases, s)
	}
}

func (l *logbook) closeStep(now int64) {
	if l.step >= 0 {
		s := l.spans.step
		s.End = now
		l.rec.Steps[l.step] = s
	}
}

func (l *logbook) enterPhase(name string) {
	if l.labels != nil {
		l.label(name)
	}
	id := l.rec.Names.ID(name)
	if l.on {
		now := l.now()
		l.closePhase(now)
		l.phase, l.last = id, now
		l.openPhase(now)
	}
	l.phase = id
}

// label makes name the label phase of the goroutine, for the CPU profile.
func (l *logbook) label(name string) {
	ctx, ok := l.labels[name]
	if !ok {
		ctx = pprof.WithLabels(l.base, pprof.Labels("phase", name))
		l.labels[name] = ctx
	}
	pprof.SetGoroutineLabels(ctx)
}

// enterStep begins a step, or ends one where n is negative. A phase that goes
// on is one span in each.
func (l *logbook) enterStep(n int) {
	if !l.on {
		return
	}
	now := l.now()
	l.closePhase(now)
	l.closeStep(now)
	l.step = -1
	if n >= 0 {
		l.step = int32(len(l.rec.Steps))
		l.spans.step = Span{Name: l.rec.Names.ID("step"), Step: l.step, Start: now}
		l.rec.Steps = append(l.rec.Steps, l.spans.step)
	}
	l.last = now
	l.openPhase(now)
}

func (l *logbook) padded(useful, total int64) {
	if l.on {
		l.rec.Padded = append(l.rec.Padded, Padding{Phase: l.phase, Site: l.site(), Step: l.step, Useful: useful, Total: total})
	}
}

// begin notes that a call begins, and gives its index; -1 where nothing is
// noted.
func (l *logbook) begin(c Call, name string) int {
	if !l.on {
		return -1
	}
	l.current = l.call(c, name, l.site())
	if l.ops != nil {
		runtime.LockOSThread()
		l.ops.Correlate(uint64(l.current))
	}
	l.rec.Calls.At(l.current).Start = l.now()
	return l.current
}

// call adds a call in the current phase and step.
func (l *logbook) call(c Call, name string, site SiteID) int {
	c.Name, c.Phase, c.Site, c.Step = l.rec.Names.ID(name), l.phase, site, l.step
	return l.rec.Calls.Add(c)
}

// end notes that a call returned. One that failed did not do what it was for.
func (l *logbook) end(call int, err error) {
	if call < 0 {
		return
	}
	now := l.now()
	if l.ops != nil {
		l.ops.Correlate(Apart)
		runtime.UnlockOSThread()
	}
	c := l.rec.Calls.At(call)
	c.Dur, l.last = now-c.Start, now
	if err != nil {
		c.Kind = CallOther
	}
}

// hostWork notes work that the host declares; charge has a simulated device
// take its time. On a real clock that work is done already: since the host last
// did something known.
func (l *logbook) hostWork(w device.HostWork, charge func(device.HostWork)) {
	c, name := Call{Kind: CallHostWork, Bytes: w.Bytes, Start: l.last}, "host work"
	if w.Workers > 0 {
		c.Kind, name = CallLoad, "wait for loader"
	}
	site := l.site()
	if l.virtual {
		c.Start = l.now()
	}
	charge(w)
	l.last = l.now()
	c.Dur = l.last - c.Start
	call := l.call(c, name, site)
	l.rec.HostWork = append(l.rec.HostWork, HostWork{Call: int32(call), HostWork: w})
}

// op notes an op.
func (l *logbook) op(call int, s device.Stream, start, dur int64, n *node) {
	o := n.op
	o.Name, o.Call, o.Stream, o.Start, o.Dur = l.rec.Names.ID(n.name), int32(call), int32(s), start, dur
	o.InGraph = l.rec.Calls.At(call).Kind == CallGraphLaunch
	o.Detail = int32(l.rec.Detail.Add(n.detail))
	l.rec.Ops.Add(o)
}

// sawSim is told by a simulated device of each op.
func (l *logbook) sawSim(op *sim.Op) {
	if !l.on {
		return
	}
	l.seen = interval{int64(op.Start), int64(op.End)}
	if !op.InGraph {
		return // whoever made the call notes it
	}
	n := l.replaying[0]
	l.replaying = l.replaying[1:]
	n.detail.Content = l.content(&n)
	l.op(l.current, op.Stream, l.seen.start, l.seen.end-l.seen.start, &n)
}

// captured marks a node with where it was captured.
func (l *logbook) captured(n node) node {
	n.detail.Phase, n.detail.Site = l.phase, l.site()
	return n
}

func (l *logbook) kernelNode(k *device.Kernel, args device.Args) node {
	w := k.WorkOf(args)
	n := node{name: k.Symbol, kernel: k, args: args,
		op:     Op{Kind: OpKernel, Bytes: args.Mapped()},
		detail: Detail{Flops: w.Flops, TensorFlops: w.TensorFlops, MemBytes: w.ReadBytes + w.WriteBytes}}
	if n.op.Bytes > 0 {
		n.op.Mem = MemPinned
	}
	if k.Dims != nil {
		d := k.Dims(args)
		n.op.Blocks = int32(min(int64(d.X)*int64(max(d.Y, 1))*int64(max(d.Z, 1)), math.MaxInt32))
		n.op.Threads = uint16(min(d.Threads, math.MaxUint16))
	}
	return n
}

// copyNames are the ops of copies, by direction and mode.
var copyNames = [2][3]string{
	device.HostToDevice: {"upload pageable", "upload pinned", "upload async"},
	device.DeviceToHost: {"download pageable", "download pinned", "download async"},
}

func (l *logbook) copyNode(c device.Copy) node {
	n := node{name: copyNames[c.Direction][c.Mode], copy: c,
		op:     Op{Kind: OpCopy, Bytes: int64(len(c.Host)), Dir: HostToDevice, Mem: MemPinned},
		detail: Detail{Buffer: l.bufferOf(c.Device)}}
	if c.Direction == device.DeviceToHost {
		n.op.Dir = DeviceToHost
	}
	if c.Mode == device.Pageable {
		n.op.Mem = MemPageable
	}
	return n
}

// bufferOf is the number of the place where b begins.
func (l *logbook) bufferOf(b device.Buffer) uint32 {
	block, offset := b.Place()
	if l.buffers[block] == nil {
		l.buffers[block] = map[int]uint32{}
	}
	if _, ok := l.buffers[block][offset]; !ok {
		l.buffer++
		l.buffers[block][offset] = l.buffer
	}
	return l.buffers[block][offset]
}

// forget lets go of a freed block; what is allocated there next is another.
func (l *logbook) forget(b *device.Block) { delete(l.buffers, b) }

// heapCount is how much the program has allocated since it started.
type heapCount struct{ objects, bytes int64 }

// countHeap is that, less what the logbook itself has allocated; 0 where
// nobody wants to know.
func (l *logbook) countHeap() heapCount {
	if !l.mallocs {
		return heapCount{}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c := heapCount{int64(m.Mallocs) - l.own.objects, int64(m.TotalAlloc) - l.own.bytes}
	for _, own := range []struct{ chunks, size int }{
		{len(l.rec.Calls.chunks), int(unsafe.Sizeof(Call{}))},
		{len(l.rec.Ops.chunks), int(unsafe.Sizeof(Op{}))},
		{len(l.rec.Detail.chunks), int(unsafe.Sizeof(Detail{}))},
	} {
		c.objects -= int64(own.chunks)
		c.bytes -= int64(own.chunks * logChunk * own.size)
	}
	return c
}
