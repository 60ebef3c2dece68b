package cupti

import "strings"

// CallKind is what a function of the driver or the runtime asks for.
type CallKind uint8

const (
	CallOther CallKind = iota
	CallLaunch
	CallGraphLaunch
	CallCopy
	CallMemset
	CallSync // returns when a stream, an event or a device has come to it
	CallAlloc
	CallFree
)

// callKinds are the functions that are told apart, by name without version and
// stream suffix (cuMemAlloc_v2, cudaMemcpy_ptds_v7000). Copies and memsets are
// told by how they begin. Page-locking memory that is there already, and
// mapping physical memory, are no allocations here.
var callKinds = map[string]CallKind{
	"cuLaunch": CallLaunch, "cuLaunchGrid": CallLaunch, "cuLaunchGridAsync": CallLaunch,
	"cuLaunchKernel": CallLaunch, "cuLaunchKernelEx": CallLaunch,
	"cuLaunchCooperativeKernel": CallLaunch, "cuLaunchCooperativeKernelMultiDevice": CallLaunch,
	"cudaLaunch": CallLaunch, "cudaLaunchKernel": CallLaunch, "cudaLaunchKernelExC": CallLaunch,
	"cudaLaunchCooperativeKernel": CallLaunch, "cudaLaunchCooperativeKernelMultiDevice": CallLaunch,

	"cuGraphLaunch": CallGraphLaunch, "cudaGraphLaunch": CallGraphLaunch,

	"cuCtxSynchronize": CallSync, "cuStreamSynchronize": CallSync, "cuEventSynchronize": CallSync,
	"cudaDeviceSynchronize": CallSync, "cudaThreadSynchronize": CallSync,
	"cudaStreamSynchronize": CallSync, "cudaEventSynchronize": CallSync,

	"cuMemAlloc": CallAlloc, "cuMemAllocPitch": CallAlloc, "cuMemAllocManaged": CallAlloc,
	"cuMemAllocAsync": CallAlloc, "cuMemAllocFromPoolAsync": CallAlloc,
	"cuMemAllocHost": CallAlloc, "cuMemHostAlloc": CallAlloc, "cuArrayCreate": CallAlloc, "cuArray3DCreate": CallAlloc,
	"cudaMalloc": CallAlloc, "cudaMallocPitch": CallAlloc, "cudaMalloc3D": CallAlloc, "cudaMallocManaged": CallAlloc,
	"cudaMallocAsync": CallAlloc, "cudaMallocFromPoolAsync": CallAlloc,
	"cudaMallocHost": CallAlloc, "cudaHostAlloc": CallAlloc, "cudaMallocArray": CallAlloc, "cudaMalloc3DArray": CallAlloc,

	"cuMemFree": CallFree, "cuMemFreeAsync": CallFree, "cuMemFreeHost": CallFree, "cuArrayDestroy": CallFree,
	"cudaFree": CallFree, "cudaFreeAsync": CallFree, "cudaFreeHost": CallFree, "cudaFreeArray": CallFree,
}

// kindOf is what the function of that name asks for.
func kindOf(name string) CallKind {
	name, _, _ = strings.Cut(name, "_")
	if k, ok := callKinds[name]; ok {
		return k
	}
	for prefix, k := range map[string]CallKind{
		"cuMemcpy": CallCopy, "cudaMemcpy": CallCopy, "cuMemset": CallMemset, "cudaMemset": CallMemset,
	} {
		if strings.HasPrefix(name, prefix) {
			return k
		}
	}
	return CallOther
}
