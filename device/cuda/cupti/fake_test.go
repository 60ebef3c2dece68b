package cupti

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
)

// fake is a CUPTI in memory. Tests tell it what the program does; it writes
// records as CUPTI lays them out, into buffers that it asks for.
type fake struct {
	t         *testing.T
	code      uint32 // its version
	fails     map[string]result
	enabled   map[activity]bool
	requested func(buffer, size, maxRecords *uintptr)
	completed func(buffer, valid uintptr)
	pool      *pool
	given     [][]byte // every buffer it ever got

	now     uint64
	thread  uint32
	corr    uint32
	buffer  uintptr // being filled
	room    int
	used    int
	pushed  map[uint32][]uint64
	texts   map[uintptr]string
	lost    uintptr
	waits   int
	freed   int  // buffers
	context bool // for sample
	skew    int  // bytes that a copy's record says too many
	full    int  // records that a buffer takes; 0 is as many as fit
}

// functionNames are some of CUPTI's, with ids of the fake's own.
var functionNames = []string{
	"", "cuLaunchKernel", "cuGraphLaunch", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async",
	"cuStreamSynchronize", "cuMemAlloc_v2", "cuMemHostAlloc", "cuMemFree_v2", "cuMemFreeHost", "cuCtxSetCurrent",
	"cudaMemcpy_v3020", "cudaMalloc_v3020", "cudaLaunchKernel_v7000", "cuLaunchKernelNew", "cuMemcpyDtoDAsync_v2",
	"cuMemcpyBatchAsync",
}

// actual is how long records are, in CUDA 13.0.
var actual = map[activity]int{
	kindDriver: 40, kindRuntime: 40, kindKernels: 216, kindCopy: 96, kindPeerCopy: 96, kindMemset: 88, kindExternal: 24, kindMarker: 56,
}

func newFake(t *testing.T) *fake {
	return &fake{
		t: t, code: 130001, fails: map[string]result{}, enabled: map[activity]bool{}, now: 1000, thread: 7,
		pushed: map[uint32][]uint64{}, texts: map[uintptr]string{},
	}
}

// open is the library that the fake is.
func (f *fake) open() (*Library, error) {
	l, err := newLibrary(f.functions(), "libfake.so")
	if l != nil {
		f.pool = l.pool
	}
	return l, err
}

func (f *fake) functions() *functions {
	return &functions{
		version: func(v *uint32) result { *v = f.code; return f.fails["version"] },
		resultString: func(r result) string {
			return map[result]string{1: "CUPTI_ERROR_INVALID_PARAMETER", 39: "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"}[r]
		},
		register: func(requested func(buffer, size, maxRecords *uintptr), completed func(buffer, valid uintptr)) result {
			f.requested, f.completed = requested, completed
			return f.fails["register"]
		},
		enable: func(k activity) result {
			if r := f.fails["enable"]; r != 0 {
				return r
			}
			f.enabled[k] = true
			return 0
		},
		disable:   func(k activity) result { delete(f.enabled, k); return 0 },
		flush:     func(uint32) result { f.handBack(); return f.fails["flush"] },
		next:      f.next,
		dropped:   func(n *uintptr) result { *n, f.lost = f.lost, 0; return 0 },
		timestamp: func(ns *uint64) result { f.now++; *ns = f.now; return f.fails["timestamp"] },
		push:      func(kind uint32, id uint64) result { f.pushed[kind] = append(f.pushed[kind], id); return 0 },
		pop: func(kind uint32) result {
			n := len(f.pushed[kind])
			if n == 0 {
				return 18
			}
			f.pushed[kind] = f.pushed[kind][:n-1]
			return 0
		},
		callName: func(_ domain, id uint32) string {
			if int(id) >= len(functionNames) {
				return ""
			}
			return functionNames[id]
		},
		text: func(at uintptr) string { return f.texts[at] },
		alloc: func(size int) ([]byte, error) {
			if f.fails["alloc"] != 0 {
				return nil, errors.New("no memory")
			}
			return make([]byte, size), nil
		},
		free: func(memory []byte) error { f.freed++; return nil },
		wait: func() error { f.waits++; return nil },
		sample: func(n int) (bool, error) {
			if f.context {
				f.op(kindMemset, f.call("cuMemsetD8Async"), func(r record) { put64(r, memsetBytes, uint64(n)) })
				f.copy(f.call("cuMemcpyDtoHAsync_v2"), copyDtoH, OnDevice, Pageable, n)
			}
			return f.context, nil
		},
	}
}

func put32(r record, at int, v uint32) { binary.LittleEndian.PutUint32(r[at:], v) }
func put64(r record, at int, v uint64) { binary.LittleEndian.PutUint64(r[at:], v) }

// next walks a buffer by the length of each record.
func (f *fake) next(buffer, valid uintptr, at *uintptr) result {
	memory := f.memory(buffer)
	off := uintptr(0)
	if *at != 0 {
		off = *at - buffer
		off += uintptr(actual[activity(record(memory[off:]).u32(recordKind))])
	}
	if off >= valid {
		return resultMaxLimit
	}
	*at = buffer + off
	return 0
}

// memory is the buffer at an address, wherever it is by now.
func (f *fake) memory(at uintptr) []byte {
	if b, ok := f.pool.out[at]; ok {
		return b
	}
	for _, b := range f.given {
		if address(b) == at {
			return b
		}
	}
	f.t.Fatalf("no buffer at %#x", at)
	return nil
}

// write adds a record, in a new buffer where the last is full.
func (f *fake) write(k activity, fill func(r record)) {
	if !f.enabled[k] {
		return
	}
	n := actual[k]
	if f.buffer != 0 && f.used+n > f.room {
		f.handBack()
	}
	if f.buffer == 0 {
		var size, limit uintptr
		f.requested(&f.buffer, &size, &limit)
		if f.buffer == 0 {
			f.lost++
			return
		}
		f.room, f.used = int(size), 0
		if f.full > 0 {
			f.room = f.full * n
		}
		f.given = append(f.given, f.pool.out[f.buffer])
	}
	r := record(f.memory(f.buffer)[f.used : f.used+n])
	clear(r)
	put32(r, recordKind, uint32(k))
	fill(r)
	f.used += n
}

func (f *fake) handBack() {
	if f.buffer != 0 {
		f.completed(f.buffer, uintptr(f.used))
		f.buffer = 0
	}
}

// call is a call of the driver, or by its name of the runtime; it returns its
// correlation. Calls made by inside come within it.
func (f *fake) call(name string, inside ...func()) uint32 { return f.callResult(name, 0, inside...) }

func (f *fake) callResult(name string, code uint32, inside ...func()) uint32 {
	f.corr++
	corr, start := f.corr, f.now+10
	f.now += 20
	for kind, ids := range f.pushed {
		if len(ids) > 0 {
			f.write(kindExternal, func(r record) {
				put32(r, externalKind, kind)
				put64(r, externalID, ids[len(ids)-1])
				put32(r, externalCorrelation, corr)
			})
		}
	}
	for _, in := range inside {
		in()
	}
	f.now += 10
	kind := kindDriver
	if name[:4] == "cuda" {
		kind = kindRuntime
	}
	f.write(kind, func(r record) {
		put32(r, apiID, f.function(name))
		put64(r, apiStart, start)
		put64(r, apiEnd, f.now)
		put32(r, apiProcess, uint32(os.Getpid()))
		put32(r, apiThread, f.thread)
		put32(r, apiCorrelation, corr)
		put32(r, apiResult, code)
	})
	f.now += 10
	return corr
}

func (f *fake) function(name string) uint32 {
	for i, n := range functionNames {
		if n == name {
			return uint32(i)
		}
	}
	f.t.Fatalf("the fake has no function %s", name)
	return 0
}

// op is a copy or memset of the device.
func (f *fake) op(k activity, corr uint32, fill func(r record)) {
	start := f.now + 5
	f.now += 50
	f.write(k, func(r record) {
		put64(r, copyStart, start) // as in a memset's
		put64(r, copyEnd, start+30)
		put32(r, copyStream, 13)
		put32(r, copyCorrelation, corr)
		fill(r)
	})
}

func (f *fake) copy(corr uint32, kind uint8, from, to Memory, n int) {
	f.op(kindCopy, corr, func(r record) {
		r[copyKind], r[copySource], r[copyDestination] = kind, uint8(from), uint8(to)
		put64(r, copyBytes, uint64(n+f.skew))
	})
}

// kernel runs a kernel; node is its place in a graph, or 0.
func (f *fake) kernel(corr uint32, name string, node uint64) {
	at := uintptr(0x1000)
	for f.texts[at] != "" && f.texts[at] != name {
		at++
	}
	f.texts[at] = name
	start := f.now + 5
	f.now += 50
	f.write(kindKernels, func(r record) {
		r[kernelRegisters] = 32
		put64(r, kernelStart, start)
		put64(r, kernelEnd, start+30)
		put32(r, kernelStream, 13)
		for i, n := range []uint32{4, 2, 1} {
			put32(r, kernelGrid+4*i, n)
		}
		for i, n := range []uint32{128, 1, 1} {
			put32(r, kernelBlock+4*i, n)
		}
		put32(r, kernelStatic, 1024)
		put32(r, kernelDynamic, 2048)
		put32(r, kernelCorrelation, corr)
		put64(r, kernelName, uint64(at))
		put64(r, kernelGraphNode, node)
	})
}

// record runs a session around the program.
func (f *fake) record(l *Library, program func(s *Session)) (*Trace, error) {
	s, err := l.Start()
	if err != nil {
		return nil, err
	}
	program(s)
	return s.Stop()
}

// traced is the trace of a program, on a fake of its own.
func traced(t *testing.T, program func(f *fake, s *Session)) *Trace {
	t.Helper()
	f := newFake(t)
	l, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	trace, err := f.record(l, func(s *Session) { program(f, s) })
	if err != nil {
		t.Fatal(err)
	}
	if len(f.enabled) > 0 {
		t.Errorf("still enabled after Stop: %v", f.enabled)
	}
	return trace
}
