package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gputax/cost"

	"golang.org/x/perf/benchfmt"
)

// TestMain lets tests run this binary as the command itself.
func TestMain(m *testing.M) {
	if os.Getenv("GPUTAX_TEST_COMMAND") != "" {
		main()
		return
	}
	os.Setenv("GPUTAX_TEST_COMMAND", "1") // for what the command itself starts
	os.Exit(m.Run())
}

// gputax runs the command in this process.
func gputax(args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = run(context.Background(), &out, &errOut, args)
	return code, out.String(), errOut.String()
}

// results reads a file of benchmark results; malformed lines fail the test.
func results(t *testing.T, path string) []*benchfmt.Result {
	t.Helper()
	var files benchfmt.Files
	files.Paths = []string{path}
	var out []*benchfmt.Result
	for files.Scan() {
		switch rec := files.Result().(type) {
		case *benchfmt.Result:
			out = append(out, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Errorf("%v", rec)
		}
	}
	if err := files.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func names(rs []*benchfmt.Result) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Name.String())
	}
	return out
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := gputax("run", "-o", dir, "-run", "Cost/.*n=10$", "-time", "1ms", "-count", "2")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	rs := results(t, filepath.Join(dir, "bench.txt"))
	if want := 2 * 3 * len(cost.Variants); len(rs) != want {
		t.Errorf("%d results, want every variant on 3 devices, twice: %d", len(rs), want)
	}
	for _, r := range rs {
		name := r.Name.String()
		_, measured := r.Value("sec/op")
		_, simulated := r.Value("sim-sec/op")
		if sim := strings.Contains(name, "device=sim:"); sim == measured || sim != simulated {
			t.Errorf("%s: units %v", name, r.Values)
		}
		if v, ok := r.Value("graph-kernels/op"); strings.Contains(name, "variant=fused/") && (!ok || v != 1) {
			t.Errorf("%s: %v kernels", name, v)
		}
	}
	for _, want := range []string{"Cost  batch=128  n=10", "variant", "per_route_item", "1813", "71.4 ms", "sim:h200", "best", " results in "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table does not say %q:\n%s", want, stdout)
		}
	}
}

func TestRunKeepsEarlierResults(t *testing.T) {
	dir := t.TempDir()
	args := []string{"run", "-o", dir, "-device", "sim:h200", "-run", "Launch"}
	var first []byte
	for i, want := range []string{"", "bench.1.txt", "bench.2.txt"} {
		code, stdout, stderr := gputax(args...)
		if code != exitOK {
			t.Fatal(stderr)
		}
		if want == "" {
			data, err := os.ReadFile(filepath.Join(dir, "bench.txt"))
			if err != nil {
				t.Fatal(err)
			}
			first = data
			continue
		}
		if !strings.Contains(stdout, want) {
			t.Errorf("run %d does not say where the earlier results went:\n%s", i, stdout)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "bench.1.txt")); err != nil || !bytes.Equal(data, first) {
		t.Errorf("the first results were not kept: %v", err)
	}
}

// Shards laid end to end are the whole, in its order and, on a simulated
// device, with its numbers.
func TestShards(t *testing.T) {
	dir := t.TempDir()
	shardRun := func(sub string, extra ...string) []*benchfmt.Result {
		t.Helper()
		out := filepath.Join(dir, sub)
		args := append([]string{"run", "-o", out, "-device", "sim:a6000-pytorch,sim:h200", "-run", "n=10$|Launch"}, extra...)
		if code, _, stderr := gputax(args...); code != exitOK {
			t.Fatal(stderr)
		}
		return results(t, filepath.Join(out, "bench.txt"))
	}
	whole := shardRun("whole")
	var parts []*benchfmt.Result
	for _, s := range []string{"1/4", "2/4", "3/4", "4/4"} {
		parts = append(parts, shardRun(strings.ReplaceAll(s, "/", "of"), "-shard", s)...)
	}
	if !slices.Equal(names(whole), names(parts)) {
		t.Fatalf("whole: %v\nparts: %v", names(whole), names(parts))
	}
	for i := range whole {
		if !slices.Equal(whole[i].Values, parts[i].Values) {
			t.Errorf("%s: %v, in a shard %v", whole[i].Name, whole[i].Values, parts[i].Values)
		}
	}
}

func TestList(t *testing.T) {
	code, stdout, _ := gputax("run", "-list", "-device", "host", "-variant", "padded,launch_sync")
	lines := strings.Fields(stdout)
	if code != exitOK || len(lines) != 4 {
		t.Fatalf("exit %d: %q", code, lines)
	}
	for _, l := range lines {
		if !regexp.MustCompile(`^Benchmark(Cost/variant=padded|Launch/variant=launch_sync)/device=host/`).MatchString(l) {
			t.Errorf("lists %q", l)
		}
	}
}

// Every mistake gets exit code 2, one line that says what to do, and changes
// nothing in the output directory.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "bench.txt")
	if err := os.WriteFile(precious, []byte("precious\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	profile := func(name, from, to string) string {
		data, err := os.ReadFile("../../profiles/devices/h200.json")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	negative := profile("negative.json", `"launch_host_ns": {"value": `, `"launch_host_ns": {"value": -3500`)
	short := profile("short.json", `"sync_host_ns"`, `"sync_host"`)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"run", "-variant", "paded"}, []string{`"paded"`, "did you mean padded?"}},
		{[]string{"run", "-variant", "zzzzzzzzz"}, []string{"zzzzzzzzz", "there are cpu_loop, gpu_per_route"}},
		{[]string{"run", "-device", "hots"}, []string{`"hots"`, "did you mean host?"}},
		{[]string{"run", "-device", "sim:h20"}, []string{`"h20"`, "a6000-pytorch, h200", "sim:h200?"}},
		{[]string{"run", "-device", "cuda:0"}, []string{"cuda:0"}},
		{[]string{"run", "-device", "sim:" + negative}, []string{negative, "launch_host_ns", "-3.5"}},
		{[]string{"run", "-device", "sim:" + short}, []string{short, "sync_host_ns", "missing"}},
		{[]string{"run", "-device", "sim:" + dir + "/none.json"}, []string{"none.json", "no such file"}},
		{[]string{"run", "-device", "host,host"}, []string{"two devices are called host"}},
		{[]string{"run", "-device", ","}, []string{"no device is named"}},
		{[]string{"run", "-run", "Cost["}, []string{"Cost[", "missing closing ]"}},
		{[]string{"run", "-run", "NoSuchBench"}, []string{"no benchmark matches", "NoSuchBench", "-list"}},
		{[]string{"run", "-shard", "0/4"}, []string{"0/4", "out of range"}},
		{[]string{"run", "-shard", "5/4"}, []string{"5/4", "out of range"}},
		{[]string{"run", "-shard", "one"}, []string{"one", "i/n"}},
		{[]string{"run", "-count", "0"}, []string{"-count 0", "at least 1"}},
		{[]string{"run", "-count", "x"}, []string{"x", "-count"}},
		{[]string{"run", "-nope"}, []string{"-nope"}},
		{[]string{"run", "Cost"}, []string{`unexpected argument "Cost"`}},
		{[]string{"devices", "x"}, []string{"unexpected argument"}},
		{[]string{"runn"}, []string{`"runn"`, "did you mean run?"}},
	} {
		args := c.args
		if args[0] == "run" {
			args = append(args, "-o", dir)
			if c.args[len(c.args)-1] == "Cost" {
				args = []string{"run", "-o", dir, "Cost"}
			}
		}
		code, stdout, stderr := gputax(args...)
		if code != exitError || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", c.args, code, stdout, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v: %q does not say %q", c.args, stderr, want)
			}
		}
	}
	if data, err := os.ReadFile(precious); err != nil || string(data) != "precious\n" {
		t.Errorf("earlier results were touched: %q, %v", data, err)
	}
}

func TestUnwritableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/gputax"} {
		code, _, stderr := gputax("run", "-o", dir, "-device", "sim:h200", "-run", "Launch")
		if code != exitError || !strings.Contains(stderr, dir) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("-o %s: exit %d, %q", dir, code, stderr)
		}
	}
}

// A run that is stopped, gently or not, keeps every finished result, each line
// whole.
func TestInterrupted(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		dir := t.TempDir()
		file := filepath.Join(dir, "bench.txt")
		cmd := exec.Command(exe, "run", "-o", dir, "-device", "host", "-run", "Transfer", "-time", "20ms", "-count", "1000")
		cmd.Env = append(os.Environ(), "GPUTAX_TEST_COMMAND=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		finished := 0
		for deadline := time.Now().Add(30 * time.Second); finished < 3 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
			data, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			finished = bytes.Count(data, []byte("\nBenchmark"))
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if got := len(results(t, file)); got < finished || finished < 3 {
			t.Errorf("%v: %d results in the file, %d had finished", sig, got, finished)
		}
		if sig != syscall.SIGKILL && (cmd.ProcessState.ExitCode() != exitError || !strings.Contains(stderr.String(), "interrupted")) {
			t.Errorf("%v: %v, stderr %q", sig, err, stderr.String())
		}
	}
}

func TestDevices(t *testing.T) {
	code, stdout, _ := gputax("devices")
	for _, want := range []string{"host", "sim:a6000-pytorch", "fitted", "sim:h200", "cuda", "not available"} {
		if code != exitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, stdout)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"run", "-h"}, {"devices", "-help"}} {
		if code, stdout, stderr := gputax(args...); code != exitOK || !strings.Contains(stdout, "usage: gputax") || stderr != "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	if code, _, stderr := gputax(); code != exitError || !strings.Contains(stderr, "usage: gputax") {
		t.Errorf("no arguments: exit %d, %q", code, stderr)
	}
}
