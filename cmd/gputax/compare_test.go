package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// compareDir is a directory of result files to compare.
func compareDir(t *testing.T) (path func(string) string) {
	t.Helper()
	dir := t.TempDir()
	const head = "Unit launches/op better=lower assume=exact\npkg: p\n"
	steady := func(ns float64) (s string) {
		for i := range 10 {
			s += fmt.Sprintf("BenchmarkA 10 %v ns/op 804 launches/op\n", ns*(1+0.002*float64(i)))
		}
		return s
	}
	for name, text := range map[string]string{
		"old.txt":        head + steady(100),
		"same.txt":       head + steady(100.1),
		"slow.txt":       head + steady(110),
		"count.txt":      head + strings.ReplaceAll(steady(100), "804", "9397"),
		"few.txt":        head + "BenchmarkA 10 100 ns/op 804 launches/op\n",
		"gone.txt":       head + "BenchmarkB 10 100 ns/op 804 launches/op\n",
		"cut.txt":        head + steady(100)[:len(steady(100))-3],
		"bad.txt":        head + steady(100) + "BenchmarkA 10 oops\n",
		"empty.txt":      "",
		"accept.txt":     "A ns/op 111 reads more\n",
		"bad-accept.txt": "A ns/op\n",
		"run/bench.txt":  head + steady(100),
		"part-1.txt":     head + strings.Join(strings.SplitAfter(steady(100), "\n")[:5], ""),
		"part-2.txt":     head + strings.Join(strings.SplitAfter(steady(100), "\n")[5:], ""),
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

func TestCompareExitCodes(t *testing.T) {
	at := compareDir(t)
	for _, c := range []struct {
		args string
		code int
		want string // on standard output, or on standard error with code 2
	}{
		{"old.txt same.txt", exitOK, "PASS: 2 same"},
		{"old.txt slow.txt", exitRegression, "WORSE"},
		{"slow.txt old.txt", exitOK, "better"},
		{"old.txt count.txt", exitRegression, "804  9397"},
		{"-unit ns/op old.txt count.txt", exitOK, "PASS: 1 same"},
		{"-filter .unit:ns/op old.txt count.txt", exitOK, "PASS: 1 same"},
		{"old.txt count.txt -unit launches/op -filter .name:A", exitRegression, "FAIL: 1 worse"},
		{"-min-effect 20% old.txt slow.txt", exitOK, "PASS"},
		{"-min-effect ns/op=0.2 old.txt slow.txt", exitOK, "PASS"},
		{"-min-effect 20% -min-effect sec/op=2% old.txt slow.txt", exitRegression, "WORSE"},
		{"-paired old.txt slow.txt", exitRegression, "signed ranks"},
		{"-accept accept.txt old.txt slow.txt", exitOK, "accepted: A sec/op 100.9n -> 111.0n: reads more"},
		{"old.txt gone.txt", exitRegression, "missing: A"},
		{"-allow-missing old.txt,gone.txt old.txt", exitOK, "may be missing"},
		{"run old.txt", exitOK, "PASS"},
		{"part-?.txt old.txt", exitOK, "PASS"},
		{"old.txt part-1.txt", exitOK, "warning: 1 row has more samples on one side, such as 10 and 5 of A in sec/op: was a run cut short?"},
		{"part-1.txt,part-2.txt same.txt", exitOK, "PASS"},
		{"-old part-1.txt -old part-2.txt -new same.txt", exitOK, "PASS"},

		{"old.txt few.txt", exitError, "take at least"},
		{"-allow-missing old.txt gone.txt", exitError, "UNDECIDED: 1 accepted, 1 new"},
		{"old.txt", exitError, "want OLD and NEW"},
		{"old.txt same.txt slow.txt", exitError, "want OLD and NEW"},
		{"old.txt none.txt", exitError, "none.txt: no such file"},
		{"none-*.txt old.txt", exitError, "no file matches"},
		{"old.txt empty.txt", exitError, "empty.txt: no benchmark results"},
		{"old.txt bad.txt", exitError, "bad.txt:13: parsing measurement"},
		{"old.txt cut.txt", exitError, "the last line does not end"},
		{"old.txt,old.txt same.txt", exitError, "given twice"},
		{"-paired old.txt few.txt", exitError, "cannot be paired"},
		{"-format xml old.txt same.txt", exitError, `-format "xml"`},
		{"-alpha 2 old.txt same.txt", exitError, "-alpha 2"},
		{"-alpha 0 old.txt same.txt", exitError, "-alpha 0"},
		{"-min-effect 2 old.txt same.txt", exitError, "such as 2%"},
		{"-unit ns/op,nsop old.txt same.txt", exitError, "-unit nsop: neither side has it"},
		{"-unit x old.txt same.txt", exitError, "-unit x: neither side has it"},
		{"-filter .name:B old.txt same.txt", exitError, "old.txt, the old side, passes the filter"},
		{"-filter .name: old.txt same.txt", exitError, "-filter .name:"},
		{"-accept none.txt old.txt same.txt", exitError, "none.txt: no such file"},
		{"-accept bad-accept.txt old.txt same.txt", exitError, "bad-accept.txt:1: want BENCHMARK"},
	} {
		args := []string{"compare"}
		for _, a := range strings.Fields(c.args) {
			var parts []string
			for _, p := range strings.Split(a, ",") {
				if strings.HasSuffix(p, ".txt") || p == "run" {
					p = at(p)
				}
				parts = append(parts, p)
			}
			args = append(args, strings.Join(parts, ","))
		}
		code, stdout, stderr := gputax(args...)
		said := stdout
		if c.code == exitError {
			said = stderr
		}
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
		if lines := strings.Count(stderr, "\n"); c.code == exitError && lines != 1 || c.code != exitError && lines != 0 {
			t.Errorf("%s: on standard error: %q", c.args, stderr)
		}
	}
}

func TestCompareFormatFlag(t *testing.T) {
	at := compareDir(t)
	for format, want := range map[string]string{"markdown": "**FAIL: 1 worse", "csv": "pkg,benchmark,unit", "text": "FAIL: 1 worse", "json": `"verdict": "regression"`} {
		code, stdout, _ := gputax("compare", at("old.txt"), at("slow.txt"), "-format", format)
		if code != exitRegression || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d\n%s", format, code, stdout)
		}
		if format == "json" && !json.Valid([]byte(stdout)) {
			t.Errorf("not JSON: %s", stdout)
		}
	}
}

// Two files of 10,000 result lines each take less than 200 MB.
func TestCompareMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the peak of memory as Linux counts it")
	}
	var b strings.Builder
	b.WriteString("Unit launches/op better=lower assume=exact\npkg: p\n")
	for i := range 10000 {
		fmt.Fprintf(&b, "BenchmarkEpoch/variant=v%d/device=cuda:0/batch=128/n=10-16 \t10\t%d ns/op\t%d B/op\t%d launches/op\n", i/10, 1000+i%97, 100+i%5, i/10)
	}
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "compare", "-alpha", "0.05", path, path)
	cmd.Env = append(os.Environ(), "GPUTAX_TEST_COMMAND=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.200s", err, out)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d MB at most, %v of CPU", usage.Maxrss>>10, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if usage.Maxrss>>10 > 200 {
		t.Errorf("%d MB at most", usage.Maxrss>>10)
	}
}
