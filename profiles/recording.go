// Package profiles holds what describes runs and hardware: recordings of what a
// program and its device did, and the profiles that simulated devices run by.
//
//  1. Capture runs an op once on a device of ours and records it. Packages nsys
//     and kineto read recordings that other profilers made.
//  2. A Recording is the same whoever saw the run: calls of the host, ops of the
//     device, phases and steps; Counters are what a device.Recorder counts.
//  3. Everything else is written from it: WriteGPU for pprof, WriteTrace for
//     Perfetto, WriteBench for what compares results; package findings says
//     what is wrong. A Folder is all of them with an index.
//
// Observe counts what CUDA does in this process by any binding or library, with
// no seam of ours. Device is a device profile by name, Calibrate measures one.
package profiles

import (
	"fmt"
	"iter"
	"time"

	"gputax/device"
)

// Recording is what happened in one run, whoever saw it: a capture on a device
// of ours, an Nsight Systems export, a torch.profiler trace. Profiles, traces,
// findings and counters are made from it and from nothing else.
//
// It has two sides. A Call is what the host did: it launched, copied, waited. An
// Op is what the device did because of it. Names, phases and call sites are
// kept once, in tables, and events point into them, so that millions of events
// fit in memory.
type Recording struct {
	Source Source
	// Config says what ran and on what, in the order to print it: device,
	// driver, clocks, commit, command.
	Config []Setting
	// Clock says whether times are measured or simulated.
	Clock device.Clock
	// Start and End are the window in which events were recorded, in
	// nanoseconds on the recording's own clock.
	Start, End int64

	Names  Table       // of kernels, calls, phases and annotations
	Sites  []Site      // call stacks; Sites[0] is the unknown one
	Calls  Log[Call]   // in order of Start
	Ops    Log[Op]     // in order of Start
	Detail Log[Detail] // of ops that have one
	Steps  []Span      // one a training step, in order
	// EpochSteps is how many steps an epoch has, which may be more than were
	// recorded; 0 where nobody said.
	EpochSteps int
	Phases     []Span    // in order of Start; they do not nest
	Padded     []Padding // what was declared about padded batches
	// HostWork is what calls of the kinds CallHostWork and CallLoad declared, in
	// order of Call.
	HostWork []HostWork

	// CPU and Heap are profiles of the process, as pprof reads them; nil where
	// none was taken.
	CPU, Heap []byte

	Warnings []string // what a reader should know: records lost, tables missing
}

// Source says who saw the run, and what that one cannot see.
type Source struct {
	Name string // sim:h200, CUPTI on cuda:0, nsys export, torch.profiler
	// Unseen says, for each kind of knowledge the source lacks, why: the rules
	// that need it are left out and say so.
	Unseen map[Knowledge]string
}

// Knowledge is something that some sources know and some do not.
type Knowledge uint8

const (
	Contents     Knowledge = iota // hashes of what was copied and computed on
	CallSites                     // where in the program a call was made
	DeviceTimes                   // when the device began and ended an op
	DeclaredWork                  // flops and bytes of a kernel
	Layout                        // blocks and threads of a launch
	PhaseNames                    // which part of a step a call belongs to
	StepBounds                    // where steps begin and end
	HostWorkDone                  // what the host did by itself, and waited for
	HeapAllocs                    // how often the program allocated memory of its own
)

// Knows says whether the recording's source sees k.
func (r *Recording) Knows(k Knowledge) bool {
	_, unseen := r.Source.Unseen[k]
	return !unseen
}

// Setting is a line of a recording's configuration.
type Setting struct{ Key, Value string }

// Span is a named stretch of the host's time.
type Span struct {
	Name       NameID
	Step       int32 // -1 outside any step
	Start, End int64 // ns
	// Mallocs is how many objects the program allocated on its own heap
	// meanwhile, and HeapBytes how large they were together; 0 where HeapAllocs
	// is unseen.
	Mallocs, HeapBytes int64
}

func (s *Span) duration() time.Duration { return time.Duration(s.End - s.Start) }

// Padding is a batch that was padded to one shape: of Total items that the
// device worked on, Useful were not masked out.
type Padding struct {
	Phase         NameID
	Site          SiteID
	Step          int32
	Useful, Total int64
}

// HostWork is what the host declared about work it did by itself.
type HostWork struct {
	Call int32 // index in Calls
	device.HostWork
}

// NameID is a name's index in Recording.Names; 0 is "".
type NameID uint32

// SiteID is an index in Recording.Sites; 0 is the unknown site.
type SiteID uint32

// Site is a call stack, innermost first, without this project's own recording.
type Site struct{ Frames []Frame }

// Frame is one function of a Site.
type Frame struct {
	Func string
	File string
	Line int
}

// CallKind is what a call asked for.
type CallKind uint8

const (
	CallOther       CallKind = iota // of the driver or runtime, none of the below
	CallLaunch                      // one kernel
	CallGraphLaunch                 // a graph
	CallCopy
	CallMemset
	CallSync // waits for a stream, an event or the device
	CallAlloc
	CallFree
	CallHostWork // not a call: the host's own declared work
	CallLoad     // the host waited for a loader
)

// Call is one thing the host did.
type Call struct {
	Start, Dur int64 // ns; host time inside the call
	Bytes      int64 // of an allocation or a copy
	Name       NameID
	Phase      NameID
	Site       SiteID
	Step       int32 // -1 outside any step
	Thread     uint16
	Kind       CallKind
	Blocking   bool // it returned when the device's work was done
	Mem        Mem  // of an allocation: Pinned for page-locked host memory
}

// OpKind is what the device did.
type OpKind uint8

const (
	OpKernel OpKind = iota
	OpCopy
	OpMemset
)

// Dir is which way a copy went.
type Dir uint8

const (
	DirUnknown Dir = iota
	HostToDevice
	DeviceToHost
	DeviceToDevice
	PeerToPeer
	HostToHost
)

// Mem is the kind of a copy's host memory.
type Mem uint8

const (
	MemUnknown Mem = iota
	MemPageable
	MemPinned
	MemDevice
	MemManaged
)

// Op is one thing the device did.
type Op struct {
	Start, Dur int64 // ns on the recording's clock; where DeviceTimes is unseen, those of its call
	Bytes      int64 // of a copy or memset; of pinned memory a kernel works on in place
	Name       NameID
	Call       int32 // index in Calls; -1 where unknown
	Detail     int32 // index in Recording.Detail; -1 for none
	Stream     int32
	Blocks     int32 // of a kernel's grid; 0 unknown
	Threads    uint16
	Device     uint8
	Kind       OpKind
	Dir        Dir
	Mem        Mem
	InGraph    bool // a node of a graph; its Call is the graph's launch
}

// Detail is what only some sources know about an op.
type Detail struct {
	Flops, TensorFlops int64 // declared
	MemBytes           int64 // declared: the fewest it reads and writes
	// Content is a hash of what a copy moved, or of everything a kernel was
	// given: scalars and the contents of its buffers. 0 is unknown.
	Content uint64
	// After is the same hash of a kernel launched by itself once it had run: equal
	// to Content where it changed nothing. 0 is unknown.
	After uint64
	// Buffer tells device buffers apart: the one a copy wrote or read. Parts of
	// an allocation that begin at different offsets have different numbers.
	Buffer uint32
	// Phase and Site are where a graph's node was captured; its call's are where
	// the graph was launched. 0 for ops of no graph.
	Phase NameID
	Site  SiteID
}

// Table keeps each string once.
type Table struct {
	all   []string
	index map[string]NameID
}

// ID is s's place in the table, where it is put if it is not there.
func (t *Table) ID(s string) NameID {
	if t.index == nil {
		t.all, t.index = []string{""}, map[string]NameID{"": 0}
	}
	id, ok := t.index[s]
	if !ok {
		id = NameID(len(t.all))
		t.all, t.index[s] = append(t.all, s), id
	}
	return id
}

// Name is the string at id.
func (t *Table) Name(id NameID) string {
	if id == 0 {
		return ""
	}
	return t.all[id]
}

// Len is how many strings there are, "" included.
func (t *Table) Len() int { return max(len(t.all), 1) }

// logChunk is how many events a Log allocates at a time.
const logChunk = 1 << 14

// Log is a list that grows without being copied. The zero Log is empty.
type Log[T any] struct {
	chunks [][]T
	n      int
}

// Add appends v and returns its index.
func (l *Log[T]) Add(v T) int {
	if l.n%logChunk == 0 {
		l.chunks = append(l.chunks, make([]T, 0, logChunk))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, v)
	l.n++
	return l.n - 1
}

// Len is how many there are.
func (l *Log[T]) Len() int { return l.n }

// At is a pointer to the i-th, valid as long as the log.
func (l *Log[T]) At(i int) *T {
	if i < 0 || i >= l.n {
		panic(fmt.Sprintf("profiles: event %d of %d", i, l.n))
	}
	return &l.chunks[i/logChunk][i%logChunk]
}

// All goes over indices and elements in order.
func (l *Log[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for c, chunk := range l.chunks {
			for i := range chunk {
				if !yield(c*logChunk+i, &chunk[i]) {
					return
				}
			}
		}
	}
}

// Duration is the length of the window.
func (r *Recording) Duration() time.Duration { return time.Duration(r.End - r.Start) }
