package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gputax/bench"
	"gputax/bench/gate"

	"golang.org/x/perf/benchfmt"
)

// gateModule makes a Git repository with a module of one benchmark that counts
// its calls, one on main, and goes there.
func gateModule(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	gateWrite(t, "go.mod", "module example.com/p\n\ngo 1.22\n")
	gateWrite(t, "bench/p_test.go", gateBenchmark("1"))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.email", "g@example.com"}, {"config", "user.name", "g"},
		{"add", "."}, {"commit", "-q", "-m", "one"}} {
		gateGit(t, args...)
	}
}

func gateGit(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func gateWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func gateBenchmark(calls string) string {
	return `package p

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	fmt.Println("Unit calls/op better=lower assume=exact")
	os.Exit(m.Run())
}

func BenchmarkWork(b *testing.B) {
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(` + calls + `, "calls/op")
}
`
}

func TestGate(t *testing.T) {
	gateModule(t)
	gate := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = run(t.Context(), &out, &errs, append([]string{"gate"}, args...))
		return code, out.String(), errs.String()
	}
	contains := func(what, text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in %s:\n%s", w, what, text)
			}
		}
	}
	code, stdout, stderr := gate("-base", "main")
	if code != exitOK {
		t.Fatalf("nothing changed: exit code %d\n%s%s", code, stdout, stderr)
	}
	contains("what is printed", stdout, "old: main (", "new: the working tree", "PASS: 1 same")

	gateWrite(t, "bench/p_test.go", gateBenchmark("7")) // and not committed
	summary := filepath.Join(t.TempDir(), "summary.md")
	gateWrite(t, summary, "before\n")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	code, stdout, _ = gate("-base", "main", "-o", "out", "-format", "json")
	if code != exitRegression {
		t.Errorf("7 calls for 1: exit code %d\n%s", code, stdout)
	}
	var parsed struct{ Verdict string }
	if err := json.Unmarshal([]byte(stdout), &parsed); err != nil || parsed.Verdict != "regression" {
		t.Errorf("JSON: %v, %+v", err, parsed)
	}
	for path, want := range map[string][]string{
		"out/comment.md": {"**FAIL: 1 worse", "| **worse** | Work", "| calls/op | 1 | 7 | +600.00% |"},
		"out/old.txt":    {"Unit calls/op assume=exact", "BenchmarkWork", "1 calls/op"},
		"out/new.txt":    {"7 calls/op"},
		summary:          {"before\n", "| **worse** | Work"},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		contains(path, string(text), want...)
	}

	gateWrite(t, "accept.txt", "Work calls/op 7 does more on purpose\n")
	if code, stdout, _ = gate("-base", "main", "-accept", "accept.txt"); code != exitOK {
		t.Errorf("accepted: exit code %d\n%s", code, stdout)
	}
	contains("what is printed", stdout, "does more on purpose")

	gateWrite(t, "bench/p_test.go", "package p\n\nfunc broken {\n")
	gateGit(t, "commit", "-q", "-am", "broken")
	gateWrite(t, "bench/p_test.go", gateBenchmark("1"))
	for _, c := range []struct {
		want string
		args []string
	}{
		{"base: build the benchmarks of example.com/p/bench: exit status 1: bench/p_test.go:3:13: ", []string{"-base", "main"}},
		{`no commit is called "mian"; did you mean main?`, []string{"-base", "mian"}},
		{"-base says which commit", nil},
		{"no package with tests matches ./other", []string{"-base", "main~1", "-pkg", "./other"}},
		{`-format "jsn"; did you mean json?`, []string{"-base", "main~1", "-format", "jsn"}},
		{"-undecided: want fail or pass", []string{"-base", "main~1", "-undecided", "maybe"}},
		{`no benchmarks that match "Nothing"`, []string{"-base", "main~1", "-bench", "Nothing"}},
		{"want numbers that grow", []string{"-base", "main~1", "-pairs", "20,10"}},
	} {
		code, _, stderr := gate(c.args...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if code != exitError || !strings.Contains(lines[len(lines)-1], c.want) {
			t.Errorf("gate %v: exit code %d, %q; want %q", c.args, code, stderr, c.want)
		}
	}
	gateClean(t)
}

// cancelling is standard error that interrupts the command when it says what.
type cancelling struct {
	bytes.Buffer
	what   string
	cancel func()
}

func (c *cancelling) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.what) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

func TestGateInterrupted(t *testing.T) {
	gateModule(t)
	for _, what := range []string{"build the benchmarks of head", "one op of every benchmark"} {
		ctx, cancel := context.WithCancel(t.Context())
		stderr := &cancelling{what: what, cancel: cancel}
		if code := run(ctx, new(bytes.Buffer), stderr, []string{"gate", "-base", "main"}); code != exitError {
			t.Errorf("interrupted at %q: exit code %d, %s", what, code, stderr)
		}
		gateClean(t)
	}
}

// gateClean fails if a worktree or a temporary file is left.
func gateClean(t *testing.T) {
	t.Helper()
	if trees := gateGit(t, "worktree", "list"); strings.Count(trees, "\n") != 1 {
		t.Errorf("worktrees are left:\n%s", trees)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v %v", left, err)
	}
}

// The cause of what the gate's tests call slower is looked for, also where the
// sides' samples overlap.
func TestGateCauses(t *testing.T) {
	samples := func(ns ...float64) (s gate.Samples) {
		for _, v := range ns {
			s.Results = append(s.Results, &benchfmt.Result{Name: benchfmt.Name("A/device=host-2"), Iters: 1,
				Values: []benchfmt.Value{{Value: v * 1e-9, Unit: "sec/op"}}})
		}
		return s
	}
	r := &gate.Report{Old: samples(100, 110, 120), New: samples(108, 118, 128),
		Comparison: &bench.Comparison{Rows: []bench.Row{{Benchmark: "A/device=host-2", Unit: "sec/op", Verdict: bench.RowWorse}}}}
	if err := explainFailures(r); err != nil {
		t.Fatal(err)
	}
	if len(r.Causes) != 1 || r.Causes[0].Noise || strings.Contains(r.Causes[0].Verdict, "noise") {
		t.Errorf("causes %+v", r.Causes)
	}
}
