package cupti

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// headers is where CUPTI's are, for TestHeaders.
var headers = flag.String("cupti-headers", "", "folder of CUPTI's headers to hold the layout of records to")

// fields is every field that is read: the record, its name in CUPTI's headers,
// where it lies, and its length.
var fields = []struct {
	record, name string
	at, size     int
}{
	{"API", "kind", recordKind, 4}, {"API", "cbid", apiID, 4}, {"API", "start", apiStart, 8}, {"API", "end", apiEnd, 8},
	{"API", "processId", apiProcess, 4}, {"API", "threadId", apiThread, 4},
	{"API", "correlationId", apiCorrelation, 4}, {"API", "returnValue", apiResult, 4},
	{"Kernel", "kind", recordKind, 4}, {"Kernel", "registersPerThread", kernelRegisters, 2},
	{"Kernel", "start", kernelStart, 8}, {"Kernel", "end", kernelEnd, 8}, {"Kernel", "deviceId", kernelDevice, 4},
	{"Kernel", "contextId", kernelContext, 4}, {"Kernel", "streamId", kernelStream, 4},
	{"Kernel", "gridX", kernelGrid, 4}, {"Kernel", "gridY", kernelGrid + 4, 4}, {"Kernel", "gridZ", kernelGrid + 8, 4},
	{"Kernel", "blockX", kernelBlock, 4}, {"Kernel", "blockY", kernelBlock + 4, 4}, {"Kernel", "blockZ", kernelBlock + 8, 4},
	{"Kernel", "staticSharedMemory", kernelStatic, 4}, {"Kernel", "dynamicSharedMemory", kernelDynamic, 4},
	{"Kernel", "correlationId", kernelCorrelation, 4}, {"Kernel", "name", kernelName, 8},
	{"Kernel", "graphNodeId", kernelGraphNode, 8}, {"Kernel", "graphId", kernelGraph, 4},
	{"Memcpy", "kind", recordKind, 4}, {"Memcpy", "copyKind", copyKind, 1}, {"Memcpy", "srcKind", copySource, 1},
	{"Memcpy", "dstKind", copyDestination, 1}, {"Memcpy", "bytes", copyBytes, 8}, {"Memcpy", "start", copyStart, 8},
	{"Memcpy", "end", copyEnd, 8}, {"Memcpy", "deviceId", copyDevice, 4}, {"Memcpy", "contextId", copyContext, 4},
	{"Memcpy", "streamId", copyStream, 4}, {"Memcpy", "correlationId", copyCorrelation, 4},
	{"Memcpy", "graphNodeId", copyGraphNode, 8}, {"Memcpy", "graphId", copyGraph, 4},
	{"MemcpyPtoP", "kind", recordKind, 4}, {"MemcpyPtoP", "copyKind", copyKind, 1}, {"MemcpyPtoP", "srcKind", copySource, 1},
	{"MemcpyPtoP", "dstKind", copyDestination, 1}, {"MemcpyPtoP", "bytes", copyBytes, 8}, {"MemcpyPtoP", "start", copyStart, 8},
	{"MemcpyPtoP", "end", copyEnd, 8}, {"MemcpyPtoP", "deviceId", copyDevice, 4}, {"MemcpyPtoP", "contextId", copyContext, 4},
	{"MemcpyPtoP", "streamId", copyStream, 4}, {"MemcpyPtoP", "correlationId", peerCorrelation, 4},
	{"MemcpyPtoP", "graphNodeId", peerGraphNode, 8}, {"MemcpyPtoP", "graphId", peerGraph, 4},
	{"Memset", "kind", recordKind, 4}, {"Memset", "bytes", memsetBytes, 8}, {"Memset", "start", memsetStart, 8},
	{"Memset", "end", memsetEnd, 8}, {"Memset", "deviceId", memsetDevice, 4}, {"Memset", "contextId", memsetContext, 4},
	{"Memset", "streamId", memsetStream, 4}, {"Memset", "correlationId", memsetCorrelation, 4},
	{"Memset", "graphNodeId", memsetGraphNode, 8}, {"Memset", "graphId", memsetGraph, 4},
	{"ExternalCorrelation", "kind", recordKind, 4}, {"ExternalCorrelation", "externalKind", externalKind, 4},
	{"ExternalCorrelation", "externalId", externalID, 8}, {"ExternalCorrelation", "correlationId", externalCorrelation, 4},
	{"Marker", "kind", recordKind, 4}, {"Marker", "flags", markerFlags, 4}, {"Marker", "timestamp", markerTime, 8},
	{"Marker", "id", markerID, 4}, {"Marker", "name", markerName, 8},
}

// values are constants of CUPTI that are used as numbers.
var values = []struct {
	name  string
	value int
}{
	{"CUPTI_ACTIVITY_KIND_MEMCPY", int(kindCopy)}, {"CUPTI_ACTIVITY_KIND_MEMSET", int(kindMemset)},
	{"CUPTI_ACTIVITY_KIND_KERNEL", int(kindKernel)}, {"CUPTI_ACTIVITY_KIND_DRIVER", int(kindDriver)},
	{"CUPTI_ACTIVITY_KIND_RUNTIME", int(kindRuntime)}, {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", int(kindKernels)},
	{"CUPTI_ACTIVITY_KIND_MARKER", int(kindMarker)}, {"CUPTI_ACTIVITY_KIND_MEMCPY2", int(kindPeerCopy)},
	{"CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION", int(kindExternal)},
	{"CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0", externalImplied}, {"CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1", externalCall},
	{"CUPTI_ACTIVITY_MEMCPY_KIND_HTOD", copyHtoD}, {"CUPTI_ACTIVITY_MEMCPY_KIND_DTOH", copyDtoH},
	{"CUPTI_ACTIVITY_MEMCPY_KIND_HTOA", copyHtoA}, {"CUPTI_ACTIVITY_MEMCPY_KIND_ATOH", copyAtoH},
	{"CUPTI_ACTIVITY_MEMCPY_KIND_HTOH", copyHtoH}, {"CUPTI_ACTIVITY_MEMCPY_KIND_PTOP", copyPtoP},
	{"CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE", int(Pageable)}, {"CUPTI_ACTIVITY_MEMORY_KIND_PINNED", int(Pinned)},
	{"CUPTI_ACTIVITY_MEMORY_KIND_DEVICE", int(OnDevice)}, {"CUPTI_ACTIVITY_MEMORY_KIND_MANAGED", int(Managed)},
	{"CUPTI_ACTIVITY_FLAG_FLUSH_FORCED", flushForced}, {"CUPTI_ACTIVITY_FLAG_MARKER_START", markerStart},
	{"CUPTI_ERROR_MAX_LIMIT_REACHED", int(resultMaxLimit)},
	{"CUPTI_CB_DOMAIN_DRIVER_API", int(domainDriver)}, {"CUPTI_CB_DOMAIN_RUNTIME_API", int(domainRuntime)},
}

// layout is fields and values as the C program of TestHeaders prints them.
func layout() string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s %s %d %d\n", f.record, f.name, f.at, f.size)
	}
	for _, v := range values {
		fmt.Fprintf(&b, "%s %d\n", v.name, v.value)
	}
	return b.String()
}

// records is a C program's types for each record: the newest that a header has,
// which is what its library writes.
const records = `#include <stddef.h>
#include <stdio.h>
#include <cuda.h>
#include <cupti_version.h>
#include <cupti_activity.h>
#if CUPTI_API_VERSION >= 130400
typedef CUpti_ActivityKernel13 Kernel; typedef CUpti_ActivityMemcpy7 Memcpy; typedef CUpti_ActivityMemset5 Memset;
#elif CUPTI_API_VERSION >= 130200
typedef CUpti_ActivityKernel11 Kernel; typedef CUpti_ActivityMemcpy6 Memcpy; typedef CUpti_ActivityMemset4 Memset;
#elif CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 Kernel; typedef CUpti_ActivityMemcpy6 Memcpy; typedef CUpti_ActivityMemset4 Memset;
#elif CUPTI_API_VERSION >= 26
typedef CUpti_ActivityKernel9 Kernel; typedef CUpti_ActivityMemcpy6 Memcpy; typedef CUpti_ActivityMemset4 Memset;
#elif CUPTI_API_VERSION >= 19
typedef CUpti_ActivityKernel9 Kernel; typedef CUpti_ActivityMemcpy5 Memcpy; typedef CUpti_ActivityMemset4 Memset;
#else
typedef CUpti_ActivityKernel8 Kernel; typedef CUpti_ActivityMemcpy5 Memcpy; typedef CUpti_ActivityMemset4 Memset;
#endif
typedef CUpti_ActivityAPI API; typedef CUpti_ActivityMemcpyPtoP4 MemcpyPtoP;
typedef CUpti_ActivityExternalCorrelation ExternalCorrelation; typedef CUpti_ActivityMarker2 Marker;
#define FIELD(t, f) printf(#t " " #f " %zu %zu\n", offsetof(t, f), sizeof(((t *)0)->f))
#define VALUE(v) printf(#v " %d\n", (int)(v))
`

// program prints the layout that it was compiled with.
func program() string {
	var b strings.Builder
	b.WriteString(records + "int main(void) {\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "\tFIELD(%s, %s);\n", f.record, f.name)
	}
	for _, v := range values {
		fmt.Fprintf(&b, "\tVALUE(%s);\n", v.name)
	}
	b.WriteString("\treturn 0;\n}\n")
	return b.String()
}

// TestHeaders holds the layout to CUPTI's own headers, where a C compiler finds
// some: in -cupti-headers, or where a toolkit has put them.
func TestHeaders(t *testing.T) {
	folders := []string{*headers}
	if *headers == "" {
		folders, _ = filepath.Glob("/usr/local/cuda*/extras/CUPTI/include")
		folders = append(folders, "/usr/include")
	}
	tried := 0
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "cupti_activity.h")); err != nil {
			continue
		}
		tried++
		t.Run(strings.Trim(strings.ReplaceAll(folder, "/", "_"), "_"), func(t *testing.T) { holdTo(t, folder) })
	}
	if tried == 0 {
		t.Skip("waits for CUPTI's headers: name their folder with -cupti-headers")
	}
}

func holdTo(t *testing.T, folder string) {
	dir := t.TempDir()
	source, bin := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	if err := os.WriteFile(source, []byte(program()), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skipf("waits for a C compiler: %v", err)
	}
	// A toolkit has cuda.h in another folder.
	compile := exec.Command("gcc", "-I"+folder, "-I"+filepath.Join(folder, "../../../include"), "-o", bin, source)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(layout(), "\n")
	for i, line := range strings.Split(string(got), "\n") {
		if i >= len(want) || line != want[i] {
			t.Errorf("the headers say %q, and here it is %q", line, want[min(i, len(want)-1)])
		}
	}
}

// TestSizes looks that what is read of a record reaches to its last field.
func TestSizes(t *testing.T) {
	kinds := map[string]activity{
		"API": kindDriver, "Kernel": kindKernels, "Memcpy": kindCopy, "MemcpyPtoP": kindPeerCopy, "Memset": kindMemset,
		"ExternalCorrelation": kindExternal, "Marker": kindMarker,
	}
	last := map[activity]int{}
	for _, f := range fields {
		k := kinds[f.record]
		last[k] = max(last[k], f.at+f.size)
	}
	for k, n := range last {
		if sizes[k] != n {
			t.Errorf("%d bytes of a %v record are read, its last field ends at %d", sizes[k], k, n)
		}
	}
}
