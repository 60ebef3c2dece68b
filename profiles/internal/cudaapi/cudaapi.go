// Package cudaapi says what a call of the CUDA runtime or driver does, by its
// name: the names in profilers' files are all there is to go by.
package cudaapi

import (
	"strings"

	"gputax/profiles"
)

// Call is what a function of that name asks for.
type Call struct {
	Kind profiles.CallKind
	// Mem is, of an allocation, whether it is the device's or page-locked.
	Mem profiles.Mem
	// Async is set for copies and memsets that may return before the device
	// has done them.
	Async bool
}

// Plain is name without what versions and per-thread streams add to it:
// cudaLaunchKernel_v7000, cuMemAlloc_v2, cudaMemcpyAsync_ptsz.
func Plain(name string) string {
	for {
		cut := strings.LastIndexByte(name, '_')
		if cut <= 0 || !suffix(name[cut+1:]) {
			return name
		}
		name = name[:cut]
	}
}

func suffix(s string) bool {
	if s == "ptsz" || s == "ptds" {
		return true
	}
	digits, ok := strings.CutPrefix(s, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Of is what the function of that name does; CallOther where it is none of
// those that matter here. Stream waits for an event and queries are others:
// the host goes on.
func Of(name string) Call {
	name = Plain(name)
	if c, ok := exact[name]; ok {
		return c
	}
	short, ok := strings.CutPrefix(name, "cuda")
	if !ok {
		if short, ok = strings.CutPrefix(name, "cu"); !ok {
			return Call{}
		}
	}
	async := strings.HasSuffix(short, "Async")
	for _, p := range prefixes {
		if strings.HasPrefix(short, p.prefix) {
			c := p.call
			c.Async = async && (c.Kind == profiles.CallCopy || c.Kind == profiles.CallMemset)
			return c
		}
	}
	return Call{}
}

var (
	device = Call{Kind: profiles.CallAlloc, Mem: profiles.MemDevice}
	pinned = Call{Kind: profiles.CallAlloc, Mem: profiles.MemPinned}
	free   = Call{Kind: profiles.CallFree}
	sync   = Call{Kind: profiles.CallSync}
	launch = Call{Kind: profiles.CallLaunch}
	copies = Call{Kind: profiles.CallCopy}
	sets   = Call{Kind: profiles.CallMemset}
)

// exact are functions whose whole names count, because others that do
// something else begin like them.
var exact = map[string]Call{
	"cudaGraphLaunch": {Kind: profiles.CallGraphLaunch}, "cuGraphLaunch": {Kind: profiles.CallGraphLaunch},
	"cuLaunch": launch, "cuLaunchGrid": launch, "cuLaunchGridAsync": launch, "cudaLaunch": launch,

	"cudaStreamSynchronize": sync, "cuStreamSynchronize": sync,
	"cudaDeviceSynchronize": sync, "cuCtxSynchronize": sync, "cudaThreadSynchronize": sync,
	"cudaEventSynchronize": sync, "cuEventSynchronize": sync,

	"cudaMallocHost": pinned, "cudaHostAlloc": pinned, "cuMemHostAlloc": pinned, "cuMemAllocHost": pinned,
	"cudaHostRegister": pinned, "cuMemHostRegister": pinned,
	"cuMemCreate": device, "cudaMallocManaged": {Kind: profiles.CallAlloc, Mem: profiles.MemManaged},
	"cuMemAllocManaged": {Kind: profiles.CallAlloc, Mem: profiles.MemManaged},
	"cudaMallocArray":   device, "cudaMalloc3D": device, "cudaMalloc3DArray": device,

	"cudaFree": free, "cuMemFree": free, "cudaFreeAsync": free, "cuMemFreeAsync": free, "cudaFreeArray": free,
	"cudaFreeHost": free, "cuMemFreeHost": free, "cudaHostUnregister": free, "cuMemHostUnregister": free,
	"cuMemRelease": free,

	// They begin like copies and launches, and are none.
	"cudaLaunchHostFunc": {}, "cuLaunchHostFunc": {}, "cudaMallocMipmappedArray": device,
}

// prefixes are what the rest begin with after cuda or cu, the longer first
// where one begins like another.
var prefixes = []struct {
	prefix string
	call   Call
}{
	{"LaunchKernel", launch}, // LaunchKernelExC, LaunchKernelEx
	{"LaunchCooperativeKernel", launch},
	{"Memcpy", copies}, // cudaMemcpy2DAsync, cuMemcpyHtoD, cuMemcpyDtoHAsync
	{"Memset", sets},   // cuMemsetD8Async
	{"MallocAsync", device},
	{"MallocFromPoolAsync", device},
	{"MallocPitch", device},
	{"Malloc", device},
	{"MemAllocAsync", device},
	{"MemAllocFromPoolAsync", device},
	{"MemAllocPitch", device},
	{"MemAlloc", device},
}

// Blocks says whether a copy's call returns when the copy is done: the plain
// ones do; asynchronous ones do where they fill pageable memory, because the
// driver must copy on from its own buffer. An asynchronous copy from pageable
// memory only waits until that memory has been read.
func (c Call) Blocks(dir profiles.Dir, mem profiles.Mem) bool {
	if !c.Async {
		return dir != profiles.DeviceToDevice
	}
	return dir == profiles.DeviceToHost && mem == profiles.MemPageable
}
