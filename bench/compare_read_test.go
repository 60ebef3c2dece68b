package bench_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gputax/bench"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"
)

// readText reads results that must be good.
func readText(t testing.TB, text string) *bench.Results {
	t.Helper()
	r, err := bench.Read(strings.NewReader(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadResults(t *testing.T) {
	r := readText(t, "goos: linux\npkg: a\n"+
		"BenchmarkA-8 10 30 ns/op 5 MB/s 0 B/op\nlog line\nBenchmarkA-8 10 10 ns/op 6 MB/s 8 B/op\nBenchmarkA-8 10 20 ns/op 7 MB/s 8 B/op\n"+
		"BenchmarkB\nBenchmarkB 1 0 ns/op 0 idle-ns/op\nPASS\nok  \ta\t0.2s\n")
	for _, c := range []struct {
		name, unit string
		want       []float64
	}{
		{"A-8", "ns/op", []float64{30e-9, 10e-9, 20e-9}}, // in the order taken
		{"BenchmarkA-8", "sec/op", []float64{30e-9, 10e-9, 20e-9}},
		{"A-8", "MB/s", []float64{5e6, 6e6, 7e6}},
		{"A-8", "B/op", []float64{0, 8, 8}},
		{"B", "sec/op", []float64{0}}, // a zero too
		{"B", "idle-sec/op", []float64{0}},
		{"B", "B/op", nil},
	} {
		got := r.Samples(c.name, c.unit)
		if len(got) != len(c.want) || slices.ContainsFunc(got, func(v float64) bool { return v < 0 }) {
			t.Errorf("%s %s: %v, want %v", c.name, c.unit, got, c.want)
			continue
		}
		for i := range got {
			if d := got[i] - c.want[i]; d > 1e-15 || d < -1e-15 {
				t.Errorf("%s %s: %v, want %v", c.name, c.unit, got, c.want)
			}
		}
	}
	if got := r.Benchmarks(); !slices.Equal(got, []string{"A-8", "B"}) {
		t.Errorf("benchmarks %v", got)
	}
	if got := r.Units(); !slices.Equal(got, []string{"sec/op", "B/s", "B/op", "idle-sec/op"}) {
		t.Errorf("units %v", got)
	}
}

// Files may end their lines in another system's way.
func TestReadCarriageReturns(t *testing.T) {
	const text = "Unit n assume=exact\npkg: a\ncpu: fast one\nBenchmarkA 1 5 n\n"
	c, err := bench.Compare(readText(t, text), readText(t, strings.ReplaceAll(text, "\n", "\r\n")), bench.CompareOptions{})
	if err != nil || c.Verdict() != bench.Pass || len(c.Rows) != 1 || len(c.Warnings) != 0 {
		t.Errorf("%v: %+v", err, c)
	}
}

// What cannot be trusted is an error that says where.
func TestReadRefuses(t *testing.T) {
	const good = "BenchmarkA 1 5 ns/op\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no benchmark results"},
		{"no result", "goos: linux\nPASS\n", "no benchmark results"},
		{"only names", "BenchmarkA\nBenchmarkB\n", "no benchmark results"},
		{"another format", "{\"Action\":\"run\"}\n", "no benchmark results"},
		{"binary", good + "\x00\x01", "not a text file"},
		{"no iterations", good + "BenchmarkA x 5 ns/op\n", "test:2: parsing iteration count"},
		{"zero iterations", good + "BenchmarkA 0 5 ns/op\n", "test:2: benchmark A: 0 iterations"},
		{"no name", good + "Benchmark 1 5 ns/op\n", "test:2: a benchmark without a name"},
		{"no value", good + "BenchmarkA 1\n", "test:2: missing measurements"},
		{"no unit", good + "BenchmarkA 1 5 ns/op 7\n", "test:2: missing units"},
		{"not a number", good + "BenchmarkA 1 5x ns/op\n", "test:2: parsing measurement"},
		{"NaN", good + "BenchmarkA 1 NaN ns/op\n", "test:2: benchmark A: NaN"},
		{"infinite", good + "BenchmarkA 1 +Inf ns/op\n", "test:2: benchmark A: +Inf"},
		{"huge", good + "BenchmarkA 1 1e300 ns/op\n", "e+291 sec/op is not a number to compare"},
		{"a unit twice", good + "BenchmarkA 1 5 ns/op 6 ns/op\n", "test:2: benchmark A: two values in sec/op"},
		{"a unit twice by another name", good + "BenchmarkA 1 5 ns/op 6 sec/op\n", "two values in sec/op"},
		{"split by a log line", good + "BenchmarkA-8  hello\n     100\t     5 ns/op\n", "test:3: a result without a benchmark's name"},
		{"failed benchmark", good + "--- FAIL: BenchmarkB\n", "test:2: the run failed"},
		{"failed package", good + "FAIL\tpkg\t1s\n", "test:2: the run failed"},
		{"failed", good + "FAIL\n", "test:2: the run failed"},
		{"panic", good + "panic: oh\n", "test:2: the run failed"},
		{"fatal", good + "fatal error: all goroutines are asleep - deadlock!\n", "test:2: the run failed"},
		{"cut in a unit", good + "BenchmarkA 1 5 ns/o", "test:2: the last line does not end"},
		{"direction", good + "Unit x better=sideways\n", "test:2: unit x: better=sideways"},
		{"assumption", good + "Unit x assume=normal\n", "test:2: unit x: assume=normal"},
		{"two directions", "Unit x better=lower\n" + good + "Unit x better=higher\n", "test:3: metadata better"},
		{"unit line", good + "Unit x lower\n", "test:2: expected key=value"},
		{"long line", good + strings.Repeat("x", 1<<17), "token too long"},
	} {
		if _, err := bench.Read(strings.NewReader(c.text), "test"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("bench.txt", "Unit hits better=higher\nBenchmarkA 1 1 ns/op\n"), write("b.txt", "BenchmarkA 1 2 ns/op\nBenchmarkB 1 3 hits\n")
	other := write("c.txt", "Unit hits better=lower\nBenchmarkB 1 3 hits\n")
	r, err := bench.ReadFiles(dir, b) // a directory is its bench.txt
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Samples("A", "ns/op"); len(got) != 2 || got[0] != 1e-9 {
		t.Errorf("samples of two files: %v", got)
	}
	if r.Name() != a+" +1" {
		t.Errorf("name %q", r.Name())
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{nil, "no benchmark files"},
		{[]string{a, filepath.Join(dir, "none.txt")}, "none.txt: no such file"},
		{[]string{a, write("empty.txt", "")}, "empty.txt: no benchmark results"},
		{[]string{a, other}, "c.txt:1: unit hits: better=higher in one place and better=lower in another"},
	} {
		if _, err := bench.ReadFiles(c.paths...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.paths, err, c.want)
		}
	}
}

// Results made in memory are as good as read ones, and keep nothing of what
// they were made from.
func TestAddResults(t *testing.T) {
	var r bench.Results
	res := &benchfmt.Result{Name: benchfmt.Name("A"), Iters: 3, Values: []benchfmt.Value{{Value: 7, Unit: "ns/op"}, {Value: 2, Unit: "hits"}}}
	for range 2 {
		if err := r.Add(res); err != nil {
			t.Fatal(err)
		}
		res.Values[0].Value = 8
	}
	if res.Values[0].Unit != "ns/op" {
		t.Error("Add changed its argument")
	}
	if got := r.Samples("A", "ns/op"); len(got) != 2 || math.Abs(got[0]-7e-9) > 1e-20 || math.Abs(got[1]-8e-9) > 1e-20 {
		t.Errorf("samples %v", got)
	}
	if err := r.SetUnit("hits", bench.HigherBetter, true); err != nil {
		t.Error(err)
	}
	if err := r.SetUnit("hits", bench.LowerBetter, true); err == nil {
		t.Error("a unit has two directions")
	}
	res.Iters = 0
	if err := r.Add(res); err == nil {
		t.Error("a result of no iterations was added")
	}
	for _, bad := range []*benchfmt.Result{{Name: benchfmt.Name("A"), Iters: 1}} {
		if err := r.Add(bad); err == nil {
			t.Error("a result without values was added")
		}
	}
}

func TestFilterResults(t *testing.T) {
	filter, err := benchproc.NewFilter("/v:a .unit:(ns/op OR hits)")
	if err != nil {
		t.Fatal(err)
	}
	r := bench.Results{Filter: filter}
	text := "BenchmarkA/v=a 1 0 ns/op 3 hits 4 B/op\nBenchmarkA/v=b 1 2 ns/op\n"
	if err := r.Read(strings.NewReader(text), "test"); err != nil {
		t.Fatal(err)
	}
	if got := r.Units(); !slices.Equal(got, []string{"sec/op", "hits"}) || len(r.Benchmarks()) != 1 {
		t.Errorf("kept %v in %v", r.Benchmarks(), got)
	}
	empty := bench.Results{Filter: filter}
	if err := empty.Read(strings.NewReader("BenchmarkC 1 1 ns/op\n"), "c.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Compare(&r, &empty, bench.CompareOptions{}); err == nil || !strings.Contains(err.Error(), "c.txt, the new side, passes the filter") {
		t.Errorf("error %v", err)
	}
}
