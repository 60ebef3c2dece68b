package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gputax/bench"

	"github.com/google/pprof/profile"
)

// writeResults writes a file of one result a line.
func writeResults(t *testing.T, path string, lines ...string) string {
	t.Helper()
	text := ""
	for _, l := range lines {
		text += "Benchmark" + l + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// golden is the simulated results of a variant's two steps, from the file that
// package bench holds to the last digit, under one name for all variants.
func goldenEpoch(t *testing.T, variant, dev string) string {
	t.Helper()
	data, err := os.ReadFile("../../bench/testdata/sim.golden")
	if err != nil {
		t.Fatal(err)
	}
	prefix := fmt.Sprintf("Epoch/variant=%s/device=%s/", variant, dev)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, prefix) {
			_, metrics, _ := strings.Cut(strings.TrimSpace(line), " ")
			return "Epoch/device=" + dev + " 1 " + metrics
		}
	}
	t.Fatalf("no %s", prefix)
	return ""
}

// Events of the story's variants, priced by the devices' own profiles, explain
// the simulated difference to within a tenth where the host does one thing
// after the other, and name the event that everyone can see there.
func TestWhyEventsOfVariants(t *testing.T) {
	for _, c := range []struct {
		to, dev, culprit string
		least, most      float64
	}{
		{"gpu_per_route", "sim:a6000-pytorch", "kernel launches", 0.95, 1.05},
		{"gpu_per_route", "sim:h200", "kernel launches", 0.95, 1.05},
		{"gpu_per_route_item", "sim:a6000-pytorch", "kernel launches", 0.95, 1.05},
		{"gpu_per_route_item", "sim:h200", "kernel launches", 0.9, 1.05},
		{"gpu_per_route_dup", "sim:h200", "kernel launches", 0.95, 1.05},
		{"gpu_padded", "sim:a6000-pytorch", "uploads, pageable", 0.95, 1.05},
		{"gpu_padded", "sim:h200", "uploads, pageable", 0.95, 1.05},
		{"transfer_all", "sim:a6000-pytorch", "uploads, pageable", 0.95, 1.05},
		{"embed_per_token", "sim:a6000-pytorch", "uploads, pageable", 0.95, 1.05},
		{"embed_hoisted", "sim:a6000-pytorch", "kernel launches", 0.95, 1.05},
		// No counter tells of a loop on the host, nor of a device that is behind.
		{"collate_append", "sim:a6000-pytorch", "", 0, 0},
		{"graph", "sim:h200", "", 1.3, 10},
		{"tf32", "sim:h200", "", 0, 0},
		// Allocations, copies and launches, none of them half.
		{"embed_per_token", "sim:h200", "", 0.7, 1},
	} {
		dir := t.TempDir()
		old := writeResults(t, filepath.Join(dir, "old.txt"), goldenEpoch(t, "cpu_loop", c.dev))
		new := writeResults(t, filepath.Join(dir, "new.txt"), goldenEpoch(t, c.to, c.dev))
		code, stdout, stderr := gputax("why", "-format", "json", "-min", "0", old, new)
		var out struct{ Events []bench.Explanation }
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != exitOK || len(out.Events) != 1 {
			t.Fatalf("%s: %d, %v: %s", c.to, code, err, stderr)
		}
		x := out.Events[0]
		if x.Culprit != c.culprit || x.Explained < c.least || x.Explained > c.most || x.PricedBy != strings.TrimPrefix(c.dev, "sim:") {
			t.Errorf("%s on %s: %q, %.3f explained by %s: %s", c.to, c.dev, x.Culprit, x.Explained, x.PricedBy, x.Verdict)
		}
	}
}

func TestWhyFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := "Epoch/device=cuda:0-16 1 ", "Step/device=host 1 "
	old := writeResults(t, filepath.Join(dir, "old", "bench.txt"), a+"1000000 ns/op 10 launches/op", b+"100 ns/op", "Gone 1 5 ns/op", "Count 1 3 launches/op")
	new := writeResults(t, filepath.Join(dir, "new", "bench.txt"), a+"1400000 ns/op 110 launches/op", b+"300 ns/op", "Count 1 4 launches/op")
	code, stdout, stderr := gputax("why", old, new)
	for _, want := range []string{"priced as an h200", "Step/device=host", "no prices for what was counted", "kernel launches  +100"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if code != exitOK || strings.Index(stdout, "Step") > strings.Index(stdout, "Epoch") || !strings.Contains(stderr, "Gone is only in") {
		t.Errorf("%d: %s\n%s", code, stderr, stdout)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{filepath.Dir(old), filepath.Dir(new), "-top", "1"}, "1 more changed"},
		{[]string{old, new, "-min", "300"}, "No time of the 3 benchmarks that both sides have changed by 300% or more"},
		{[]string{old, new, "-run", "Epoch", "-profile", "a6000-pytorch"}, "prices of a6000-pytorch"},
		{[]string{old, new, "-run", "Epoch", "-format", "markdown"}, "| kernel launches | +100 |"},
		{[]string{old, new, "-format", "json", "-min", "300"}, `"events": []`},
	} {
		code, stdout, stderr := gputax(append([]string{"why"}, c.args...)...)
		if code != exitOK || !strings.Contains(stdout, c.want) {
			t.Errorf("%v: %d: %s\n%s", c.args, code, stderr, stdout)
		}
	}
}

// CPU profiles that lie beside the results are used, for one benchmark.
func TestWhyHostFunctions(t *testing.T) {
	dir := t.TempDir()
	old := writeResults(t, filepath.Join(dir, "old", "bench.txt"), "Step/device=host 10 100 ns/op")
	new := writeResults(t, filepath.Join(dir, "new", "bench.txt"), "Step/device=host 10 300 ns/op")
	for path, ns := range map[string]int64{"old/cpu.pb.gz": 100, "new/cpu.pb.gz": 900} {
		f := &profile.Function{ID: 1, Name: "main.collate"}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
		p := &profile.Profile{DurationNanos: 1000, SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
			Function: []*profile.Function{f}, Location: []*profile.Location{l}, Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{ns}}}}
		file, err := os.Create(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(file); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := gputax("why", old, new)
	if code != exitOK || !strings.Contains(stdout, "The culprit is main.collate: 130% of the difference") {
		t.Errorf("%d: %s\n%s", code, stderr, stdout)
	}
	writeResults(t, old, "Step 10 100 ns/op", "Other 10 100 ns/op")
	writeResults(t, new, "Step 10 100 ns/op", "Other 10 300 ns/op")
	if code, _, stderr := gputax("why", "-cpu-old", filepath.Join(dir, "old/cpu.pb.gz"), "-cpu-new", new, old, new); code != exitError || !strings.Contains(stderr, "choose it with -run") {
		t.Errorf("%d: %s", code, stderr)
	}
	if code, stdout, stderr := gputax("why", old, new); code != exitOK || strings.Contains(stdout, "collate") {
		t.Errorf("profiles that happen to lie there, with two benchmarks: %d: %s\n%s", code, stderr, stdout)
	}
}

func TestWhyVariants(t *testing.T) {
	code, stdout, stderr := gputax("why", "cpu_loop", "transfer_all", "-device", "sim:a6000-pytorch", "-format", "json", "-instances", "16", "-seed", "4")
	var out struct{ Ablation bench.Attribution }
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != exitOK {
		t.Fatalf("%d, %v: %s", code, err, stderr)
	}
	a := out.Ablation
	if s, ok := a.Culprit(); !ok || s.Name != "dist" || s.NS != a.Delta || s.To != "one_by_one" || a.From != "cpu_loop" || a.To != "transfer_all" ||
		a.Op != "an epoch of 128 instances on sim:a6000-pytorch" || a.Seed != 4 {
		t.Errorf("%+v", a)
	}
}

func TestWhyRefuses(t *testing.T) {
	dir := t.TempDir()
	file := writeResults(t, filepath.Join(dir, "bench.txt"), "Step 1 5 ns/op")
	other := writeResults(t, filepath.Join(dir, "other.txt"), "Other 1 5 ns/op")
	strange := writeResults(t, filepath.Join(dir, "strange.txt"), "Step/device=sim:mine 1 5 sim-ns/op")
	empty := writeResults(t, filepath.Join(dir, "empty.txt"))
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "want FROM and TO"},
		{"cpu_loop", "want FROM and TO, got 1"},
		{"cpu_lop gpu_padded", "did you mean cpu_loop?"},
		{"cpu_loop cpu_loop+collate=prealloc", "no difference to explain"},
		{"cpu_loop cpu_loop+cots=loop", "no factor"},
		{"cpu_loop gorgonia", "built without the library"},
		{"cpu_loop cpu_loop+batch=127", "small common multiple"},
		{"cpu_loop gpu_padded -device sim:h20", "did you mean sim:h200?"},
		{"cpu_loop gpu_padded -format yaml", "want text, markdown or json"},
		{"cpu_loop gpu_padded -rounds 0", "want at least 1"},
		{"cpu_loop gpu_padded -instances 0", "want at least 1"},
		{"cpu_loop gpu_padded -top 0", "want at least 1"},
		{"cpu_loop " + file, "give two files or two variants"},
		{file + " cpu_loop", "give two files or two variants"},
		{file + " " + other, "no benchmark that matches"},
		{file + " " + empty, "no benchmark results"},
		{file + " " + file + " -run (", "-run"},
		{file + " " + file + " -cpu-old x", "go together"},
		{file + " " + file + " -cpu-old x -cpu-new y", "no such file"},
		{file + " " + file + " -cpu-old " + file + " -cpu-new " + file, "bench.txt"},
		{file + " " + file + " -profile h20", "no device profile"},
		{strange + " " + strange, `no device profile "mine"`},
		{"-base main cpu_loop", "stands for FROM and TO"},
	} {
		code, stdout, stderr := gputax(append([]string{"why"}, strings.Fields(c.args)...)...)
		if code != exitError || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("why %s: %d, %q, want %q\n%s", c.args, code, stderr, c.want, stdout)
		}
	}
}

// Two commits of a module of its own, whose benchmark launches more.
func TestWhyCommits(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two test binaries")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(ns, launches int) {
		write("step_test.go", fmt.Sprintf(`package step

import "testing"

func BenchmarkStep(b *testing.B) {
	b.Run("device=sim:a6000-pytorch", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(%d, "sim-ns/op")
		b.ReportMetric(%d, "launches/op")
	})
}
`, ns, launches))
		for _, args := range [][]string{{"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "step"}} {
			if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
		}
	}
	if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	write("go.mod", "module step\n\ngo 1.26\n")
	commit(1000000, 100)
	commit(5000000, 200)
	code, stdout, stderr := gputax("why", "-base", "HEAD~1", "-pkg", ".", "-time", "1ms")
	if code != exitOK || !strings.Contains(stdout, "The culprit is kernel launches: 98% of the difference") {
		t.Errorf("%d: %s\n%s", code, stderr, stdout)
	}
	for args, want := range map[string]string{
		"-base HEAD~9":                 `no commit is called "HEAD~9"`,
		"-base HEAD -pkg . -bench Nix": `-bench "Nix" chose them`,
	} {
		if code, _, stderr := gputax(append([]string{"why"}, strings.Fields(args)...)...); code != exitError || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d: %s", args, code, stderr)
		}
	}
	if out, err := exec.Command("git", "worktree", "list").CombinedOutput(); err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("worktrees are left behind: %s (%v)", out, err)
	}
}

// Bars are in ASCII where the locale has no UTF-8.
func TestLocale(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "en_US.utf8"}, true},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "C"}, false},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, true},
	} {
		if got := utf8Locale(func(key string) string { return c.env[key] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}
