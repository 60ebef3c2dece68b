// Package nsys reads what `nsys export --type sqlite` makes of an Nsight Systems
// report. It is the only package that needs sqlite (in pure Go); whoever does
// not import it does without.
//
//  1. The file is opened read-only: nothing is written beside it.
//  2. Calls of the CUDA runtime and driver become a recording's calls.
//  3. Kernels, copies and memsets become its ops, each joined to the call of the
//     same process and correlation id.
//  4. NVTX ranges become steps (ProfilerStep#n, `step n`, or a name given) and
//     phases; the ranges that torch.autograd.profiler.emit_nvtx leaves around
//     operators become call sites.
//
// Enumerations are resolved by the export's own ENUM tables, names without their
// versions. What an export does not tell is in the recording's Source.Unseen.
package nsys

import (
	"errors"
	"fmt"
	"math"

	"gputax/profiles"
	"gputax/profiles/internal/annotate"
	"gputax/profiles/internal/cudaapi"
	"gputax/profiles/internal/sparse"
)

// Options is what a reader cannot find in the file.
type Options struct {
	// Step is a regular expression for the names of NVTX ranges that are steps,
	// from their beginning; "" for ProfilerStep#n and `step n`.
	Step string
}

// ReadFile reads an export. A file that is cut short, or holds nothing of a GPU,
// is an error: its counts would be wrong. It takes some 120 bytes of memory for
// each call, copy and kernel.
func ReadFile(path string, opt Options) (*profiles.Recording, error) {
	rec, err := readFile(path, opt)
	if err != nil {
		return nil, fmt.Errorf("nsys: %s: %w", path, err)
	}
	return rec, nil
}

func readFile(path string, opt Options) (*profiles.Recording, error) {
	step, err := annotate.StepPattern(opt.Step)
	if err != nil {
		return nil, err
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if !f.has("StringIds") {
		return nil, errors.New("a sqlite file, but no export of Nsight Systems: it has no table StringIds")
	}
	rec := &profiles.Recording{Source: profiles.Source{Name: "nsys export", Unseen: map[profiles.Knowledge]string{
		profiles.Contents:     "an nsys export does not hold what was copied",
		profiles.DeclaredWork: "an nsys export does not say what work a kernel does",
		profiles.HostWorkDone: "an nsys export does not say what the host did by itself",
		profiles.HeapAllocs:   "an nsys export does not count allocations on the host",
	}}, Sites: make([]profiles.Site, 1)}
	im := &importer{file: f, rec: rec, notes: annotate.New(rec, step),
		strings: map[int64]profiles.NameID{}, apis: map[profiles.NameID]cudaapi.Call{},
		threads: map[int64]uint16{}, procs: map[int64]uint16{}, noted: map[int64]note{}, siteOf: map[string]profiles.SiteID{}}
	for _, part := range []func() error{im.settings, im.runtime, im.index, im.device, im.ranges, im.finish} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

// importer turns tables into a recording.
type importer struct {
	*file
	rec   *profiles.Recording
	notes *annotate.Notes

	strings map[int64]profiles.NameID // of StringIds, as they are asked for
	apis    map[profiles.NameID]cudaapi.Call
	threads map[int64]uint16 // by globalTid
	procs   map[int64]uint16 // by globalPid

	callOf []sparse.Table // a process: calls by correlation id
	lines  []line         // a thread: its calls, for operators to find

	noted   map[int64]note // NVTX texts of StringIds
	siteOf  map[string]profiles.SiteID
	nested  []uint32 // a call: how long its innermost operator is, so far
	kinds   map[int64]memKind
	copies  map[int64]direction
	orphans int // ops without a call
	bad     int // rows that make no sense
	graphs  int // graphs whose kernels were not traced
}

// pidBits is what a globalTid has beside its process.
const pidBits = 0xFFFFFF

// proc is the number of a process.
func (im *importer) proc(globalPid int64) uint16 {
	p, ok := im.procs[globalPid]
	if !ok {
		p = uint16(min(len(im.procs), math.MaxUint16))
		im.procs[globalPid] = p
		for len(im.callOf) <= int(p) {
			im.callOf = append(im.callOf, sparse.Table{})
		}
	}
	return p
}

// thread is the number of a thread and of its process.
func (im *importer) thread(globalTid int64) (thread, proc uint16) {
	proc = im.proc(globalTid &^ pidBits)
	thread, ok := im.threads[globalTid]
	if !ok {
		thread = uint16(min(len(im.threads), math.MaxUint16))
		im.threads[globalTid] = thread
		im.notes.Thread(proc, thread)
	}
	return thread, proc
}

// name is the string of an id of StringIds.
func (im *importer) name(id int64) (profiles.NameID, error) {
	n, ok := im.strings[id]
	if ok {
		return n, nil
	}
	s, err := im.string(id)
	if err != nil {
		return 0, err
	}
	n = im.rec.Names.ID(s)
	im.strings[id] = n
	return n, nil
}

// site is the call site that stands for an operator.
func (im *importer) site(operator string) profiles.SiteID {
	id, ok := im.siteOf[operator]
	if !ok {
		id = profiles.SiteID(len(im.rec.Sites))
		im.rec.Sites = append(im.rec.Sites, profiles.Site{Frames: []profiles.Frame{{Func: operator}}})
		im.siteOf[operator] = id
	}
	return id
}
