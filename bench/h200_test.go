package bench_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// medians is the median of a unit for each variant of the epoch in a file of
// results.
func medians(t *testing.T, path, unit string) map[string]float64 {
	t.Helper()
	all := map[string][]float64{}
	files := benchfmt.Files{Paths: []string{path}}
	for files.Scan() {
		r, ok := files.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		_, rest, _ := strings.Cut(r.Name.String(), "variant=")
		variant, _, _ := strings.Cut(rest, "/")
		if v, ok := r.Value(unit); ok {
			all[variant] = append(all[variant], v)
		}
	}
	if err := files.Err(); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for name, v := range all {
		slices.Sort(v)
		out[name] = (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	return out
}

// docs/results/h200/simulated.md is the table of both files. The aim is 15% for
// every variant; what is further off is marked there, and nothing may be further
// than 30%.
func TestSimulatedAgainstMeasured(t *testing.T) {
	const dir = "../docs/results/h200/"
	measured := medians(t, dir+"epochs.txt", "sec/op")
	simulated := medians(t, dir+"simulated.txt", "sim-sec/op")
	var names []string
	for name := range simulated {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(math.Copysign(1, measured[a]-measured[b])) })
	var b strings.Builder
	b.WriteString("# The simulated H200 against the measured one\n\nOne epoch of the reference workload, medians of [epochs.txt](epochs.txt), measured on the card, and [simulated.txt](simulated.txt);\neach file names the command that made it. Made by `go test ./bench -run SimulatedAgainstMeasured -update`.\n\n")
	b.WriteString("| variant | measured | simulated | off by |\n|---|---|---|---|\n")
	for _, name := range names {
		m, s := measured[name], simulated[name]
		off, mark := math.Abs(s/m-1), ""
		if off > 0.15 {
			mark = ", over the aim of 15%"
		}
		if !(off <= 0.3) {
			t.Errorf("%s: %.1f ms simulated, %.1f ms measured", name, 1e3*s, 1e3*m)
		}
		fmt.Fprintf(&b, "| `%s` | %.1f ms | %.1f ms | %+.1f%%%s |\n", name, 1e3*m, 1e3*s, 100*(s/m-1), mark)
	}
	if *update {
		if err := os.WriteFile(dir+"simulated.md", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(dir + "simulated.md"); err != nil || string(got) != b.String() {
		t.Errorf("simulated.md is not the table of the two files (%v); go test ./bench -update writes it", err)
	}
}
