package kineto

import (
	"strings"

	"gputax/profiles"
)

// category is what Kineto calls an event's cat, as far as it matters here.
type category uint8

const (
	catOther    category = iota
	catKernel            // on the device
	catMemcpy            //
	catMemset            //
	catRuntime           // a call of the CUDA runtime or driver
	catOperator          // of PyTorch: aten::add
	catAnnotation
	catPython // a Python function, where stacks were recorded
)

// categories are the names of today's Kineto and, capitalised, of those up to
// PyTorch 1.11.
var categories = map[string]category{
	"kernel": catKernel, "Kernel": catKernel,
	"gpu_memcpy": catMemcpy, "Memcpy": catMemcpy,
	"gpu_memset": catMemset, "Memset": catMemset,
	"cuda_runtime": catRuntime, "cuda_driver": catRuntime, "Runtime": catRuntime,
	"cpu_op": catOperator, "Operator": catOperator,
	"user_annotation": catAnnotation, "UserAnnotation": catAnnotation,
	"python_function": catPython,
}

// event is one complete event ("ph": "X"); its slices are valid until the next.
type event struct {
	cat        category
	name       []byte // without quotes, escapes undone
	start, dur int64  // ns
	pid, tid   []byte
	args       []byte
}

// eventReader takes events apart.
type eventReader struct {
	scratch []byte // for names with escapes
}

// read takes an element of traceEvents apart. ok is false for one that does not
// matter, bad is true for one that would and lacks something.
func (p *eventReader) read(element []byte) (e event, ok, bad bool) {
	var ph, cat, name, ts, dur []byte
	f := fieldsOf(element)
	for f.next() {
		switch string(f.key) {
		case "ph":
			ph = f.value
		case "cat":
			cat = f.value
		case "name":
			name = f.value
		case "ts":
			ts = f.value
		case "dur":
			dur = f.value
		case "pid":
			e.pid = f.value
		case "tid":
			e.tid = f.value
		case "args":
			e.args = f.value
		}
	}
	if f.bad {
		return e, false, true
	}
	if len(cat) < 2 || string(ph) != `"X"` {
		return e, false, false
	}
	if e.cat = categories[string(cat[1:len(cat)-1])]; e.cat == catOther {
		return e, false, false
	}
	var okStart, okDur bool
	e.start, okStart = nanoseconds(ts)
	e.dur, okDur = nanoseconds(dur)
	if dur == nil {
		e.dur, okDur = 0, true
	}
	if name == nil || !okStart || !okDur || e.dur < 0 || e.start+e.dur < e.start {
		return e, false, true
	}
	e.name = unquote(name, &p.scratch)
	return e, true, false
}

// arguments is what an event's args say.
type arguments struct {
	correlation, external    int64
	bytes                    int64
	device, stream           int64
	grid, block              int64 // products; 0 where unknown
	graphNode                bool
	hasCorrelation, hasBytes bool
}

// arguments takes args apart.
func (e *event) arguments() (a arguments, bad bool) {
	if e.args == nil {
		return a, false
	}
	f := fieldsOf(e.args)
	for f.next() {
		switch string(f.key) {
		case "correlation":
			a.correlation, a.hasCorrelation = integer(f.value)
		case "External id", "external id":
			a.external, _ = integer(f.value)
		case "bytes":
			a.bytes, a.hasBytes = integer(f.value)
		case "device":
			a.device, _ = integer(f.value)
		case "stream":
			a.stream, _ = integer(f.value)
		case "grid":
			a.grid = product(f.value)
		case "block":
			a.block = product(f.value)
		case "graph node id":
			id, ok := integer(f.value)
			a.graphNode = ok && id != 0
		}
	}
	return a, f.bad
}

// product multiplies the whole numbers of [x, y, z]; 0 for what is none.
func product(v []byte) int64 {
	if len(v) < 2 || v[0] != '[' {
		return 0
	}
	p, n, in := int64(1), int64(0), false
	for _, c := range v[1:] {
		switch {
		case c >= '0' && c <= '9':
			n, in = n*10+int64(c-'0'), true
			if n > 1<<31 {
				return 0
			}
		case c == ',' || c == ']':
			if !in || p > 1<<31 {
				return 0
			}
			p, n, in = p*n, 0, false
		case c > ' ':
			return 0
		}
	}
	return p
}

// copyKinds takes a name like "Memcpy HtoD (Pageable -> Device)" apart.
func copyKinds(name string) (profiles.Dir, profiles.Mem) {
	const prefix = "Memcpy "
	if len(name) < len(prefix)+4 || name[:len(prefix)] != prefix {
		return profiles.DirUnknown, profiles.MemUnknown
	}
	from, to := memories(name)
	switch name[len(prefix) : len(prefix)+4] {
	case "HtoD", "HtoA":
		return profiles.HostToDevice, from
	case "DtoH", "AtoH":
		return profiles.DeviceToHost, to
	case "DtoD", "DtoA", "AtoD", "AtoA":
		return profiles.DeviceToDevice, profiles.MemDevice
	case "PtoP":
		return profiles.PeerToPeer, profiles.MemDevice
	case "HtoH":
		return profiles.HostToHost, from
	}
	return profiles.DirUnknown, profiles.MemUnknown
}

// memories is the kinds of memory in a copy's name: "(Pageable -> Device)".
func memories(name string) (from, to profiles.Mem) {
	_, kinds, _ := strings.Cut(name, "(")
	kinds, _, _ = strings.Cut(kinds, ")")
	a, b, _ := strings.Cut(kinds, " -> ")
	return memory(a), memory(b)
}

func memory(s string) profiles.Mem {
	switch s {
	case "Pageable":
		return profiles.MemPageable
	case "Pinned":
		return profiles.MemPinned
	case "Device", "Device Static", "Array":
		return profiles.MemDevice
	case "Managed", "Managed Static":
		return profiles.MemManaged
	}
	return profiles.MemUnknown
}
