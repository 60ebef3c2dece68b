package cupti

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"
)

// Trace is what a session recorded, in its window. Times in it are CUPTI's, in
// nanoseconds; At converts them.
type Trace struct {
	Calls    []Call // of the driver and the runtime, less those of no interest; by Start
	Ops      []Op   // by Start; those without times first
	Markers  []Marker
	Warnings []string // what a reader should know

	lib          *Library
	began, ended uint64
	clock        span
	names        map[uintptr]string // of kernels
	calls        map[callID]*callName
	external     map[uint32]uint64 // ids of the session's user, by correlation
	implied      map[uint32]bool
	malformed    string // the first record that cannot be what it says
}

// None is the External of what nobody gave an id.
const None = ^uint64(0)

// Call is one call of the driver or the runtime.
type Call struct {
	Start, End  uint64
	External    uint64 // see Session.Push
	Name        string // as CUPTI knows it: cuMemAlloc_v2
	Correlation uint32
	Thread      uint32
	Result      uint32 // a CUresult or cudaError_t; 0 is success
	Kind        CallKind
	Implied     bool // see BeginImplied
	Inner       bool // made inside another call of this list
}

// OpKind is what the device did.
type OpKind uint8

const (
	OpKernel OpKind = iota
	OpCopy
	OpMemset
)

// Op is one thing that the device did.
type Op struct {
	Start, End      uint64
	Bytes           uint64 // of a copy or memset
	External        uint64 // of its call
	Name            string // of a kernel
	Correlation     uint32
	Call            int32 // index in Calls, or -1
	Device          uint32
	Context, Stream uint32
	Graph           uint32 // 0 outside graphs
	Node            uint64 // of a graph, or 0
	Grid, Block     [3]int32
	Static, Dynamic int32 // shared memory of a block, bytes
	Registers       uint16
	Kind            OpKind
	Copy            uint8 // a CUpti_ActivityMemcpyKind
	From, To        Memory
	InGraph         bool
}

// Memory is a kind of memory, a CUpti_ActivityMemoryKind.
type Memory uint8

const (
	Pageable Memory = 1
	Pinned   Memory = 2
	OnDevice Memory = 3
	Managed  Memory = 5
)

// Kinds of copies, of CUpti_ActivityMemcpyKind: those from host memory, and
// those to it; A is an array on the device.
const (
	copyHtoD = 1
	copyDtoH = 2
	copyHtoA = 3
	copyAtoH = 4
	copyHtoH = 9
	copyPtoP = 10
)

// Up says whether the op is a copy from the host to the device.
func (o *Op) Up() bool { return o.Kind == OpCopy && (o.Copy == copyHtoD || o.Copy == copyHtoA) }

// Down says whether the op is a copy from the device to the host.
func (o *Op) Down() bool { return o.Kind == OpCopy && (o.Copy == copyDtoH || o.Copy == copyAtoH) }

// Host is the kind of a copy's host memory; 0 where neither side is the host.
func (o *Op) Host() Memory {
	switch {
	case o.Up():
		return o.From
	case o.Down():
		return o.To
	}
	return 0
}

// Marker is one end of an NVTX range.
type Marker struct {
	Time  uint64
	ID    uint32 // the same for both ends
	Name  string // at the start
	Start bool
}

type callID struct {
	domain domain
	id     uint32
}

type callName struct {
	name string
	kind CallKind
}

// Window is when the recording began and ended.
func (t *Trace) Window() (began, ended uint64) { return t.began, t.ended }

// At is a time of the trace on the host's monotonic clock: see Session.Elapsed.
func (t *Trace) At(stamp uint64) time.Duration { return t.clock.at(stamp) }

// read adds the records of all buffers to t.
func (l *Library) read(full []buffer, t *Trace) error {
	t.calls = map[callID]*callName{}
	t.external, t.implied = map[uint32]uint64{}, map[uint32]bool{}
	for _, b := range full {
		base := address(b.memory)
		at := new(uintptr) // on the heap: CUPTI writes to it
		for {
			r := l.fn.next(base, uintptr(b.valid), at)
			if r == resultMaxLimit {
				break
			}
			if r != 0 {
				return l.fail(r, "cuptiActivityGetNextRecord")
			}
			off := *at - base
			if off >= uintptr(b.valid) {
				return fmt.Errorf("cupti: a record at %d of a buffer of %d bytes", off, b.valid)
			}
			t.add(record(b.memory[off:b.valid]))
		}
	}
	var dropped uintptr
	if r := l.fn.dropped(&dropped); r != 0 {
		return l.fail(r, "cuptiActivityGetNumDroppedRecords")
	}
	if dropped > 0 {
		why := "CUPTI does not say why"
		if err := l.pool.failure(); err != nil {
			why = err.Error()
		}
		return fmt.Errorf("cupti: %d records were lost, and nothing can be counted: %s; record less at a time", dropped, why)
	}
	return nil
}

// add reads one record.
func (t *Trace) add(r record) {
	kind := activity(r.u32(recordKind))
	if len(r) < sizes[kind] {
		t.bad(kind, "%d bytes of %d", len(r), sizes[kind])
		return
	}
	switch kind {
	case kindDriver:
		t.addCall(r, domainDriver)
	case kindRuntime:
		t.addCall(r, domainRuntime)
	case kindKernel, kindKernels:
		t.addKernel(r)
	case kindCopy:
		t.addCopy(r, copyCorrelation, copyGraphNode, copyGraph)
	case kindPeerCopy:
		t.addCopy(r, peerCorrelation, peerGraphNode, peerGraph)
	case kindMemset:
		t.addOp(Op{
			Kind: OpMemset, Bytes: r.u64(memsetBytes), Start: r.u64(memsetStart), End: r.u64(memsetEnd),
			Device: r.u32(memsetDevice), Context: r.u32(memsetContext), Stream: r.u32(memsetStream),
			Correlation: r.u32(memsetCorrelation), Node: r.u64(memsetGraphNode), Graph: r.u32(memsetGraph),
		})
	case kindExternal:
		switch r.u32(externalKind) {
		case externalImplied:
			t.implied[r.u32(externalCorrelation)] = true
		case externalCall:
			t.external[r.u32(externalCorrelation)] = r.u64(externalID)
		}
	case kindMarker:
		t.Markers = append(t.Markers, Marker{
			Time: r.u64(markerTime), ID: r.u32(markerID), Name: t.text(uintptr(r.u64(markerName))), Start: r.u32(markerFlags)&markerStart != 0,
		})
	}
}

// markerStart is CUPTI_ACTIVITY_FLAG_MARKER_START.
const markerStart = 1 << 1

func (t *Trace) addCall(r record, d domain) {
	id := callID{d, r.u32(apiID)}
	known := t.calls[id]
	if known == nil {
		name := t.lib.fn.callName(d, id.id)
		known = &callName{name, kindOf(name)}
		t.calls[id] = known
	}
	c := Call{
		Name: known.name, Kind: known.kind, Start: r.u64(apiStart), End: r.u64(apiEnd), External: None,
		Thread: r.u32(apiThread), Correlation: r.u32(apiCorrelation), Result: r.u32(apiResult),
	}
	switch {
	case known.name == "":
		t.bad(kindDriver, "function %d is none", id.id)
	case c.End < c.Start:
		t.bad(kindDriver, "%s ends before it starts", c.Name)
	case r.u32(apiProcess) != uint32(os.Getpid()):
		t.bad(kindDriver, "%s was called by process %d", c.Name, r.u32(apiProcess))
	case c.Start < t.began || c.Start > t.ended:
		return
	case c.Kind == CallOther && d == domainDriver:
		return // nothing depends on it; one of the runtime may have others inside
	}
	t.Calls = append(t.Calls, c)
}

func (t *Trace) addKernel(r record) {
	o := Op{
		Kind: OpKernel, Start: r.u64(kernelStart), End: r.u64(kernelEnd), Name: t.text(uintptr(r.u64(kernelName))),
		Device: r.u32(kernelDevice), Context: r.u32(kernelContext), Stream: r.u32(kernelStream),
		Correlation: r.u32(kernelCorrelation), Node: r.u64(kernelGraphNode), Graph: r.u32(kernelGraph),
		Registers: r.u16(kernelRegisters), Static: int32(r.u32(kernelStatic)), Dynamic: int32(r.u32(kernelDynamic)),
	}
	for i := range 3 {
		o.Grid[i], o.Block[i] = int32(r.u32(kernelGrid+4*i)), int32(r.u32(kernelBlock+4*i))
		if o.Grid[i] < 1 || o.Block[i] < 1 || o.Block[i] > 1024 {
			t.bad(kindKernels, "%v blocks of %v threads", o.Grid, o.Block)
		}
	}
	t.addOp(o)
}

func (t *Trace) addCopy(r record, correlation, node, graph int) {
	o := Op{
		Kind: OpCopy, Copy: r.u8(copyKind), From: Memory(r.u8(copySource)), To: Memory(r.u8(copyDestination)),
		Bytes: r.u64(copyBytes), Start: r.u64(copyStart), End: r.u64(copyEnd),
		Device: r.u32(copyDevice), Context: r.u32(copyContext), Stream: r.u32(copyStream),
		Correlation: r.u32(correlation), Node: r.u64(node), Graph: r.u32(graph),
	}
	if o.Copy == 0 || o.Copy > copyPtoP {
		t.bad(kindCopy, "of kind %d", o.Copy)
	}
	t.addOp(o)
}

// skew is how far the device's times may be off the host's, ns.
const skew = 1e6

// addOp keeps what began in the window or never began. What began before it was
// waited for, and its records thrown away, so that a little early is in it.
func (t *Trace) addOp(o Op) {
	if o.End < o.Start {
		t.bad(kindKernels, "an operation ends before it starts")
	}
	if o.Start != 0 && o.Start+skew < t.began {
		return
	}
	o.Call, o.External = -1, None
	t.Ops = append(t.Ops, o)
}

// bad notes the first record that makes no sense.
func (t *Trace) bad(k activity, format string, args ...any) {
	if t.malformed == "" {
		t.malformed = k.String() + " record: " + fmt.Sprintf(format, args...)
	}
}

// text is the C text at an address, read once.
func (t *Trace) text(at uintptr) string {
	if at == 0 {
		return ""
	}
	name, ok := t.names[at]
	if !ok {
		name = t.lib.fn.text(at)
		t.names[at] = name
	}
	return name
}

// finish puts what was read in order, joins ops to calls, and refuses a trace
// that cannot be right.
func (t *Trace) finish() error {
	if t.malformed != "" {
		return fmt.Errorf("cupti: %v: %s: this version lays records out in a way that is not known here; name another in %s", t.lib, t.malformed, pathVariable)
	}
	if t.lib.version > newest {
		t.warn("%v is newer than any that was looked at", t.lib)
	}
	slices.SortFunc(t.Calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) // the outer first
	})
	slices.SortStableFunc(t.Ops, func(a, b Op) int { return cmp.Compare(a.Start, b.Start) })
	byCorrelation := t.joinCalls()
	eager, unknown, unfinished := 0, 0, 0
	for i := range t.Ops {
		o := &t.Ops[i]
		call, ok := byCorrelation[o.Correlation]
		if ok {
			o.Call, o.External = call, t.Calls[call].External
		}
		o.InGraph = o.Node != 0 || o.Graph != 0 || ok && t.Calls[call].Kind == CallGraphLaunch
		if !o.InGraph {
			eager++
			if !ok {
				unknown++
			}
		}
		if o.End == 0 {
			unfinished++
		}
	}
	if 2*unknown > eager {
		return fmt.Errorf("cupti: %v: %d of %d operations belong to no call: records are not laid out as known here; name another in %s", t.lib, unknown, eager, pathVariable)
	}
	if unknown > 0 {
		t.warn("%d of %d operations were started by calls that are not known here", unknown, eager)
	}
	if unfinished > 0 {
		t.warn("%d operations had not ended, or have no times: wait for the device before the recording ends", unfinished)
	}
	return nil
}

// joinCalls tells calls what was pushed for them and which are inside others,
// and indexes them by correlation.
func (t *Trace) joinCalls() map[uint32]int32 {
	byCorrelation := make(map[uint32]int32, len(t.Calls))
	busy := map[uint32]uint64{} // by thread: the end of its last outer call
	for i := range t.Calls {
		c := &t.Calls[i]
		if id, ok := t.external[c.Correlation]; ok {
			c.External = id
		}
		c.Implied = t.implied[c.Correlation]
		end, seen := busy[c.Thread]
		if c.Inner = seen && c.Start < end && c.End <= end; !c.Inner {
			busy[c.Thread] = c.End
		}
		if _, ok := byCorrelation[c.Correlation]; !ok {
			byCorrelation[c.Correlation] = int32(i)
		}
	}
	return byCorrelation
}

func (t *Trace) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}
