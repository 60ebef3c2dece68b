package bench_test

import (
	"cmp"
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

// sessions is how many times the card was measured; its host is not equally
// fast every time, so each session is compared by itself.
const sessions = 3

// docs/results/h200/simulated.md is the table of the files. The aim is 15% for
// every variant in every session. It is not reached: what is further off is
// marked there, and nothing may be further than 30%.
func TestSimulatedAgainstMeasured(t *testing.T) {
	const dir = "../docs/results/h200/"
	simulated := medians(t, dir+"simulated.txt", "sim-sec/op")
	var measured [sessions]map[string]float64
	for i := range measured {
		measured[i] = medians(t, fmt.Sprintf("%sepochs_%d.txt", dir, i+1), "sec/op")
	}
	var names []string
	for name := range simulated {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(simulated[a], simulated[b]), cmp.Compare(a, b)) })
	var b strings.Builder
	b.WriteString(simulatedHead)
	within := 0
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` | %.1f ms |", name, 1e3*simulated[name])
		worst := 0.0
		for i := range measured {
			off := simulated[name]/measured[i][name] - 1
			worst = max(worst, math.Abs(off))
			fmt.Fprintf(&b, " %.1f ms (%+.1f%%) |", 1e3*measured[i][name], 100*off)
		}
		if !(worst <= 0.3) {
			t.Errorf("%s: off by %.1f%%", name, 100*worst)
		}
		if worst <= 0.15 {
			within++
			b.WriteString(" |\n")
		} else {
			b.WriteString(" over |\n")
		}
	}
	fmt.Fprintf(&b, "\nWithin 15%% in all %d sessions: %d of %d variants.\n", sessions, within, len(names))
	if *update {
		if err := os.WriteFile(dir+"simulated.md", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(dir + "simulated.md"); err != nil || string(got) != b.String() {
		t.Errorf("simulated.md is not the table of the files (%v); go test ./bench -update writes it", err)
	}
}

const simulatedHead = `# The simulated H200 against the measured one

One epoch of the reference workload: simulated.txt, and epochs_1.txt to epochs_3.txt, measured in three sessions on the
card; each file names its commands. The four slowest variants have one sample a session. Made by
` + "`go test ./bench -run SimulatedAgainstMeasured -update`" + `.

How to read it: this shows that the clock adds up, not that it predicts. The profile's kernel times were measured on
launches of these same variants. It is the last of five calibrations, made in session 3: after those before it missed
pinned_async (by 18%) and embed_per_token (by 28%, then by more than five times), the gap between launches was added to the clock and
the way allocations are measured was changed twice. A launch took 4.0 us of the host's time in that calibration, and 4.7
to 5.8 us in the others; the variants that do little but launch swing with it.

| variant | simulated | session 1 | session 2 | session 3 | 15% |
|---|---|---|---|---|---|
`
