package cuda

import (
	"fmt"
	"os"
	"sync"
)

// NVTX is how programs tell profilers what they are doing. A profiler names a
// library in nvtxVariable; a program loads it and hands it a table of functions
// to fill in, and calls those. nsys sets it for the programs that it starts.

// nvtxVariable names the library of the tool that listens.
const nvtxVariable = "NVTX_INJECTION64_PATH"

// tool is a profiler that listens to NVTX.
type tool struct {
	// start begins a range with a name, as C text, and returns its id. Ranges of
	// this kind belong to the process: a goroutine that has moved to another
	// thread may still end one, which it could not of those that nest.
	start func(name []byte) uint64
	end   func(id uint64)
}

// listening is the tool that listens to this process, or nil: one a process, as
// the variable is. One that cannot be loaded is told of and done without.
var listening = sync.OnceValue(func() *tool {
	path := os.Getenv(nvtxVariable)
	if path == "" {
		return nil
	}
	t, err := attach(path)
	if err != nil {
		fmt.Fprintf(os.Stderr, "gputax: phases are not shown as NVTX ranges: %s=%s: %v\n", nvtxVariable, path, err)
		return nil
	}
	return t
})

// ranges is the phases of one device as ranges of a tool.
type ranges struct {
	tool  *tool
	names map[string][]byte // as C text
	id    uint64
	open  bool
}

// newRanges is nil where no tool listens.
func newRanges(t *tool) *ranges {
	if t == nil {
		return nil
	}
	return &ranges{tool: t, names: map[string][]byte{}}
}

// enter ends the phase before and begins the one of that name; "" is none.
func (r *ranges) enter(name string) {
	if r.open {
		r.tool.end(r.id)
		r.open = false
	}
	if name == "" {
		return
	}
	text := r.names[name]
	if text == nil {
		text = append([]byte(name), 0)
		r.names[name] = text
	}
	r.id, r.open = r.tool.start(text), true
}
