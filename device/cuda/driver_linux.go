//go:build amd64 || arm64

package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library calls into a loaded driver. It belongs to one goroutine, as the
// device does that it is for.
type library struct {
	handle  uintptr
	missing string      // the first symbol it does not have
	args    [11]uintptr // of the call being made
	message *byte       // that errorName and errorString were given
}

// load finds the driver in the library of that name. It is never unloaded: its
// own threads may still run in it.
func load(name string) (*driver, error) {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("no CUDA driver: %w; install the NVIDIA driver", err)
	}
	l := &library{handle: handle}
	d := &driver{}
	l.fillDevices(d)
	l.fillMemory(d)
	l.fillStreams(d)
	l.fillModules(d)
	l.fillGraphs(d)
	if l.missing != "" {
		return nil, fmt.Errorf("the CUDA driver in %s has no %s; install an NVIDIA driver for CUDA 11.4 or newer", name, l.missing)
	}
	return d, nil
}

// symbol is the address of a function.
func (l *library) symbol(name string) uintptr {
	at, err := purego.Dlsym(l.handle, name)
	if err != nil && l.missing == "" {
		l.missing = name
	}
	return at
}

// call calls the function at fn. It hands SyscallN an array that is already on
// the heap: its variadic arguments would be allocated at every call. Pointers
// in args must be kept alive by the caller.
func (l *library) call(fn uintptr, args ...uintptr) result {
	n := copy(l.args[:], args)
	r, _, _ := purego.SyscallN(fn, l.args[:n]...)
	return result(int32(r)) // of the 64-bit register, a C int has 32
}

// address is p as an argument.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func (l *library) fillDevices(d *driver) {
	d.errorName = l.text(l.symbol("cuGetErrorName"))
	d.errorString = l.text(l.symbol("cuGetErrorString"))
	initialize := l.symbol("cuInit")
	d.init = func(flags uint32) result { return l.call(initialize, uintptr(flags)) }
	version := l.symbol("cuDriverGetVersion")
	d.driverGetVersion = func(v *int32) result { return l.call(version, address(v)) }
	count := l.symbol("cuDeviceGetCount")
	d.deviceGetCount = func(n *int32) result { return l.call(count, address(n)) }
	get := l.symbol("cuDeviceGet")
	d.deviceGet = func(dev *int32, ordinal int32) result { return l.call(get, address(dev), uintptr(ordinal)) }
	name := l.symbol("cuDeviceGetName")
	d.deviceGetName = func(b []byte, dev int32) result {
		return l.call(name, address(&b[0]), uintptr(len(b)), uintptr(dev))
	}
	attribute := l.symbol("cuDeviceGetAttribute")
	d.deviceGetAttribute = func(v *int32, a, dev int32) result {
		return l.call(attribute, address(v), uintptr(a), uintptr(dev))
	}
	total := l.symbol("cuDeviceTotalMem_v2")
	d.deviceTotalMem = func(n *uintptr, dev int32) result { return l.call(total, address(n), uintptr(dev)) }
	retain := l.symbol("cuDevicePrimaryCtxRetain")
	d.primaryCtxRetain = func(ctx *uintptr, dev int32) result { return l.call(retain, address(ctx), uintptr(dev)) }
	release := l.symbol("cuDevicePrimaryCtxRelease_v2")
	d.primaryCtxRelease = func(dev int32) result { return l.call(release, uintptr(dev)) }
	current := l.symbol("cuCtxSetCurrent")
	d.ctxSetCurrent = func(ctx uintptr) result { return l.call(current, ctx) }
}

// text is a call that gives a result's name or message.
func (l *library) text(fn uintptr) func(result) string {
	return func(r result) string {
		if l.call(fn, uintptr(r), address(&l.message)) != 0 || l.message == nil {
			return ""
		}
		n := 0
		for *(*byte)(unsafe.Add(unsafe.Pointer(l.message), n)) != 0 {
			n++
		}
		return string(unsafe.Slice(l.message, n))
	}
}

func (l *library) fillMemory(d *driver) {
	info := l.symbol("cuMemGetInfo_v2")
	d.memGetInfo = func(free, total *uintptr) result { return l.call(info, address(free), address(total)) }
	alloc := l.symbol("cuMemAlloc_v2")
	d.memAlloc = func(addr *uint64, size uintptr) result { return l.call(alloc, address(addr), size) }
	free := l.symbol("cuMemFree_v2")
	d.memFree = func(addr uint64) result { return l.call(free, uintptr(addr)) }
	hostAlloc := l.symbol("cuMemHostAlloc")
	d.memHostAlloc = func(p *unsafe.Pointer, size uintptr, flags uint32) result {
		return l.call(hostAlloc, address(p), size, uintptr(flags))
	}
	freeHost := l.symbol("cuMemFreeHost")
	d.memFreeHost = func(p unsafe.Pointer) result { return l.call(freeHost, uintptr(p)) }
	memset := l.symbol("cuMemsetD8Async")
	d.memsetD8Async = func(addr uint64, value uint8, size, stream uintptr) result {
		return l.call(memset, uintptr(addr), uintptr(value), size, stream)
	}
	up := l.symbol("cuMemcpyHtoDAsync_v2")
	d.memcpyHtoDAsync = func(dst uint64, src unsafe.Pointer, size, stream uintptr) result {
		return l.call(up, uintptr(dst), uintptr(src), size, stream)
	}
	down := l.symbol("cuMemcpyDtoHAsync_v2")
	d.memcpyDtoHAsync = func(dst unsafe.Pointer, src uint64, size, stream uintptr) result {
		return l.call(down, uintptr(dst), uintptr(src), size, stream)
	}
}

func (l *library) fillStreams(d *driver) {
	create := l.symbol("cuStreamCreate")
	d.streamCreate = func(stream *uintptr, flags uint32) result { return l.call(create, address(stream), uintptr(flags)) }
	destroy := l.symbol("cuStreamDestroy_v2")
	d.streamDestroy = func(stream uintptr) result { return l.call(destroy, stream) }
	synchronize := l.symbol("cuStreamSynchronize")
	d.streamSynchronize = func(stream uintptr) result { return l.call(synchronize, stream) }
	wait := l.symbol("cuStreamWaitEvent")
	d.streamWaitEvent = func(stream, event uintptr, flags uint32) result {
		return l.call(wait, stream, event, uintptr(flags))
	}
	eventCreate := l.symbol("cuEventCreate")
	d.eventCreate = func(event *uintptr, flags uint32) result {
		return l.call(eventCreate, address(event), uintptr(flags))
	}
	eventDestroy := l.symbol("cuEventDestroy_v2")
	d.eventDestroy = func(event uintptr) result { return l.call(eventDestroy, event) }
	record := l.symbol("cuEventRecord")
	d.eventRecord = func(event, stream uintptr) result { return l.call(record, event, stream) }
	eventSynchronize := l.symbol("cuEventSynchronize")
	d.eventSynchronize = func(event uintptr) result { return l.call(eventSynchronize, event) }
	elapsed := l.symbol("cuEventElapsedTime")
	d.eventElapsedTime = func(ms *float32, start, end uintptr) result { return l.call(elapsed, address(ms), start, end) }
}

func (l *library) fillModules(d *driver) {
	load := l.symbol("cuModuleLoadDataEx")
	d.moduleLoadDataEx = func(module *uintptr, ptx, log []byte) result {
		// The values are pointers and numbers in one array, which the collector
		// must not read as pointers: so they are numbers, and the log is pinned.
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(&log[0])
		options := &[2]int32{jitErrorLog, jitErrorLogSize}
		values := &[2]uintptr{address(&log[0]), uintptr(len(log))}
		pin.Pin(options)
		pin.Pin(values)
		r := l.call(load, address(module), address(&ptx[0]), uintptr(len(options)), address(options), address(values))
		runtime.KeepAlive(ptx)
		return r
	}
	unload := l.symbol("cuModuleUnload")
	d.moduleUnload = func(module uintptr) result { return l.call(unload, module) }
	get := l.symbol("cuModuleGetFunction")
	d.moduleGetFunction = func(function *uintptr, module uintptr, name []byte) result {
		r := l.call(get, address(function), module, address(&name[0]))
		runtime.KeepAlive(name)
		return r
	}
	attribute := l.symbol("cuFuncGetAttribute")
	d.funcGetAttribute = func(value *int32, a int32, function uintptr) result {
		return l.call(attribute, address(value), uintptr(a), function)
	}
	set := l.symbol("cuFuncSetAttribute")
	d.funcSetAttribute = func(function uintptr, a, value int32) result {
		return l.call(set, function, uintptr(a), uintptr(value))
	}
	launch := l.symbol("cuLaunchKernel")
	d.launchKernel = func(function uintptr, grid [3]uint32, threads, shared uint32, stream uintptr, params *unsafe.Pointer) result {
		return l.call(launch, function, uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
			uintptr(threads), 1, 1, uintptr(shared), stream, address(params), 0)
	}
}

// Options of cuModuleLoadDataEx.
const (
	jitErrorLog     = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogSize = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
)

func (l *library) fillGraphs(d *driver) {
	begin := l.symbol("cuStreamBeginCapture_v2")
	d.streamBeginCapture = func(stream uintptr, mode int32) result { return l.call(begin, stream, uintptr(mode)) }
	end := l.symbol("cuStreamEndCapture")
	d.streamEndCapture = func(stream uintptr, graph *uintptr) result { return l.call(end, stream, address(graph)) }
	instantiate := l.symbol("cuGraphInstantiateWithFlags")
	d.graphInstantiate = func(exec *uintptr, graph uintptr, flags uint64) result {
		return l.call(instantiate, address(exec), graph, uintptr(flags))
	}
	launch := l.symbol("cuGraphLaunch")
	d.graphLaunch = func(exec, stream uintptr) result { return l.call(launch, exec, stream) }
	execDestroy := l.symbol("cuGraphExecDestroy")
	d.graphExecDestroy = func(exec uintptr) result { return l.call(execDestroy, exec) }
	destroy := l.symbol("cuGraphDestroy")
	d.graphDestroy = func(graph uintptr) result { return l.call(destroy, graph) }
}
