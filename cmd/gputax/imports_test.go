package main

import (
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTrace writes a trace of torch.profiler: steps that each copy so many
// tensors up one by one and wait, and run two kernels.
func writeTrace(t *testing.T, name string, copies ...int) string {
	t.Helper()
	var events []string
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	corr := 0
	call := func(name string, us int) {
		corr++
		add(`{"ph":"X","cat":"cuda_runtime","name":%q,"pid":7,"tid":7,"ts":%d,"dur":2,"args":{"External id":0,"correlation":%d}}`, name, us, corr)
	}
	at := 0
	for step, n := range copies {
		add(`{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":7,"tid":7,"ts":%d,"dur":%d}`, step, at, 100+20*n)
		add(`{"ph":"X","cat":"user_annotation","name":"upload","pid":7,"tid":7,"ts":%d,"dur":%d}`, at+40, 20*n+5)
		for i := range 2 {
			call("cudaLaunchKernel", at+5+10*i)
			add(`{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"device":0,"stream":7,"correlation":%d,"grid":[4,1,1],"block":[64,1,1]}}`, at+10+10*i, corr)
		}
		for i := range n {
			call("cudaMemcpyAsync", at+45+20*i)
			add(`{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"device":0,"stream":7,"correlation":%d,"bytes":484}}`, at+47+20*i, corr)
			call("cudaStreamSynchronize", at+50+20*i)
		}
		at += 110 + 20*n
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := fmt.Sprintf(`{"deviceProperties":[{"name":"NVIDIA H200"}],"traceEvents":[%s]}`, strings.Join(events, ",\n"))
	if strings.HasSuffix(name, ".gz") {
		z := gzip.NewWriter(f)
		z.Write([]byte(text))
		z.Close()
		return path
	}
	f.WriteString(text)
	return path
}

// writeExport writes an export of Nsight Systems with so many kernels.
func writeExport(t *testing.T, kernels int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []string{
		"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
		"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm')",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER)",
		"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, globalTid INTEGER)",
		fmt.Sprintf("WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < %d) INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 100, i * 100 + 5, 16777217, i, 1 FROM k", kernels),
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + 10, end + 20, correlationId % 2, 7, correlationId, 16777216, 2 FROM CUPTI_ACTIVITY_KIND_RUNTIME",
		"INSERT INTO NVTX_EVENTS VALUES (0, 100000, 'iteration', 16777217)",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

func TestCompareTraces(t *testing.T) {
	before, after := writeTrace(t, "before.json", 3, 1, 1, 1), writeTrace(t, "after.json.gz", 130, 128, 128, 128)
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stdout []string
		stderr string
	}{
		{"worse", []string{"-skip", "1", before, after}, exitRegression, []string{"h2d-copies/op", "pageable-copies/op", "syncs/op", "WORSE", "FAIL: 4 worse, 8 same"}, ""},
		{"better", []string{"-skip", "1", after, before}, exitOK, []string{"PASS: 4 better, 8 same"}, ""},
		{"equal", []string{"-skip", "1", after, after}, exitOK, []string{"PASS: 12 same"}, ""},
		{"times are too few to judge", []string{"-skip", "1", "-times", after, after}, exitError, []string{"TOO FEW"}, "UNDECIDED"},
		{"steps that differ", []string{before, after}, exitError, nil, "h2d-copies/op differs from step to step, 1 to 3: it is compared as a time is, by statistics; -skip"},
		{"too many to skip", []string{"-skip", "4", before, after}, exitError, nil, "-skip 4: there are 4 steps"},
		{"fewer than none", []string{"-skip", "-1", before, after}, exitError, nil, "-skip -1: want 0 or more"},
		{"no such steps", []string{"-step", "nothing", before, before}, exitOK, []string{"PASS: 12 same"}, `the whole counts as one step: no range is named like`},
	} {
		code, stdout, stderr := gputax(append([]string{"compare"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
			t.Errorf("%s: exit %d, %s", c.name, code, stderr)
		}
		for _, w := range c.stdout {
			if !strings.Contains(stdout, w) {
				t.Errorf("%s: no %q in\n%s", c.name, w, stdout)
			}
		}
	}
}

func TestWhyTraces(t *testing.T) {
	before, after := writeTrace(t, "before.json.gz", 1, 1, 1), writeTrace(t, "after.json", 128, 128, 128)
	code, stdout, stderr := gputax("why", before, after)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	// 120 us and 2,660 us; an upload and a wait take 20 us together.
	for _, want := range []string{"120 us -> 2.66 ms", "at the prices of the traces", "uploads, pageable", "together", "100%", "upload"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if code, stdout, _ := gputax("why", "-profile", "h200", before, after); code != exitOK || !strings.Contains(stdout, "at the prices of h200") {
		t.Errorf("with a profile: exit %d, %s", code, stdout)
	}
}

func TestCompareExports(t *testing.T) {
	code, stdout, stderr := gputax("compare", writeExport(t, 10), writeExport(t, 12))
	if code != exitRegression || !strings.Contains(stdout, "launches/op") || !strings.Contains(stdout, "+20.00%") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "there are iteration (1)") {
		t.Errorf("no word of steps: %s", stderr)
	}
	if code, stdout, _ := gputax("compare", "-step", "iter", writeExport(t, 10), writeExport(t, 10)); code != exitOK || !strings.Contains(stdout, "PASS: 12 same") {
		t.Errorf("exit %d, %s", code, stdout)
	}
}

func TestProfileImports(t *testing.T) {
	for _, c := range []struct {
		name        string
		args        []string
		stdout      []string
		bench       string // in bench.txt
		notInBench  string
		index, find string // in index.md and findings.md
	}{
		{"kineto", []string{"-kineto", writeTrace(t, "t.json.gz", 64, 64, 64)}, []string{"t.json.gz: 3 steps", "tiny copies"},
			"BenchmarkStep/source=torch.profiler 1 2 launches/op", " ns/op", "| device | NVIDIA H200 |", "the recorded times"},
		{"kineto with times", []string{"-times", "-skip", "2", "-kineto", writeTrace(t, "t.json", 64, 64, 64)}, []string{"t.json: 3 steps"},
			"BenchmarkStep/source=torch.profiler 1 1380000 ns/op", "BenchmarkStep/source=torch.profiler 1 1380000 ns/op\nBenchmarkStep", "| h2d-copies | 192 | 64 |", "tiny_copies"},
		{"nsys", []string{"-nsys", writeExport(t, 8)}, []string{"report.sqlite", "warning: the whole counts as one step"},
			"BenchmarkRun/source=nsys_export 1 8 launches/op", " ns/op", "| gpu 1 | 4 kernels, 0 copies of 0 bytes, 60 ns of work |", "the recorded times"},
	} {
		dir := filepath.Join(t.TempDir(), "p")
		code, stdout, stderr := gputax(append([]string{"profile", "-o", dir}, c.args...)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit %d, %s", c.name, code, stderr)
			continue
		}
		for _, want := range c.stdout {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, stdout)
			}
		}
		for file, want := range map[string]string{"bench.txt": c.bench, "index.md": c.index, "findings.md": c.find} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in %s: %v\n%s", c.name, want, file, err, text)
			}
			if file == "bench.txt" && strings.Contains(string(text), c.notInBench) {
				t.Errorf("%s: %q in\n%s", c.name, c.notInBench, text)
			}
		}
		for _, file := range []string{"gpu.pb.gz", "trace.json", "findings.json"} {
			if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %s: %v", c.name, file, err)
			}
		}
	}
}

func TestImportErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := writeTrace(t, "good.json", 1)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"compare", good, file("cut.json", `{"traceEvents":[{"ph":"X"`)}, "ends too early"},
		{[]string{"compare", file("other.json", `{"a":1}`), good}, "not a trace of torch.profiler"},
		{[]string{"compare", good, file("cut.sqlite", "SQLite format 3\x00")}, "nsys export --type sqlite"},
		{[]string{"why", good, file("empty.json", `{"traceEvents":[]}`)}, "none of the events is of torch.profiler"},
		{[]string{"profile", "-kineto", file("text", "hello")}, "no JSON of a trace"},
		{[]string{"profile", "-nsys", good}, "nsys export --type sqlite"},
		{[]string{"profile", "-nsys", good, "-kineto", good}, "want one VARIANT"},
		{[]string{"profile", "fastest", "-times"}, "-times are for -nsys and -kineto"},
		{[]string{"profile", "-kineto", good, "-step", "("}, "step name"},
	} {
		code, _, stderr := gputax(c.args...)
		if code != exitError || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %s", c.args, code, stderr)
		}
	}
}

// findingsOf is the rules that fire on a trace.
func findingsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	if code, _, stderr := gputax("profile", "-kineto", path, "-o", dir); code != exitOK {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "findings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Findings []struct{ Rule string } }
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, f := range report.Findings {
		rules[f.Rule] = true
	}
	return rules
}

func TestFindingsOfTraces(t *testing.T) {
	many, few := findingsOf(t, writeTrace(t, "many.json", 64, 64, 64)), findingsOf(t, writeTrace(t, "few.json", 1, 1, 1))
	for _, rule := range []string{"tiny_copies", "pageable_copies"} {
		if !many[rule] || few[rule] {
			t.Errorf("%s: of many copies %v, of one a step %v", rule, many[rule], few[rule])
		}
	}
}

// The write-ups' patterns, from real traces that are not in the repository.
func TestFindingsOfRealTraces(t *testing.T) {
	dir := os.Getenv("GPUTAX_KINETO_FILES")
	if dir == "" {
		t.Skip("waits for GPUTAX_KINETO_FILES=DIR, a folder of torch.profiler traces (*.json.gz)")
	}
	for _, c := range []struct {
		file      string
		has, lack []string
	}{
		{"fixed", nil, []string{"tiny_copies", "round_trip", "pageable_copies", "sync_per_item", "launch_bound"}},
		{"transfer_all", []string{"tiny_copies", "round_trip", "pageable_copies"}, []string{"sync_per_item", "launch_bound"}},
		{"per_route_item", []string{"sync_per_item", "launch_bound"}, []string{"round_trip"}},
		{"step_eager", []string{"launch_bound"}, []string{"tiny_copies", "round_trip", "pageable_copies", "sync_per_item"}},
	} {
		rules := findingsOf(t, filepath.Join(dir, c.file+".json.gz"))
		t.Logf("%-15s %s", c.file, strings.Join(slices.Sorted(maps.Keys(rules)), " "))
		for _, r := range c.has {
			if !rules[r] {
				t.Errorf("%s: no %s", c.file, r)
			}
		}
		for _, r := range c.lack {
			if rules[r] {
				t.Errorf("%s: %s", c.file, r)
			}
		}
	}
}
