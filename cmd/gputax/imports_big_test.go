//go:build linux

package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bars for large files: bytes of memory, and bytes a second of CPU time, which
// is less of a lottery than the wall's on a machine that others use too.
const (
	importMemory = 500 << 20
	importRate   = 50 << 20
)

// A 1 GB export and a 2 GB trace are read in 500 MB and at 50 MB/s or better.
// The files are made here, in the proportions of real ones, and deleted.
func TestBigImports(t *testing.T) {
	if os.Getenv("GPUTAX_BIG") == "" {
		t.Skip("waits for GPUTAX_BIG=1: it takes minutes and 2 GB of disk at a time")
	}
	for _, c := range []struct {
		name, file string
		write      func(t *testing.T, path string)
		least      int64
	}{
		{"nsys", "big.sqlite", writeBigExport, 1_000_000_000},
		{"kineto", "big.json", func(t *testing.T, path string) { writeBigTrace(t, path, false) }, 2_000_000_000},
		{"kineto with stacks", "stacks.json", func(t *testing.T, path string) { writeBigTrace(t, path, true) }, 2_000_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			c.write(t, path)
			info, err := os.Stat(path)
			if err != nil || info.Size() < c.least {
				t.Fatalf("%d bytes: %v", info.Size(), err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestImportOfBigImports$", "-test.v")
			cmd.Env = append(os.Environ(), "GPUTAX_BIG_FILE="+path, "GPUTAX_TEST_COMMAND=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var calls, ops, steps, memory int64
			var took, cpu time.Duration
			for line := range strings.Lines(string(out)) {
				fmt.Sscanf(strings.TrimSpace(line), "imported %d calls %d ops %d steps in %d ns, %d of CPU, with %d kB", &calls, &ops, &steps, &took, &cpu, &memory)
			}
			rate := float64(info.Size()) / cpu.Seconds()
			t.Logf("%s: %d bytes, %d calls, %d ops, %d steps: %.1f s, %.1f s of CPU time, %.0f MB/s, %d MB of memory",
				c.name, info.Size(), calls, ops, steps, took.Seconds(), cpu.Seconds(), rate/1e6, memory>>10)
			if memory == 0 || memory<<10 > importMemory {
				t.Errorf("%d MB of memory, want at most %d", memory>>10, importMemory>>20)
			}
			if rate < importRate {
				t.Errorf("%.0f MB/s, want at least %d", rate/1e6, importRate>>20)
			}
		})
	}
}

// TestImportOfBigImports is the other process of TestBigImports.
func TestImportOfBigImports(t *testing.T) {
	path := os.Getenv("GPUTAX_BIG_FILE")
	if path == "" {
		t.Skip("waits for TestBigImports")
	}
	kind := kinetoTrace
	if strings.HasSuffix(path, ".sqlite") {
		kind = nsysExport
	}
	start := time.Now()
	var o importFlags
	rec, err := o.read(path, kind)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	cpu := usage.Utime.Nano() + usage.Stime.Nano()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var memory int64
	fmt.Sscan(peak, &memory)
	fmt.Printf("imported %d calls %d ops %d steps in %d ns, %d of CPU, with %d kB\n", rec.Calls.Len(), rec.Ops.Len(), len(rec.Steps), took, cpu, memory)
}

// writeBigExport writes an export of 400 steps by two processes, with as many
// NVTX ranges, calls, kernels and copies for each other as a real one of a
// PyTorch training has.
func writeBigExport(t *testing.T, path string) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	numbers := func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < %d), p(p) AS (VALUES (0), (1)) ", n-1)
	}
	filler := strings.Repeat(", 0", 24) // the columns of a kernel that are not read
	columns := ""
	for i := range 24 {
		columns += fmt.Sprintf(", x%d INTEGER", i)
	}
	const launches = 850_000 // a process
	for _, s := range []string{
		"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "BEGIN",
		"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
		"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void at::native::vectorized_elementwise_kernel<4>(int)'), (3, 'cudaMemcpyAsync_v3020'), (4, 'cudaStreamIsCapturing_v10000'), (5, 'cudaStreamSynchronize_v3020')",
		"CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT)",
		"INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE'), (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE')",
		"CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT)",
		"INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD')",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER)",
		numbers(launches) + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 60111469003 + i * 100000 + p, 60111469003 + i * 100000 + 6000, 0, 281477392629760 + p * 16777216 + 144, i * 4 + 1, 1, 0, NULL FROM k, p",
		numbers(launches/2) + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 60111469003 + i * 200000 + p + 20000, 60111469003 + i * 200000 + 21000, 0, 281477392629760 + p * 16777216 + 144, i * 8 + 2, 4, 0, NULL FROM k, p",
		numbers(launches/4) + "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 60111469003 + i * 400000 + p + 40000, 60111469003 + i * 400000 + 50000, 0, 281477392629760 + p * 16777216 + 144, i * 16 + 3, 3, 0, NULL FROM k, p",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER" + columns + ")",
		numbers(launches) + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 60111475003 + i * 100000 + p, 60111475003 + i * 100000 + 80000, p, 7, i * 4 + 1, 281477392629760 + p * 16777216, 2, 93600, 1, 1, 128, 1, 1, NULL" + filler + " FROM k, p",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER)",
		numbers(launches/4) + "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT 60111469003 + i * 400000 + p + 45000, 60111469003 + i * 400000 + 46000, p, 7, i * 16 + 3, 281477392629760 + p * 16777216, 4096, 1, 0, 2 FROM k, p",
		"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER, category INTEGER, color INTEGER)",
		numbers(400) + "INSERT INTO NVTX_EVENTS SELECT 60111469000 + i * 212500000, 60111469000 + (i + 1) * 212500000, 59, 'step ' || i, 281477392629760 + p * 16777216 + 144, NULL, 0, NULL, NULL FROM k, p",
		numbers(5*launches) + "INSERT INTO NVTX_EVENTS SELECT 60111469001 + i * 20000, 60111469001 + i * 20000 + 18000, 59, 'aten::empty_strided, seq = ' || i || ', op_id = ' || (i + 900000), 281477392629760 + p * 16777216 + 144, NULL, 0, NULL, NULL FROM k, p",
		"COMMIT",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}

// writeBigTrace writes a trace of torch.profiler of 2 GB: operators, calls,
// kernels and the arrows between them, and Python stacks where asked for.
func writeBigTrace(t *testing.T, path string, stacks bool) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprint(w, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\"}],\n  \"traceEvents\": [\n")
	size := 0
	write := func(format string, args ...any) {
		n, _ := fmt.Fprintf(w, format, args...)
		size += n
	}
	id := 0
	for i := 0; size < 2_000_000_000; i++ {
		ts := float64(i) * 25
		if i%2000 == 0 {
			write("  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 398, \"tid\": 398,\n    \"ts\": %.3f, \"dur\": 50000.000,\n    \"args\": {\n      \"External id\": 1,\"Record function id\": 0, \"Ev Idx\": 0\n    }\n  },\n", i/2000, ts)
		}
		frames := 0
		if stacks {
			frames = 8
		}
		for d := range frames {
			write("  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"/usr/lib/python3/dist-packages/torch/nn/modules/module.py(%d): _call_impl\", \"pid\": 398, \"tid\": 398,\n    \"ts\": %.3f, \"dur\": %d.5,\n    \"args\": {\n      \"Python parent id\": %d, \"Python id\": %d, \"Ev Idx\": %d\n    }\n  },\n", 1500+d*(i%7), ts+float64(d)*0.1, 22-d, id, id+1, id)
		}
		for d := range 4 {
			id++
			write("  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::%s\", \"pid\": 398, \"tid\": 398,\n    \"ts\": %.3f, \"dur\": %d.204,\n    \"args\": {\n      \"External id\": %d,\"Record function id\": 0, \"Sequence number\": %d, \"Fwd thread id\": 0, \"Ev Idx\": %d\n    }\n  },\n", []string{"linear", "addmm", "empty", "mm"}[d], ts+float64(d), 18-d, id, id, id)
		}
		write("  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %.3f, \"dur\": 5.408,\n    \"args\": {\n      \"External id\": %d,\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": %d,\n      \"registers per thread\": 80,\n      \"shared memory\": 6528,\n      \"blocks per SM\": 1.333333,\n      \"warps per SM\": 2.666667,\n      \"grid\": [44, 4, 1],\n      \"block\": [64, 1, 1],\n      \"est. achieved occupancy %%\": 4\n    }\n  },\n", ts+12, id, id)
		write("  {\n    \"ph\": \"f\", \"id\": %d, \"pid\": 0, \"tid\": 7, \"ts\": %.3f,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n", id, ts+12)
		write("  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 398, \"tid\": 398,\n    \"ts\": %.3f, \"dur\": 3.571,\n    \"args\": {\n      \"External id\": %d,\"cbid\": 211, \"correlation\": %d\n    }\n  },\n", ts+8, id, id)
		write("  {\n    \"ph\": \"s\", \"id\": %d, \"pid\": 398, \"tid\": 398, \"ts\": %.3f,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n", id, ts+8)
	}
	fmt.Fprint(w, "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": 1\n  }\n  ],\n  \"traceName\": \"big.json\"\n}\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}
