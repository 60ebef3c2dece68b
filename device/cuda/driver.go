package cuda

import "unsafe"

// result is a CUresult.
type result int32

const (
	resultOutOfMemory result = 2
	resultNoDevice    result = 100
)

// driver is the CUDA driver as a table of functions, one field a call, so that
// tests put their own in place. Fields are in the order of use, and each is
// named for its symbol less "cu". Handles (contexts, streams, events, modules,
// functions, graphs) are pointers that only the driver looks behind; a device
// address is 64 bits everywhere.
//
// Pointers given to a field escape, since nobody knows what it calls: what
// they point to is on the heap, which does not move.
type driver struct {
	errorName   func(r result) string
	errorString func(r result) string

	init               func(flags uint32) result
	driverGetVersion   func(version *int32) result
	deviceGetCount     func(count *int32) result
	deviceGet          func(dev *int32, ordinal int32) result
	deviceGetName      func(name []byte, dev int32) result // as C text
	deviceGetAttribute func(value *int32, attribute, dev int32) result
	deviceTotalMem     func(bytes *uintptr, dev int32) result

	primaryCtxRetain  func(ctx *uintptr, dev int32) result
	primaryCtxRelease func(dev int32) result
	ctxSetCurrent     func(ctx uintptr) result

	memGetInfo      func(free, total *uintptr) result
	memAlloc        func(addr *uint64, size uintptr) result
	memFree         func(addr uint64) result
	memHostAlloc    func(p *unsafe.Pointer, size uintptr, flags uint32) result
	memFreeHost     func(p unsafe.Pointer) result
	memsetD8Async   func(addr uint64, value uint8, size, stream uintptr) result
	memcpyHtoDAsync func(dst uint64, src unsafe.Pointer, size, stream uintptr) result
	memcpyDtoHAsync func(dst unsafe.Pointer, src uint64, size, stream uintptr) result

	streamCreate      func(stream *uintptr, flags uint32) result
	streamDestroy     func(stream uintptr) result
	streamSynchronize func(stream uintptr) result
	streamWaitEvent   func(stream, event uintptr, flags uint32) result
	eventCreate       func(event *uintptr, flags uint32) result
	eventDestroy      func(event uintptr) result
	eventRecord       func(event, stream uintptr) result
	eventSynchronize  func(event uintptr) result
	eventElapsedTime  func(ms *float32, start, end uintptr) result

	// moduleLoadDataEx compiles ptx and writes what the compiler complains of
	// to log, both as C text.
	moduleLoadDataEx  func(module *uintptr, ptx, log []byte) result
	moduleUnload      func(module uintptr) result
	moduleGetFunction func(function *uintptr, module uintptr, name []byte) result // as C text
	funcGetAttribute  func(value *int32, attribute int32, function uintptr) result
	funcSetAttribute  func(function uintptr, attribute, value int32) result
	launchKernel      func(function uintptr, grid [3]uint32, threads, shared uint32, stream uintptr, params *unsafe.Pointer) result

	streamBeginCapture func(stream uintptr, mode int32) result
	streamEndCapture   func(stream uintptr, graph *uintptr) result
	graphInstantiate   func(exec *uintptr, graph uintptr, flags uint64) result
	graphLaunch        func(exec, stream uintptr) result
	graphExecDestroy   func(exec uintptr) result
	graphDestroy       func(graph uintptr) result
}

// Constants of cuda.h that the calls above take.
const (
	streamNonBlocking  = 1 // CU_STREAM_NON_BLOCKING
	eventDisableTiming = 2 // CU_EVENT_DISABLE_TIMING
	captureRelaxed     = 2 // CU_STREAM_CAPTURE_MODE_RELAXED

	attributeMajor = 75 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor = 76 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
	// CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
	attributeShared = 97

	functionStaticShared     = 1 // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
	functionMaxDynamicShared = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
)

// libraryName is where the driver is on every Linux.
const libraryName = "libcuda.so.1"
