package kineto

import (
	"fmt"
	"math"
	"regexp"

	"gputax/profiles"
	"gputax/profiles/internal/annotate"
	"gputax/profiles/internal/cudaapi"
	"gputax/profiles/internal/sparse"
)

// importer turns events into a recording. Until finish, Op.Call holds a
// correlation and Call.Site an external id: what they point to may come later.
type importer struct {
	rec   *profiles.Recording
	notes *annotate.Notes
	read  eventReader

	names     map[string]profiles.NameID // a map of bytes to names that does not allocate
	apis      map[profiles.NameID]cudaapi.Call
	threads   map[threadKey]uint16
	procs     map[int64]uint16
	callOf    sparse.Table // calls by correlation
	operators sparse.Table // names of operators by external id
	python    profiles.Log[function]
	copies    map[profiles.NameID]copyKind

	bad     int // events that lack something
	aimless int // copies of unknown direction
	count   [catPython + 1]int
	clashes int // correlations that two calls have
}

type copyKind struct {
	dir profiles.Dir
	mem profiles.Mem
}

type threadKey struct{ pid, tid int64 }

func newImporter(step *regexp.Regexp) *importer {
	rec := &profiles.Recording{Source: profiles.Source{Name: "torch.profiler", Unseen: map[profiles.Knowledge]string{
		profiles.Contents:     "a torch.profiler trace does not hold what was copied",
		profiles.DeclaredWork: "a torch.profiler trace does not say what work a kernel does",
		profiles.HostWorkDone: "a torch.profiler trace does not say what the host did by itself",
		profiles.HeapAllocs:   "a torch.profiler trace does not count allocations on the host",
	}}, Sites: make([]profiles.Site, 1)}
	return &importer{rec: rec, notes: annotate.New(rec, step), names: map[string]profiles.NameID{},
		apis: map[profiles.NameID]cudaapi.Call{}, threads: map[threadKey]uint16{}, procs: map[int64]uint16{},
		copies: map[profiles.NameID]copyKind{}}
}

// event takes one element of traceEvents.
func (im *importer) event(element []byte) error {
	e, ok, bad := im.read.read(element)
	if bad {
		im.bad++
	}
	if !ok {
		return nil
	}
	if e.cat == catPython {
		e.name = withoutAddress(e.name)
	}
	name := im.name(e.name)
	im.count[e.cat]++
	switch e.cat {
	case catAnnotation:
		im.annotation(&e, name)
		return nil
	case catPython:
		im.function(&e, name)
		return nil
	}
	a, bad := e.arguments()
	if bad {
		im.bad++
		return nil
	}
	switch e.cat {
	case catOperator:
		if len(e.name) > len(profilerStep) && string(e.name[:len(profilerStep)]) == profilerStep {
			im.annotation(&e, name) // as it was up to PyTorch 1.11
		} else if a.external > 0 {
			im.operators.Set(uint64(a.external), uint32(name))
		}
	case catRuntime:
		return im.call(&e, name, &a)
	default:
		return im.op(&e, name, &a)
	}
	return nil
}

const profilerStep = "ProfilerStep#"

// name is the id of a name.
func (im *importer) name(b []byte) profiles.NameID {
	id, ok := im.names[string(b)]
	if !ok {
		s := string(b)
		id = im.rec.Names.ID(s)
		im.names[s] = id
	}
	return id
}

// thread is the number of an event's thread, and of its process.
func (im *importer) thread(e *event) (thread, proc uint16) {
	pid, _ := integer(e.pid)
	tid, _ := integer(e.tid)
	k := threadKey{pid, tid}
	thread, ok := im.threads[k]
	if !ok {
		thread = uint16(min(len(im.threads), math.MaxUint16))
		im.threads[k] = thread
	}
	if proc, ok = im.procs[pid]; !ok {
		proc = uint16(min(len(im.procs), math.MaxUint16))
		im.procs[pid] = proc
	}
	return thread, proc
}

func (im *importer) annotation(e *event, name profiles.NameID) {
	thread, proc := im.thread(e)
	im.notes.Add(proc, thread, name, e.start, e.start+e.dur)
}

// call adds a call of the runtime or driver.
func (im *importer) call(e *event, name profiles.NameID, a *arguments) error {
	api, ok := im.apis[name]
	if !ok {
		api = cudaapi.Of(string(e.name))
		im.apis[name] = api
	}
	thread, proc := im.thread(e)
	im.notes.Thread(proc, thread)
	c := profiles.Call{Start: e.start, Dur: e.dur, Name: name, Step: -1, Thread: thread, Kind: api.Kind, Mem: api.Mem, Blocking: api.Kind == profiles.CallSync}
	if a.external > 0 && a.external <= math.MaxUint32 {
		c.Site = profiles.SiteID(a.external)
	}
	if im.rec.Calls.Len() == math.MaxInt32 {
		return fmt.Errorf("more than %d calls", math.MaxInt32)
	}
	i := im.rec.Calls.Add(c)
	if a.hasCorrelation && a.correlation > 0 {
		if before, ok := im.callOf.Get(uint64(a.correlation)); ok {
			im.clashes++
			if im.rec.Calls.At(int(before)).Kind != profiles.CallOther && api.Kind == profiles.CallOther {
				return nil
			}
		}
		im.callOf.Set(uint64(a.correlation), uint32(i))
	}
	return nil
}

// op adds something the device did.
func (im *importer) op(e *event, name profiles.NameID, a *arguments) error {
	o := profiles.Op{Start: e.start, Dur: e.dur, Bytes: max(a.bytes, 0), Name: name, Call: 0, Detail: -1,
		Stream: int32(clamp(a.stream, math.MaxInt32)), Device: uint8(clamp(a.device, math.MaxUint8)), InGraph: a.graphNode}
	switch e.cat {
	case catKernel:
		o.Bytes = 0 // of a kernel they would be pinned memory used in place
		o.Kind, o.Blocks, o.Threads = profiles.OpKernel, int32(clamp(a.grid, math.MaxInt32)), uint16(clamp(a.block, math.MaxUint16))
	case catMemcpy:
		o.Kind = profiles.OpCopy
		kind, ok := im.copies[name]
		if !ok {
			kind.dir, kind.mem = copyKinds(string(e.name))
			im.copies[name] = kind
		}
		o.Dir, o.Mem = kind.dir, kind.mem
		if o.Dir == profiles.DirUnknown {
			im.aimless++
		}
		if !a.hasBytes {
			im.bad++
		}
	case catMemset:
		o.Kind, o.Mem = profiles.OpMemset, profiles.MemDevice
	}
	if a.hasCorrelation && a.correlation > 0 && a.correlation <= math.MaxUint32 {
		o.Call = int32(uint32(a.correlation))
	}
	im.rec.Ops.Add(o)
	return nil
}

func clamp(v, most int64) int64 { return min(max(v, 0), most) }
