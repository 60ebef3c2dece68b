package bench_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"gputax/bench"
	"gputax/bench/suite"
	"gputax/device"
	"gputax/device/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample measures one case on a fresh device.
func sample(t *testing.T, c bench.Case, dev string) bench.Sample {
	t.Helper()
	d, err := catalog.Open(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rec := device.NewRecorder(d)
	w, err := c.Setup(rec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := bench.Measure(context.Background(), rec, 0, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// simulate is every metric of the cases on every simulated device, as text.
func simulate(t *testing.T, cases []bench.Case) string {
	t.Helper()
	var out strings.Builder
	for _, c := range cases {
		for _, dev := range []string{"sim:a6000-pytorch", "sim:h200"} {
			if !c.RunsOn(dev) {
				continue
			}
			s := sample(t, c, dev)
			fmt.Fprint(&out, c.Name(dev))
			for _, m := range s.Metrics() {
				if m.Value != 0 || m.Unit == "sim-ns/op" {
					fmt.Fprintf(&out, " %.0f %s", m.Value, m.Unit)
				}
			}
			fmt.Fprintln(&out)
		}
	}
	return out.String()
}

// Simulated times and counters are the same to the last digit from run to run,
// whatever the number of CPUs, and on every machine: the golden file was made
// on another one. (Package trainer holds the epochs to it with every number of
// CPUs and every path of the host kernels.)
func TestSimulatedMatrixIsExact(t *testing.T) {
	const golden = "testdata/sim.golden"
	first := simulate(t, suite.Cases(suite.Options{}))
	if *update {
		if err := os.WriteFile(golden, []byte(first), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	sameLines(t, "the golden file", first, string(want))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var parts []bench.Case
	for _, name := range []string{"Cost", "Transfer", "Launch"} {
		parts = append(parts, suite.Named(name, suite.Options{})...)
	}
	for _, procs := range []int{1, 2} {
		runtime.GOMAXPROCS(procs)
		if got := simulate(t, parts); !strings.HasSuffix(first, got) {
			sameLines(t, fmt.Sprintf("GOMAXPROCS=%d", procs), got, first[strings.Index(first, "Cost/"):])
		}
	}
}

func sameLines(t *testing.T, what, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s: line %d differs (go test ./bench -update accepts a change that was meant):\n got %s\nwant %s",
				what, i+1, at(g, i), at(w, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// The tables of write-ups 001 and 002 come out of the fitted profile within
// 10%, at B=128 and N=10.
func TestWriteUpTables(t *testing.T) {
	for _, c := range []struct {
		bench, variant, unit string
		ms                   float64
	}{
		{"Cost", "loop", "sim-ns/op", 0.37},
		{"Cost", "per_route", "sim-ns/op", 71.42},
		{"Cost", "per_route_item", "sim-ns/op", 77.92},
		{"Transfer", "one_by_one", "sim-ns/op", 238},
		{"Transfer", "round_trip", "sim-upload-ns/op", 238},
		{"Transfer", "round_trip", "sim-download-ns/op", 2.4},
	} {
		got := math.NaN()
		for _, k := range suite.Named(c.bench, suite.Options{}) {
			if k.Variant == c.variant && k.Params == "batch=128/n=10" {
				s := sample(t, k, "sim:a6000-pytorch")
				for _, m := range s.Metrics() {
					if m.Unit == c.unit {
						got = m.Value / 1e6
					}
				}
			}
		}
		if !(math.Abs(got-c.ms) <= 0.1*c.ms) {
			t.Errorf("%s %s: %s is %.3f ms, the write-up says %v ms", c.bench, c.variant, c.unit, got, c.ms)
		}
	}
}

// The counts that the story turns on, at B=128 and N=10.
func TestStoryCounters(t *testing.T) {
	for _, c := range []struct {
		bench, variant string
		counter        device.Counter
		least, most    int64
	}{
		{"Cost", "loop", device.Launches, 0, 0},
		{"Cost", "per_route", device.Launches, 128, math.MaxInt64},
		{"Cost", "fused", device.Launches, 0, 0}, // its one launch is a graph's
		{"Cost", "fused", device.GraphLaunches, 1, 1},
		{"Cost", "fused", device.GraphKernels, 1, 1},
		{"Transfer", "one_by_one", device.UploadCopies, 128, 128},
		{"Transfer", "batched", device.UploadCopies, 1, 1},
		{"Transfer", "keep_on_host", device.UploadCopies, 0, 0},
		{"Launch", "graph", device.Launches, 0, 0},
		{"Launch", "graph", device.GraphLaunches, 1, 1},
	} {
		for _, k := range suite.Named(c.bench, suite.Options{}) {
			if k.Variant != c.variant || (c.bench != "Launch" && k.Params != "batch=128/n=10") {
				continue
			}
			for _, dev := range []string{"host", "sim:h200"} {
				s := sample(t, k, dev)
				if n := s.Counters[c.counter]; n < c.least || n > c.most {
					t.Errorf("%s: %d %s, want %d to %d", k.Name(dev), n, c.counter.Unit(), c.least, c.most)
				}
			}
		}
	}
}

// Every counter is the same on host and on the simulated devices, and no op of
// the matrix varies.
func TestCountersDoNotDependOnTheDevice(t *testing.T) {
	for _, c := range append(suite.Named("Cost", suite.Options{}), append(suite.Named("Transfer", suite.Options{}), suite.Named("Launch", suite.Options{})...)...) {
		want := sample(t, c, "host")
		for _, dev := range []string{"sim:a6000-pytorch", "sim:h200"} {
			if got := sample(t, c, dev); got.Counters != want.Counters {
				t.Errorf("%s: %v, on host %v", c.Name(dev), got.Counters, want.Counters)
			}
		}
		for _, w := range want.Warnings {
			t.Errorf("%s: %v", c.Name("host"), w)
		}
	}
}
