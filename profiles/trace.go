package profiles

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// TraceOps is how many ops WriteTrace writes where it is not told otherwise:
// about as many as a browser still opens without delay.
const TraceOps = 200_000

// WriteTrace writes the recording as a trace in the Chrome event format, which
// ui.perfetto.dev and chrome://tracing open: steps, phases and calls of the host
// above the streams and copies of the device, an arrow from each launch to what
// it started, and rates as counter tracks.
//
// It writes the first ops of them, at most; TraceOps where ops is 0. What comes
// after those is left out, and left says how many ops that is.
func (r *Recording) WriteTrace(w io.Writer, ops int) (left int, err error) {
	if err := r.CheckValid(); err != nil {
		return 0, err
	}
	t := &trace{rec: r, out: bufio.NewWriterSize(w, 1<<16), until: r.End + 1, limit: r.Ops.Len(), tracks: map[track]int{}}
	if ops = cmp.Or(ops, TraceOps); r.Ops.Len() > ops {
		t.limit, left = ops, r.Ops.Len()-ops
		t.until = r.Ops.At(ops-1).Start + 1 // several may begin together
	}
	t.header(left)
	t.spans()
	t.calls()
	t.ops()
	t.counters()
	t.out.WriteString("\n]}\n")
	return left, t.out.Flush()
}

// trace is a trace being written. The writer keeps the first error.
type trace struct {
	rec    *Recording
	out    *bufio.Writer
	limit  int           // so many ops are in it
	until  int64         // what else begins then or later is left out
	tracks map[track]int // their thread ids
	buf    []byte        // the event being written
	some   bool          // it is not the first
	args   bool          // it has arguments
}

// track is a row of the timeline.
type track struct {
	device int32 // -1 for the host
	kind   trackKind
	number int32 // of the thread or stream
	dir    Dir
}

type trackKind uint8

const (
	stepTrack trackKind = iota
	phaseTrack
	callTrack
	streamTrack
	copyTrack
)

// The process ids: the host is one, each device another.
const hostPID = 1

func (k track) pid() int { return hostPID + 1 + int(k.device) }

func (k track) name() string {
	switch k.kind {
	case stepTrack:
		return "steps"
	case phaseTrack:
		return "phases"
	case callTrack:
		return fmt.Sprintf("calls, thread %d", k.number)
	case streamTrack:
		return fmt.Sprintf("stream %d", k.number)
	}
	return fmt.Sprintf("copies %s, stream %d", cmp.Or(dirNames[k.dir], "unknown"), k.number)
}

// order is where a track stands among those of its process.
func (k track) order() int { return int(k.kind)<<24 + int(k.number)&(1<<21-1)<<3 + int(k.dir) }

// header writes what is known before any event.
func (t *trace) header(left int) {
	other := map[string]string{"source": t.rec.Source.Name}
	for _, s := range t.rec.Config {
		other[s.Key] = s.Value
	}
	if left > 0 {
		other["left out"] = fmt.Sprintf("%d ops at the end", left)
	}
	text, _ := json.Marshal(other) // of strings: cannot fail
	fmt.Fprintf(t.out, "{\"displayTimeUnit\":\"ns\",\"otherData\":%s,\"traceEvents\":[", text)
	t.meta(hostPID, 0, "process_name", "host")
}

// meta names a process or a track.
func (t *trace) meta(pid, tid int, what, name string) {
	t.begin('M', what, pid, tid)
	t.text("name", name)
	t.end()
}

// tid is a track's thread id; a new track is named first.
func (t *trace) tid(k track) int {
	if id, ok := t.tracks[k]; ok {
		return id
	}
	if k.device >= 0 && !t.hasDevice(k.device) {
		name := fmt.Sprintf("device, %s", t.rec.Source.Name)
		if k.device > 0 {
			name = fmt.Sprintf("device %d, %s", k.device, t.rec.Source.Name)
		}
		t.meta(k.pid(), 0, "process_name", name)
	}
	id := len(t.tracks) + 1
	t.tracks[k] = id
	t.meta(k.pid(), id, "thread_name", k.name())
	t.begin('M', "thread_sort_index", k.pid(), id)
	t.number("sort_index", int64(k.order()))
	t.end()
	return id
}

func (t *trace) hasDevice(d int32) bool {
	for k := range t.tracks {
		if k.device == d {
			return true
		}
	}
	return false
}

func (t *trace) spans() {
	r := t.rec
	for i, s := range r.Steps {
		if s.Start < t.until {
			t.slice(track{device: -1, kind: stepTrack}, fmt.Sprintf("%s %d", r.Names.Name(s.Name), i), s.Start, s.End-s.Start)
			t.end()
		}
	}
	for _, s := range r.Phases {
		if s.Start < t.until && s.Name != 0 {
			t.slice(track{device: -1, kind: phaseTrack}, r.Names.Name(s.Name), s.Start, s.End-s.Start)
			if s.Mallocs > 0 {
				t.number("mallocs", s.Mallocs)
			}
			t.end()
		}
	}
}

func (t *trace) callTrack(c *Call) track {
	return track{device: -1, kind: callTrack, number: int32(c.Thread)}
}

func (t *trace) calls() {
	r := t.rec
	for _, c := range r.Calls.All() {
		if c.Start >= t.until {
			return
		}
		t.slice(t.callTrack(c), r.Names.Name(c.Name), c.Start, c.Dur)
		if c.Bytes > 0 {
			t.number("bytes", c.Bytes)
		}
		if frames := r.site(c.Site); len(frames) > 0 {
			t.text("at", fmt.Sprintf("%s:%d", frames[0].File, frames[0].Line))
		}
		t.end()
	}
}

func (t *trace) ops() {
	r := t.rec
	graphs := map[int32]bool{} // whose first node has its arrow
	for i, o := range r.Ops.All() {
		if i >= t.limit {
			return
		}
		k := track{device: int32(o.Device), kind: streamTrack, number: o.Stream}
		if o.Kind == OpCopy {
			k.kind, k.dir = copyTrack, o.Dir
		}
		t.slice(k, r.Names.Name(o.Name), o.Start, o.Dur)
		t.opArgs(o)
		t.end()
		if o.Call >= 0 && !graphs[o.Call] {
			if o.InGraph {
				graphs[o.Call] = true
			}
			t.flow(i, r.Calls.At(int(o.Call)), o, k)
		}
	}
}

func (t *trace) opArgs(o *Op) {
	if o.Bytes > 0 {
		t.number("bytes", o.Bytes)
	}
	if m := memNames[o.Mem]; m != "" {
		t.text("memory", m)
	}
	if o.Blocks > 0 {
		t.number("blocks", int64(o.Blocks))
		t.number("threads", int64(o.Threads))
	}
	if o.Detail >= 0 {
		if d := t.rec.Detail.At(int(o.Detail)); d.Flops+d.TensorFlops+d.MemBytes > 0 {
			t.number("flops", d.Flops+d.TensorFlops)
			t.number("memory bytes", d.MemBytes)
		}
	}
}

// flow draws an arrow from a call to what it started. A call that began after
// its op, as clocks that are joined may have it, gets none.
func (t *trace) flow(id int, c *Call, o *Op, to track) {
	if c.Start > o.Start {
		return
	}
	from := t.callTrack(c)
	t.begin('s', "launch", from.pid(), t.tid(from))
	t.field("cat", `"launch"`)
	t.field("id", strconv.Itoa(id))
	t.time("ts", c.Start-t.rec.Start)
	t.end()
	t.begin('f', "launch", to.pid(), t.tid(to))
	t.field("cat", `"launch"`)
	t.field("id", strconv.Itoa(id))
	t.field("bp", `"e"`)
	t.time("ts", o.Start-t.rec.Start)
	t.end()
}

// slice begins a complete event.
func (t *trace) slice(k track, name string, start, dur int64) {
	id := t.tid(k)
	t.begin('X', cmp.Or(name, "(unnamed)"), k.pid(), id)
	t.time("ts", start-t.rec.Start)
	t.time("dur", dur)
}
