package cudaapi

import (
	"testing"

	"gputax/profiles"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  profiles.CallKind
		mem   profiles.Mem
		async bool
	}{
		{"cudaLaunchKernel", profiles.CallLaunch, 0, false},
		{"cudaLaunchKernel_v7000", profiles.CallLaunch, 0, false},
		{"cudaLaunchKernel_ptsz_v7000", profiles.CallLaunch, 0, false},
		{"cudaLaunchKernelExC_v11060", profiles.CallLaunch, 0, false},
		{"cuLaunchKernel", profiles.CallLaunch, 0, false},
		{"cuLaunchKernelEx_ptsz", profiles.CallLaunch, 0, false},
		{"cudaLaunchCooperativeKernel_v9000", profiles.CallLaunch, 0, false},
		{"cudaLaunchHostFunc_v10000", profiles.CallOther, 0, false},
		{"cudaGraphLaunch_v10000", profiles.CallGraphLaunch, 0, false},
		{"cudaGraphInstantiate_v12000", profiles.CallOther, 0, false},
		{"cudaMemcpyAsync_v3020", profiles.CallCopy, 0, true},
		{"cudaMemcpy_v3020", profiles.CallCopy, 0, false},
		{"cuMemcpyHtoD_v2", profiles.CallCopy, 0, false},
		{"cuMemcpyDtoHAsync_v2_ptsz", profiles.CallCopy, 0, true},
		{"cudaMemsetAsync", profiles.CallMemset, 0, true},
		{"cuMemsetD32_v2", profiles.CallMemset, 0, false},
		{"cudaStreamSynchronize_v3020", profiles.CallSync, 0, false},
		{"cudaDeviceSynchronize", profiles.CallSync, 0, false},
		{"cuCtxSynchronize", profiles.CallSync, 0, false},
		{"cudaEventSynchronize", profiles.CallSync, 0, false},
		{"cudaStreamWaitEvent_v3020", profiles.CallOther, 0, false},
		{"cudaEventQuery", profiles.CallOther, 0, false},
		{"cudaStreamIsCapturing", profiles.CallOther, 0, false},
		{"cudaMalloc_v3020", profiles.CallAlloc, profiles.MemDevice, false},
		{"cuMemAlloc_v2", profiles.CallAlloc, profiles.MemDevice, false},
		{"cudaMallocAsync_v11020", profiles.CallAlloc, profiles.MemDevice, false},
		{"cudaMallocHost", profiles.CallAlloc, profiles.MemPinned, false},
		{"cuMemHostAlloc", profiles.CallAlloc, profiles.MemPinned, false},
		{"cuMemAllocHost_v2", profiles.CallAlloc, profiles.MemPinned, false},
		{"cuMemAllocManaged", profiles.CallAlloc, profiles.MemManaged, false},
		{"cudaFree_v3020", profiles.CallFree, 0, false},
		{"cuMemFree_v2", profiles.CallFree, 0, false},
		{"cudaMemGetInfo", profiles.CallOther, 0, false},
		{"write", profiles.CallOther, 0, false},
		{"", profiles.CallOther, 0, false},
	} {
		got := Of(c.name)
		if want := (Call{c.kind, c.mem, c.async}); got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for name, want := range map[string]string{
		"cudaStreamGetCaptureInfo_v2_v11030": "cudaStreamGetCaptureInfo",
		"cuMemcpyHtoDAsync_v2_ptsz":          "cuMemcpyHtoDAsync",
		"my_function":                        "my_function",
		"a_v":                                "a_v",
		"_v2":                                "_v2",
	} {
		if got := Plain(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  profiles.Dir
		mem  profiles.Mem
		want bool
	}{
		{"cudaMemcpy", profiles.HostToDevice, profiles.MemPinned, true},
		{"cudaMemcpy", profiles.DeviceToHost, profiles.MemPageable, true},
		{"cudaMemcpy", profiles.DeviceToDevice, profiles.MemDevice, false},
		{"cudaMemcpyAsync", profiles.HostToDevice, profiles.MemPageable, false},
		{"cudaMemcpyAsync", profiles.DeviceToHost, profiles.MemPageable, true},
		{"cudaMemcpyAsync", profiles.DeviceToHost, profiles.MemPinned, false},
	} {
		if got := Of(c.name).Blocks(c.dir, c.mem); got != c.want {
			t.Errorf("%s %v %v: %v", c.name, c.dir, c.mem, got)
		}
	}
}
