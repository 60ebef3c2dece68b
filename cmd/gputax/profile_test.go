package main

import (
	"archive/zip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gputax/profiles"
	"gputax/profiles/findings"
)

func TestProfile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	args := []string{"profile", "gpu_padded", "-set", "batch=16", "-device", "sim:h200", "-steps", "2", "-overhead", "1", "-o", dir}
	code, stdout, stderr := gputax(args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, want := range []string{"gpu_padded+batch=16 on sim:h200: 2 steps", "simulated", "in cost", "index.md", "go tool pprof"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"bench.txt", "cpu.pb.gz", "findings.json", "findings.md", "gpu.pb.gz", "heap.pb.gz", "index.md", "trace.json"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| command | " + strings.Join(append([]string{"gputax"}, args...), " "), "| factors | batch=16 cost=padded |",
		"| device | sim:h200 |", "| go | go1.", "| workload | batch 16, 10 customers, 2 steps |", "[findings.md](findings.md)", "## What recording costs", "| calls and ops |"} {
		if !strings.Contains(string(index), want) {
			t.Errorf("no %q in\n%s", want, index)
		}
	}
	if strings.Contains(string(index), "## Warnings") || strings.Contains(string(index), "does not tell") {
		t.Errorf("on a simulated device all is seen:\n%s", index)
	}
	steps := 0
	for _, r := range results(t, filepath.Join(dir, "bench.txt")) {
		if strings.HasPrefix(r.Name.String(), "Step/source=sim:h200/variant=gpu_padded+batch=16/batch=16/n=10") {
			steps++
			if v, _ := r.Value("h2d-copies/op"); v != 36 { // 2 rollouts x 16 routes, their lengths, distances, inputs
				t.Errorf("%v uploads a step", v)
			}
			if _, ok := r.Value("sim-sec/op"); !ok {
				t.Errorf("no simulated time in %v", r.Values)
			}
		}
	}
	if steps != 2 {
		t.Errorf("%d steps in bench.txt", steps)
	}
	code, stdout, _ = gputax(args...)
	if code != exitOK || !strings.Contains(stdout, "The earlier profile is now "+dir+".1.") {
		t.Errorf("again: exit %d, %s", code, stdout)
	}
}

// On a real device bench.txt has no times: they would be of a recorded run.
func TestProfileOnHost(t *testing.T) {
	at := filepath.Join(t.TempDir(), "p")
	code, stdout, stderr := gputax("profile", "graph", "-set", "batch=4", "-device", "host", "-steps", "2", "-overhead", "0", "-zip", "-o", at)
	if code != exitOK || !strings.Contains(stdout, at+".zip") {
		t.Fatalf("exit %d, %s%s", code, stdout, stderr)
	}
	z, err := zip.OpenReader(at + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	read := func(name string) string {
		f, err := z.Open("p/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var b strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := f.Read(buf)
			b.Write(buf[:n])
			if err != nil {
				return b.String()
			}
		}
	}
	if text := read("bench.txt"); strings.Contains(text, "ns/op") || !strings.Contains(text, "1 graph-launches/op") {
		t.Errorf("bench.txt:\n%s", text)
	}
	if text := read("index.md"); !strings.Contains(text, "recorded, which takes time") || !strings.Contains(text, "contents of buffers: ") || strings.Contains(text, "recording costs") {
		t.Errorf("index.md:\n%s", text)
	}
}

// What is inferred is called likely in the summary too.
func TestPrintSummaryLikely(t *testing.T) {
	var out strings.Builder
	printSummary(&out, &profiles.Folder{Recording: &profiles.Recording{End: 100}}, &findings.Report{Findings: []findings.Finding{
		{Title: "proven", Share: 0.5}, {Title: "inferred", Share: 0.4, Likely: true}}})
	if text := out.String(); !strings.Contains(text, "50.0%  proven\n") || !strings.Contains(text, "40.0%  likely: inferred\n") {
		t.Errorf("printed\n%s", text)
	}
}

func TestProfileErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("notes"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "no VARIANT"},
		{"gpu_paded", "gpu_padded"},
		{"cpu_loop gpu_padded", "2 things to profile"},
		{"cpu_loop -nsys x.sqlite", "2 things to profile"},
		{"cpu_loop -steps 0", "-steps 0: want at least 1"},
		{"cpu_loop -steps 2 -full", "want one of them"},
		{"cpu_loop -set batch=0", "factor batch"},
		{"cpu_loop -set nothing", "no factor"},
		{"cpu_loop -device sim:h201", "sim:h200"},
		{"cpu_loop -device-profile h201", "-device-profile: no device profile"},
		{"cpu_loop -overhead -1", "-overhead -1"},
		{"cpu_loop -skip 1", "-skip"},
		{"cpu_loop -zip -o .", "-o .: want the name"},
		{"gorgonia -device sim:h200 -steps 1", "engine=gorgonia"},
		{"-nsys missing.sqlite", "missing.sqlite"},
		{"-nsys mine.txt", "mine.txt"},
		{"-kineto missing.json", "missing.json"},
		{"-kineto mine.txt", "mine.txt"},
		{"-nsys a -device host", "a file is read as it is"},
		{"-nsys a -skip -1", "-skip -1"},
		{"cpu_loop -set batch=4 -steps 1 -overhead 0 -device sim:h200 -o " + dir, "no profile; choose another"},
	} {
		code, stdout, stderr := gputax(append([]string{"profile"}, strings.Fields(strings.ReplaceAll(c.args, "mine.txt", filepath.Join(dir, "mine.txt")))...)...)
		if code != exitError || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("profile %s: exit %d, out %q, error %q; want one line with %q", c.args, code, stdout, stderr, c.want)
		}
	}
	// A wrong factor of a variant that is there suggests no variant.
	if _, _, stderr := gputax("profile", "fastest", "-set", "nope=1"); strings.Contains(stderr, "did you mean") {
		t.Errorf("error %q", stderr)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left %v, %v", names, err)
	}
}

func TestProfileInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "p")
	var out, errOut strings.Builder
	code := run(ctx, &out, &errOut, []string{"profile", "cpu_loop", "-device", "sim:h200", "-set", "batch=4", "-o", dir})
	if _, err := os.Lstat(dir); code != exitError || err == nil || !strings.Contains(errOut.String(), "interrupted; nothing was written") {
		t.Errorf("exit %d, %q, directory %v", code, errOut.String(), err)
	}
}
