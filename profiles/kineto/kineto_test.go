package kineto

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/profiles"
)

// trace is a small trace of two steps, its events out of order as Kineto's are:
// a pageable upload that is waited for, a kernel, a download, and a backward
// pass on a thread of its own.
func trace() string {
	var e []string
	add := func(format string, args ...any) { e = append(e, fmt.Sprintf(format, args...)) }
	for i := range 2 {
		at := float64(1000 * i)
		id := 100 * (i + 1)
		runtime := func(name string, us float64, tid, corr, ext int) {
			add(`{"ph": "X", "cat": "cuda_runtime", "name": %q, "pid": 7, "tid": %d, "ts": %.3f, "dur": 2.5, "args": {"External id": %d, "cbid": 1, "correlation": %d}}`,
				name, tid, at+us, ext, corr)
		}
		// The device's side comes first.
		add(`{"ph":"X","cat":"kernel","name":"void k<4, \"x\">(float*)","pid":0,"tid":7,"ts":%.3f,"dur":5.408,"args":{"External id":%d,"queued":0,"device":0,"stream":7,"correlation":%d,"grid":[44,4,1],"block":[64,2,1],"est. achieved occupancy %%":NaN}}`, at+60, id+2, id+2)
		add(`{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":%.3f,"dur":1.249,"args":{"device":0,"stream":7,"correlation":%d,"bytes":11264,"memory bandwidth (GB/s)":Infinity}}`, at+20, id+1)
		add(`{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pageable)","pid":0,"tid":7,"ts":%.3f,"dur":1,"args":{"device":0,"stream":7,"correlation":%d,"bytes":512}}`, at+80, id+4)
		add(`{"ph":"X","cat":"kernel","name":"backward_kernel","pid":0,"tid":7,"ts":%.3f,"dur":9,"args":{"device":0,"stream":7,"correlation":%d,"grid":[1,1,1],"block":[32,1,1]}}`, at+95, id+5)
		add(`{"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":%.3f,"dur":1,"args":{"device":0,"stream":7,"correlation":%d,"bytes":64}}`, at+94, id+6)
		add(`{"ph":"s","id":%d,"pid":7,"tid":7,"ts":%.3f,"cat":"ac2g","name":"ac2g"}`, id+1, at+15)
		runtime("cudaMemcpyAsync", 15, 7, id+1, id+11)
		runtime("cudaStreamSynchronize", 18, 7, id+3, id+11)
		runtime("cudaLaunchKernel", 50, 7, id+2, id+12)
		runtime("cudaMemcpyAsync", 70, 7, id+4, 0)
		runtime("cudaMemsetAsync", 85, 9, id+6, id+13)
		runtime("cuLaunchKernel", 90, 9, id+5, id+13)
		add(`{"ph":"X","cat":"cpu_op","name":"aten::copy_","pid":7,"tid":7,"ts":%.3f,"dur":9,"args":{"External id":%d}}`, at+14, id+11)
		add(`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":%.3f,"dur":9,"args":{"External id":%d}}`, at+45, id+12)
		add(`{"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":7,"tid":9,"ts":%.3f,"dur":20,"args":{"External id":%d}}`, at+84, id+13)
		for _, r := range []struct {
			name     string
			from, to float64
		}{{fmt.Sprintf("step %d", i), 0, 900}, {"upload", 10, 30}, {"forward", 40, 65}, {"backward", 80, 100}} {
			add(`{"ph":"X","cat":"user_annotation","name":%q,"pid":7,"tid":7,"ts":%.3f,"dur":%.3f,"args":{"External id":1}}`, r.name, at+r.from, r.to-r.from)
		}
		add(`{"ph":"X","cat":"gpu_user_annotation","name":"forward","pid":0,"tid":7,"ts":%.3f,"dur":5}`, at+60)
	}
	add(`{"ph":"i","cat":"kernel","name":"an instant is no kernel","pid":0,"tid":7,"ts":60,"args":{"correlation":102}}`)
	add(`{"name":"process_name","ph":"M","ts":1,"pid":7,"tid":0,"args":{"name":"python3"}}`)
	add(`{"ph":"X","cat":"Trace","ts":0,"dur":5,"pid":"Spans","tid":"PyTorch Profiler","name":"PyTorch Profiler (0)","args":{"Op count":0}}`)
	add(`{"name":"Iteration Start: PyTorch Profiler","ph":"i","s":"g","pid":"Traces","tid":"Trace PyTorch Profiler","ts":0}`)
	return fmt.Sprintf("\n  {\n  \"schemaVersion\": 1,\n \"deviceProperties\": [{\"id\":0,\"name\":\"NVIDIA H200\",\"numSms\":132}],\n"+
		"\"cuda_driver_version\": 13010, \"traceEvents\": [\n%s\n], \"traceName\": \"a \\\"b\\\"\"}\n", strings.Join(e, ",\n"))
}

func read(t *testing.T, text string) *profiles.Recording {
	t.Helper()
	rec, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestRead(t *testing.T) {
	rec := read(t, trace())
	if len(rec.Warnings) > 0 {
		t.Errorf("warnings: %q", rec.Warnings)
	}
	want := device.Counters{device.Launches: 2, device.UploadCopies: 1, device.UploadBytes: 11264, device.DownloadCopies: 1,
		device.DownloadBytes: 512, device.PageableCopies: 2, device.Syncs: 1}
	totals := rec.StepTotals()
	if len(totals) != 2 {
		t.Fatalf("%d steps", len(totals))
	}
	for i, s := range totals {
		if s.Counters != want {
			t.Errorf("step %d: %v, want %v", i, s.Counters, want)
		}
	}
	if got := rec.StepTotals()[1].Time.Nanoseconds(); got != 900_000 {
		t.Errorf("step 1 takes %d ns", got)
	}
	if got, want := fmt.Sprint(rec.Config), "[{device NVIDIA H200} {cuda driver 13.1}]"; got != want {
		t.Errorf("config %s, want %s", got, want)
	}
}

func TestCallsAndOps(t *testing.T) {
	rec := read(t, trace())
	var calls, ops []string
	for _, c := range rec.Calls.All() {
		if c.Step != 0 {
			continue
		}
		site := ""
		for _, f := range rec.Sites[c.Site].Frames {
			site += f.Func
		}
		calls = append(calls, fmt.Sprintf("%s %s [%s] %d+%d %dB kind=%d block=%v", rec.Names.Name(c.Name), rec.Names.Name(c.Phase), site, c.Start, c.Dur, c.Bytes, c.Kind, c.Blocking))
	}
	for _, o := range rec.Ops.All() {
		c := rec.Calls.At(int(o.Call))
		if c.Step != 0 {
			continue
		}
		ops = append(ops, fmt.Sprintf("%s < %s %d+%d %dB %dx%d %d %d", rec.Names.Name(o.Name), rec.Names.Name(c.Name), o.Start, o.Dur, o.Bytes, o.Blocks, o.Threads, o.Dir, o.Mem))
	}
	wantCalls := []string{
		"cudaMemcpyAsync upload [aten::copy_] 15000+2500 11264B kind=3 block=false",
		"cudaStreamSynchronize upload [aten::copy_] 18000+2500 0B kind=5 block=true",
		"cudaLaunchKernel forward [aten::mm] 50000+2500 0B kind=1 block=false",
		"cudaMemcpyAsync  [] 70000+2500 512B kind=3 block=true",
		"cudaMemsetAsync backward [MmBackward0] 85000+2500 0B kind=4 block=false",
		"cuLaunchKernel backward [MmBackward0] 90000+2500 0B kind=1 block=false",
	}
	wantOps := []string{
		"Memcpy HtoD (Pageable -> Device) < cudaMemcpyAsync 20000+1249 11264B 0x0 1 1",
		`void k<4, "x">(float*) < cudaLaunchKernel 60000+5408 0B 176x128 0 0`,
		"Memcpy DtoH (Device -> Pageable) < cudaMemcpyAsync 80000+1000 512B 0x0 2 1",
		"Memset (Device) < cudaMemsetAsync 94000+1000 64B 0x0 0 3",
		"backward_kernel < cuLaunchKernel 95000+9000 0B 1x32 0 0",
	}
	if !slices.Equal(calls, wantCalls) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(wantCalls, "\n"))
	}
	if !slices.Equal(ops, wantOps) {
		t.Errorf("ops\n%s\nwant\n%s", strings.Join(ops, "\n"), strings.Join(wantOps, "\n"))
	}
	for k, why := range map[profiles.Knowledge]string{profiles.Contents: "does not hold", profiles.CallSites: "with_stack=True", profiles.DeclaredWork: "work"} {
		if !strings.Contains(rec.Source.Unseen[k], why) {
			t.Errorf("unseen %d: %q", k, rec.Source.Unseen[k])
		}
	}
	if !rec.Knows(profiles.StepBounds) || !rec.Knows(profiles.PhaseNames) || !rec.Knows(profiles.DeviceTimes) {
		t.Errorf("unseen %v", rec.Source.Unseen)
	}
}

func TestGzipAndBareArrays(t *testing.T) {
	plain := read(t, trace())
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte(trace()))
	w.Close()
	rec, err := Read(&zipped, Options{})
	if err != nil || rec.Counters() != plain.Counters() {
		t.Errorf("gzipped: %v %v", rec, err)
	}
	text := trace()
	text = text[strings.Index(text, "[\n"):]
	text = text[:strings.LastIndex(text, "]")+1]
	if got := read(t, text).Counters(); got != plain.Counters() {
		t.Errorf("array: %v, want %v", got, plain.Counters())
	}
}

// Traces of PyTorch 1.8 to 1.11.
func TestOldNames(t *testing.T) {
	rec := read(t, `{"schemaVersion": 1, "traceEvents": [
	{"ph":"X","cat":"Operator","name":"ProfilerStep#3","pid":1,"tid":"1","ts":0,"dur":100,"args":{"External id":1}},
	{"ph":"X","cat":"Operator","name":"aten::copy_","pid":1,"tid":"1","ts":5,"dur":20,"args":{"External id":2}},
	{"ph":"X","cat":"Runtime","name":"cudaMemcpyAsync","pid":1,"tid":"1","ts":10,"dur":3,"args":{"cbid":41,"correlation":9,"external id":2}},
	{"ph":"X","cat":"Memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":"stream 7","ts":12,"dur":1,"args":{"device":0,"stream":7,"correlation":9,"bytes":8}}]}`)
	if n := len(rec.Steps); n != 1 {
		t.Fatalf("%d steps", n)
	}
	c := rec.StepTotals()[0].Counters
	if c[device.UploadCopies] != 1 || c[device.PageableCopies] != 0 {
		t.Errorf("%v", c)
	}
	if got := rec.Sites[rec.Calls.At(0).Site].Frames; len(got) != 1 || got[0].Func != "aten::copy_" {
		t.Errorf("site %v", got)
	}
}

func TestGraphs(t *testing.T) {
	rec := read(t, `{"traceEvents": [
	{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":1,"tid":1,"ts":10,"dur":3,"args":{"correlation":9}},
	{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":12,"dur":1,"args":{"correlation":9,"graph node id":0}},
	{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":14,"dur":1,"args":{"correlation":9}},
	{"ph":"X","cat":"kernel","name":"orphan","pid":0,"tid":7,"ts":16,"dur":1,"args":{"correlation":10,"graph node id":5}}]}`)
	want := device.Counters{device.GraphLaunches: 1, device.GraphKernels: 3}
	if got := rec.Counters(); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if len(rec.Warnings) != 1 || !strings.Contains(rec.Warnings[0], "1 of 3 kernels") {
		t.Errorf("warnings %q", rec.Warnings)
	}
}

// The driver's calls within the runtime's are the same waits and allocations.
func TestNestedCallsCountOnce(t *testing.T) {
	rec := read(t, `{"traceEvents": [
	{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":1,"tid":1,"ts":10,"dur":9,"args":{"correlation":1}},
	{"ph":"X","cat":"cuda_driver","name":"cuMemAlloc_v2","pid":1,"tid":1,"ts":11,"dur":7,"args":{"correlation":2}},
	{"ph":"X","cat":"cuda_driver","name":"cuMemAlloc_v2","pid":1,"tid":1,"ts":21,"dur":7,"args":{"correlation":3}},
	{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":30,"dur":9,"args":{"correlation":4}},
	{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":2,"ts":31,"dur":2,"args":{"correlation":5}},
	{"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":1,"tid":1,"ts":50,"dur":9,"args":{"correlation":6}},
	{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":51,"dur":2,"args":{"correlation":7}},
	{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":14,"dur":1,"args":{"correlation":9}}]}`)
	if c := rec.Counters(); c[device.Allocs] != 2 || c[device.Syncs] != 3 || c[device.Frees] != 1 {
		t.Errorf("%v", c)
	}
}

func TestStacks(t *testing.T) {
	rec := read(t, `{"traceEvents": [
	{"ph":"X","cat":"python_function","name":"train.py(30): step","pid":1,"tid":1,"ts":5,"dur":90,"args":{"Python id":2,"Python parent id":1}},
	{"ph":"X","cat":"python_function","name":"<built-in method copy_ of Tensor object at 0x7f2E>","pid":1,"tid":1,"ts":9,"dur":20,"args":{}},
	{"ph":"X","cat":"python_function","name":"train.py(10): main","pid":1,"tid":1,"ts":5,"dur":100,"args":{"Python id":1}},
	{"ph":"X","cat":"python_function","name":"other.py(1): f","pid":1,"tid":2,"ts":0,"dur":100,"args":{}},
	{"ph":"X","cat":"cpu_op","name":"aten::copy_","pid":1,"tid":1,"ts":9,"dur":20,"args":{"External id":2}},
	{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":10,"dur":3,"args":{"correlation":9,"External id":2}},
	{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":40,"dur":3,"args":{"correlation":10}},
	{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":41,"dur":1,"args":{"correlation":10}}]}`)
	var got []string
	for _, c := range rec.Calls.All() {
		var s []string
		for _, f := range rec.Sites[c.Site].Frames {
			s = append(s, fmt.Sprintf("%s@%s:%d", f.Func, f.File, f.Line))
		}
		got = append(got, strings.Join(s, " < "))
	}
	want := []string{
		"aten::copy_@:0 < <built-in method copy_ of Tensor object>@:0 < step@train.py:30 < main@train.py:10",
		"step@train.py:30 < main@train.py:10",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if !rec.Knows(profiles.CallSites) {
		t.Error("call sites are said to be unseen")
	}
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		head string
		want bool
	}{
		{trace()[:100], true}, {"[\n{}", true}, {zipped(trace())[:200], true}, {"", false}, {"BenchmarkX 1 2 ns/op", false},
		{"SQLite format 3\x00", false}, {"\x1f\x8b", false}, {zipped("BenchmarkX 1 2 ns/op"), false}, {"goos: linux\n{", false},
	} {
		if got := Is([]byte(c.head)); got != c.want {
			t.Errorf("%.20q: %v", c.head, got)
		}
	}
}
