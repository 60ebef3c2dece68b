package nsys

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/profiles"
)

// export makes a small export of two processes, each on a GPU of its own, with
// the same correlation ids: what is special about these files is in it.
func export(t testing.TB, change ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a report #1?.sqlite")
	statements := []string{
		`CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)`,
		`INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaStreamSynchronize_v3020'),
			(4, 'cudaMalloc_v3020'), (5, 'cuMemAlloc_v2'), (6, 'cudaStreamWaitEvent_v3020'), (7, 'void gemm<4>(float*)'), (8, 'gemm'),
			(9, 'ncclSend'), (10, 'cudaMemsetAsync_v3020'), (11, 'cudaGraphLaunch_v10000'), (12, 'forward')`,
		// Other numbers than nsys uses today: only names may count.
		`CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT)`,
		`INSERT INTO ENUM_CUDA_MEM_KIND VALUES (20, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'), (21, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),
			(22, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device')`,
		`CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT)`,
		`INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (31, 'CUDA_MEMCPY_KIND_HTOD', ''), (32, 'CUDA_MEMCPY_KIND_DTOH', ''), (38, 'CUDA_MEMCPY_KIND_DTOD', '')`,
		`CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER, name TEXT, label TEXT)`,
		`INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (59, 'NvtxPushPopRange', ''), (60, 'NvtxStartEndRange', ''), (34, 'NvtxMark', '')`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
			demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER)`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
			bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER)`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
			bytes INTEGER, memKind INTEGER, graphNodeId INTEGER)`,
		`CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER)`,
		`CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)`,
		`INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', 'python'), ('PROCESS_0:ARGUMENT_0', 'train.py'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'TOKEN=secret')`,
		`CREATE TABLE TARGET_INFO_GPU (name TEXT, id INTEGER)`,
		`INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA H200', 0), ('NVIDIA H200', 1)`,
	}
	for p := range 2 {
		statements = append(statements, process(int64(0x11+p)<<24, p)...)
	}
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("?", "%3f", "#", "%23", " ", "%20").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	quick := []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "BEGIN"}
	for _, s := range slices.Concat(quick, statements, change, []string{"COMMIT"}) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

// process is the rows of one process: two steps, each with an upload that is
// waited for, a kernel, and copies on the device.
func process(pid int64, dev int) (statements []string) {
	add := func(format string, args ...any) { statements = append(statements, fmt.Sprintf(format, args...)) }
	main := pid + 5
	for i := range 2 {
		at, corr := int64(1000*i+10*dev), 100*(i+1)
		call := func(name int, start int64, correlation int, thread int64) {
			add("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, 0, %d, %d, %d)", at+start, at+start+5, thread, correlation, name)
		}
		call(1, 220, corr+4, pid+9) // a thread of autograd; out of order
		call(2, 110, corr+1, main)
		call(3, 120, corr+2, main)
		call(1, 140, corr+3, main)
		call(6, 150, corr+7, main)
		call(2, 160, corr+5, main)
		add("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (%d, %d, %d, 7, %d, %d, 484, 31, 20, 22, NULL)", at+115, at+118, dev, corr+1, pid)
		add("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (%d, %d, %d, 7, %d, %d, 64, 38, 22, NULL, NULL)", at+165, at+168, dev, corr+5, pid)
		add("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, %d, 7, %d, %d, 7, 8, 4, 2, 1, 32, 2, 1, NULL)", at+150, at+159, dev, corr+3, pid)
		add("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, %d, 7, %d, %d, 7, 8, 1, 1, 1, 1, 1, 1, NULL)", at+230, at+240, dev, corr+4, pid)
		nvtx := func(start, end int64, text string, kind int, domain int) {
			add("INSERT INTO NVTX_EVENTS VALUES (%d, %d, %d, '%s', %d, NULL, %d)", at+start, at+end, kind, text, main, domain)
		}
		nvtx(100, 400, fmt.Sprintf("step %d", i), 59, 0)
		nvtx(105, 130, "upload", 59, 0)
		add("INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, NULL, %d, 12, NULL)", at+135, at+155, main) // forward
		nvtx(200, 300, "backward", 60, 0)
		nvtx(104, 128, "aten::to, op_id = 1", 59, 0)
		nvtx(108, 126, "aten::copy_, seq = 4, op_id = 2", 59, 0)
		nvtx(155, 170, "ncclSend", 59, 1)
		nvtx(0, 0, "a mark", 34, 0)
		add("INSERT INTO NVTX_EVENTS VALUES (%d, NULL, 59, 'not ended', %d, NULL, 0)", at, main)
	}
	return statements
}

func read(t *testing.T, path string, opt Options) *profiles.Recording {
	t.Helper()
	rec, err := ReadFile(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestRead(t *testing.T) {
	path := export(t)
	before, _ := os.ReadDir(filepath.Dir(path))
	rec := read(t, path, Options{})
	if len(rec.Warnings) > 0 {
		t.Errorf("warnings %q", rec.Warnings)
	}
	if after, _ := os.ReadDir(filepath.Dir(path)); len(after) != len(before) {
		t.Errorf("files beside the export: %v", after)
	}
	want := device.Counters{device.Launches: 4, device.UploadCopies: 2, device.UploadBytes: 968, device.PageableCopies: 2, device.Syncs: 2}
	if len(rec.Steps) != 2 {
		t.Fatalf("%d steps", len(rec.Steps))
	}
	for i, s := range rec.StepTotals() {
		if s.Counters != want {
			t.Errorf("step %d: %v, want %v", i, s.Counters, want)
		}
	}
	if got, want := fmt.Sprint(rec.Config), "[{device NVIDIA H200} {device NVIDIA H200} {command python train.py}]"; got != want {
		t.Errorf("config %s, want %s", got, want)
	}
	perDevice := map[uint8]int{}
	for _, o := range rec.Ops.All() {
		perDevice[o.Device]++
	}
	if perDevice[0] != 8 || perDevice[1] != 8 {
		t.Errorf("ops by device: %v", perDevice)
	}
}

func TestCallsAndOps(t *testing.T) {
	rec := read(t, export(t), Options{})
	var calls, ops []string
	for _, c := range rec.Calls.All() {
		site := ""
		for _, f := range rec.Sites[c.Site].Frames {
			site += f.Func
		}
		if c.Step == 0 {
			calls = append(calls, fmt.Sprintf("%d %s/%s [%s] %d+%d %dB", c.Thread, rec.Names.Name(c.Name), rec.Names.Name(c.Phase), site, c.Start, c.Dur, c.Bytes))
		}
	}
	for _, o := range rec.Ops.All() {
		c := rec.Calls.At(int(o.Call))
		if c.Step == 0 && o.Device == 1 {
			ops = append(ops, fmt.Sprintf("%s < %s@%d %d+%d %dB %dx%d %d %d", rec.Names.Name(o.Name), rec.Names.Name(c.Name), c.Start, o.Start, o.Dur, o.Bytes, o.Blocks, o.Threads, o.Dir, o.Mem))
		}
	}
	wantCalls := []string{
		"1 cudaMemcpyAsync_v3020/upload [aten::copy_] 110+5 484B",
		"1 cudaStreamSynchronize_v3020/upload [aten::copy_] 120+5 0B",
		"1 cudaLaunchKernel_v7000/forward [] 140+5 0B",
		"1 cudaStreamWaitEvent_v3020/forward [] 150+5 0B",
		"1 cudaMemcpyAsync_v3020/ [ncclSend] 160+5 64B",
		"0 cudaLaunchKernel_v7000/backward [] 220+5 0B",
	}
	wantOps := []string{
		"Memcpy HtoD (Pageable -> Device) < cudaMemcpyAsync_v3020@120 125+3 484B 0x0 1 1",
		"void gemm<4>(float*) < cudaLaunchKernel_v7000@150 160+9 0B 8x64 0 0",
		"Memcpy DtoD (Device -> Unknown) < cudaMemcpyAsync_v3020@170 175+3 64B 0x0 3 3",
		"void gemm<4>(float*) < cudaLaunchKernel_v7000@230 240+10 0B 1x1 0 0",
	}
	first := slices.DeleteFunc(slices.Clone(calls), func(s string) bool { return s[0] > '1' }) // of the first process
	if !slices.Equal(first, wantCalls) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(first, "\n"), strings.Join(wantCalls, "\n"))
	}
	if !slices.Equal(ops, wantOps) {
		t.Errorf("ops\n%s\nwant\n%s", strings.Join(ops, "\n"), strings.Join(wantOps, "\n"))
	}
	if len(calls) != 2*len(wantCalls) {
		t.Errorf("%d calls of both processes", len(calls))
	}
	if !strings.Contains(rec.Source.Unseen[profiles.CallSites], "only operators") {
		t.Errorf("unseen %v", rec.Source.Unseen)
	}
}

// Operators find their calls, and the innermost wins, in whatever order the
// rows are.
func TestRowsInAnyOrder(t *testing.T) {
	reversed := []string{}
	for _, table := range []string{"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"} {
		reversed = append(reversed, "CREATE TABLE r AS SELECT * FROM "+table, "DELETE FROM "+table,
			"INSERT INTO "+table+" SELECT * FROM r ORDER BY start DESC", "DROP TABLE r")
	}
	sites := func(rec *profiles.Recording) (out []string) {
		for _, c := range rec.Calls.All() {
			for _, f := range rec.Sites[c.Site].Frames {
				out = append(out, fmt.Sprintf("%d %s %s", c.Start, rec.Names.Name(c.Phase), f.Func))
			}
		}
		return out
	}
	plain, turned := read(t, export(t), Options{}), read(t, export(t, reversed...), Options{})
	if a, b := sites(plain), sites(turned); len(a) != 12 || !slices.Equal(a, b) {
		t.Errorf("%q\nwant %q", b, a)
	}
	if a, b := plain.StepTotals(), turned.StepTotals(); !slices.Equal(a, b) {
		t.Errorf("%v, want %v", b, a)
	}
}

// Nothing is made beside an export, of whatever journal mode.
func TestNothingIsWritten(t *testing.T) {
	path := export(t)
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("?", "%3f", "#", "%23", " ", "%20").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA journal_mode = WAL"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	before, _ := os.ReadFile(path)
	during := 0
	f, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.each("start", "NVTX_EVENTS", func([]int64, string) error {
		files, _ := os.ReadDir(filepath.Dir(path))
		during = max(during, len(files))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	f.close()
	if after, _ := os.ReadFile(path); during != 1 || !bytes.Equal(before, after) {
		t.Errorf("%d files while reading, and the export changed: %v", during, !bytes.Equal(before, after))
	}
}

func TestStepName(t *testing.T) {
	rec := read(t, export(t), Options{Step: "forw"})
	if len(rec.Steps) != 2 || rec.Names.Name(rec.Steps[0].Name) != "forward" {
		t.Errorf("steps %v", rec.Steps)
	}
	if c := rec.StepTotals()[0].Counters; c[device.Launches] != 2 || c[device.UploadCopies] != 0 {
		t.Errorf("%v", c)
	}
}

// What other versions lack is said, and what they have counts.
func TestOtherSchemas(t *testing.T) {
	for _, c := range []struct {
		name   string
		change []string
		want   string // in the only warning
		is     device.Counters
	}{
		{"no kinds of memory", []string{"DROP TABLE ENUM_CUDA_MEM_KIND"}, "ENUM_CUDA_MEM_KIND",
			device.Counters{device.Launches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.Syncs: 4}},
		{"no columns of memory", []string{"ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN srcKind", "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphNodeId",
			"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN gridX"}, "",
			device.Counters{device.Launches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.Syncs: 4}},
		{"a kind of memory that is not told", []string{"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET srcKind = NULL", "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', '')"}, "",
			device.Counters{device.Launches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.Syncs: 4}},
		{"an unknown direction", []string{"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 99 WHERE copyKind = 31"}, "kind 99",
			device.Counters{device.Launches: 8, device.Syncs: 4}},
		{"no calls but waits", []string{"DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME",
			"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, globalPid INTEGER, syncType INTEGER)",
			"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5, 6, 285212672, 1), (7, 8, 285212672, 2), (9, 10, 285212672, 3)",
			"CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER, name TEXT)",
			"INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES (1, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE'), (2, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT'), (3, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE')"},
			"CUPTI_ACTIVITY_KIND_RUNTIME", device.Counters{device.Launches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 2}},
		{"kernels of a graph", []string{"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = 5 WHERE deviceId = 0"}, "",
			device.Counters{device.Launches: 4, device.GraphKernels: 4, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 4}},
		{"a graph as a whole", []string{"DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 11 WHERE nameId = 1",
			"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER)",
			"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (150, 160, 0, 7, 103, 285212672, 1)"}, "traced as a whole",
			device.Counters{device.GraphLaunches: 8, device.GraphKernels: 1, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 4}},
		{"a graph not traced", []string{"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 11 WHERE nameId = 1"}, "--cuda-graph-trace=node",
			device.Counters{device.GraphLaunches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 4}},
		{"the driver within the runtime", []string{"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 550, 0, 285212677, 900, 4), (510, 540, 1, 285212677, 901, 5)"}, "",
			device.Counters{device.Launches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 4, device.Allocs: 1}},
		{"a kernel whose call is not there", []string{"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start, end, deviceId, streamId, 7777, globalPid, demangledName, shortName, 1, 1, 1, 1, 1, 1, 0 FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1"},
			"1 of 17 kernels", device.Counters{device.Launches: 9, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 4}},
		{"events lost", []string{"CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT)", "CREATE TABLE ENUM_DIAGNOSTIC_SEVERITY_LEVEL (id INTEGER, name TEXT)",
			"INSERT INTO ENUM_DIAGNOSTIC_SEVERITY_LEVEL VALUES (1, 'Info'), (2, 'Warning')",
			"INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'all well'), (2, 'not all CUDA events\n were collected')"}, "nsys: not all CUDA events were collected",
			device.Counters{device.Launches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 4}},
		{"no ranges", []string{"DROP TABLE NVTX_EVENTS"}, "",
			device.Counters{device.Launches: 8, device.UploadCopies: 4, device.UploadBytes: 1936, device.PageableCopies: 4, device.Syncs: 4}},
	} {
		rec := read(t, export(t, c.change...), Options{})
		if c.want == "" && len(rec.Warnings) > 0 || c.want != "" && (len(rec.Warnings) != 1 || !strings.Contains(rec.Warnings[0], c.want)) {
			t.Errorf("%s: warnings %q, want %q", c.name, rec.Warnings, c.want)
		}
		if got := rec.Counters(); got != c.is {
			t.Errorf("%s: %v, want %v", c.name, got, c.is)
		}
	}
}

// Sizes of allocations come from nsys profile --cuda-memory-usage=true.
func TestAllocationSizes(t *testing.T) {
	rec := read(t, export(t, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 550, 0, 285212677, 900, 4)",
		"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, bytes INTEGER, correlationId INTEGER)",
		"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (520, 285212672, 4096, 900)"), Options{})
	for _, c := range rec.Calls.All() {
		if c.Kind == profiles.CallAlloc && c.Bytes != 4096 {
			t.Errorf("%d bytes allocated", c.Bytes)
		}
	}
	if got := rec.Counters()[device.Allocs]; got != 1 {
		t.Errorf("%d allocations", got)
	}
}

func TestIs(t *testing.T) {
	whole, err := os.ReadFile(export(t))
	if err != nil {
		t.Fatal(err)
	}
	if !Is(whole[:100]) || Is([]byte("SQLite format 3")) || Is(nil) || Is([]byte("{}")) {
		t.Error("sqlite is not told by its first bytes")
	}
}
