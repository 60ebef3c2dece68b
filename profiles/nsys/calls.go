package nsys

import (
	"fmt"
	"math"
	"strings"

	"gputax/profiles"
	"gputax/profiles/internal/cudaapi"
)

const (
	runtimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME"
	syncTable    = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
)

// runtime reads the calls of the CUDA runtime and driver. Until index,
// Call.Bytes is the correlation id.
func (im *importer) runtime() error {
	if !im.has(runtimeTable) {
		return im.syncs()
	}
	if err := im.need(runtimeTable, "start", "end", "globalTid", "correlationId", "nameId"); err != nil {
		return err
	}
	return im.each("start, end, globalTid, correlationId, nameId", runtimeTable, func(v []int64, _ string) error {
		start, end := v[0], v[1]
		if end < start {
			im.bad++
			return nil
		}
		name, err := im.name(v[4])
		if err != nil {
			return err
		}
		api, ok := im.apis[name]
		if !ok {
			api = cudaapi.Of(im.rec.Names.Name(name))
			im.apis[name] = api
		}
		thread, _ := im.thread(v[2])
		return im.add(profiles.Call{Start: start, Dur: end - start, Bytes: v[3], Name: name, Step: -1, Thread: thread,
			Kind: api.Kind, Mem: api.Mem, Blocking: api.Kind == profiles.CallSync})
	})
}

func (im *importer) add(c profiles.Call) error {
	if im.rec.Calls.Len() == math.MaxInt32 {
		return fmt.Errorf("more than %d calls", math.MaxInt32)
	}
	im.rec.Calls.Add(c)
	return nil
}

// syncs reads waits from CUPTI's own records of them, where calls were not
// traced. A stream's wait for an event is none of the host's.
func (im *importer) syncs() error {
	im.warnf("no table %s: launches cannot be put to steps or phases, and allocations are not counted", runtimeTable)
	if !im.has(syncTable, "start", "end", "globalPid", "syncType") {
		im.warnf("no table %s: syncs are not counted", syncTable)
		return nil
	}
	kinds, err := im.enum("ENUM_CUPTI_SYNC_TYPE")
	if err != nil {
		return err
	}
	return im.each("start, end, globalPid, syncType", syncTable, func(v []int64, _ string) error {
		kind := kinds[v[3]]
		if !strings.HasSuffix(kind, "_SYNCHRONIZE") || v[1] < v[0] {
			return nil
		}
		kind = strings.ToLower(strings.TrimPrefix(kind, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_"))
		thread, _ := im.thread(v[2])
		return im.add(profiles.Call{Start: v[0], Dur: v[1] - v[0], Name: im.rec.Names.ID(kind), Step: -1, Thread: thread,
			Kind: profiles.CallSync, Blocking: true})
	})
}

// line is the calls of one thread, in order.
type line struct {
	calls []int32
	next  int // where the last search ended
}

// index puts the calls in order, and makes them findable by correlation id and
// by thread and time.
func (im *importer) index() error {
	im.rec.Sort()
	im.lines = make([]line, len(im.threads))
	im.nested = make([]uint32, im.rec.Calls.Len())
	procOf := make([]uint16, len(im.threads))
	for tid, thread := range im.threads {
		if int(thread) < len(procOf) {
			procOf[thread] = im.procs[tid&^pidBits]
		}
	}
	count := make([]int, len(im.threads))
	for _, c := range im.rec.Calls.All() {
		count[c.Thread]++
	}
	for i := range im.lines {
		im.lines[i].calls = make([]int32, 0, count[i])
	}
	for i, c := range im.rec.Calls.All() {
		if c.Bytes > 0 {
			im.callOf[procOf[c.Thread]].Set(uint64(c.Bytes), uint32(i))
		}
		c.Bytes = 0
		l := &im.lines[c.Thread]
		l.calls = append(l.calls, int32(i))
		im.nested[i] = math.MaxUint32
	}
	return nil
}

// find is where in a thread's calls the first is that starts at t or later.
func (im *importer) find(l *line, t int64) int {
	start := func(i int) int64 { return im.rec.Calls.At(int(l.calls[i])).Start }
	if l.next > 0 && start(l.next-1) >= t { // ranges come nearly in order
		lo, hi := 0, l.next
		for lo < hi {
			if mid := (lo + hi) / 2; start(mid) < t {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		l.next = lo
	}
	for l.next < len(l.calls) && start(l.next) < t {
		l.next++
	}
	return l.next
}
