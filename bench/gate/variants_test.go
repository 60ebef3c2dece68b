package gate

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gputax/bench"
	"gputax/device"
)

// TestSlowerVariantsFail gates cpu_loop by every variant that takes longer on a
// simulated device, as a pull request would that made the one into the other.
func TestSlowerVariantsFail(t *testing.T) {
	variants := readEpochs(t)
	pairs := 0
	for _, of := range slices.Sorted(maps.Keys(variants)) {
		base := variants[of]["cpu_loop"]
		for _, name := range slices.Sorted(maps.Keys(variants[of])) {
			head := variants[of][name]
			if head["sim-ns/op"] <= base["sim-ns/op"] {
				continue
			}
			pairs++
			r, _ := gateFakes(t, epoch(base), epoch(head), nil)
			if got := row(t, r, "Epoch", "sim-ns/op").Verdict; r.Verdict() != bench.Regression || got != bench.RowWorse {
				t.Errorf("%s: cpu_loop -> %s: %v, its time %v", of, name, r.Verdict(), got)
			}
		}
		if r, _ := gateFakes(t, epoch(base), epoch(base), nil); r.Verdict() != bench.Pass {
			t.Errorf("%s: cpu_loop -> cpu_loop: %v", of, r.Verdict())
		}
	}
	if pairs < 12 {
		t.Errorf("%d pairs of variants; want those of the write-ups, on both devices", pairs)
	}
}

// readEpochs is the simulated epochs' metrics, by everything else in the name
// and by variant. Counters that are zero are left out in the file.
func readEpochs(t *testing.T) map[string]map[string]map[string]float64 {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "sim.golden"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]map[string]map[string]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		_, name, ok := strings.Cut(fields[0], "Epoch/variant=")
		if !ok {
			continue
		}
		variant, rest, _ := strings.Cut(name, "/")
		metrics := map[string]float64{"sim-ns/op": 0}
		for c := range len(device.Counters{}) {
			metrics[device.Counter(c).Unit()] = 0
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if _, wanted := metrics[fields[i+1]]; wanted {
				v, err := strconv.ParseFloat(fields[i], 64)
				if err != nil {
					t.Fatal(err)
				}
				metrics[fields[i+1]] = v
			}
		}
		if out[rest] == nil {
			out[rest] = map[string]map[string]float64{}
		}
		out[rest][variant] = metrics
	}
	maps.DeleteFunc(out, func(_ string, variants map[string]map[string]float64) bool { return variants["cpu_loop"] == nil })
	return out
}

// epoch is a benchmark with these metrics.
func epoch(metrics map[string]float64) []fakeBench {
	return []fakeBench{{"Epoch", func(*fake, Request) string {
		var parts []string
		for _, unit := range slices.Sorted(maps.Keys(metrics)) {
			parts = append(parts, fmt.Sprintf("%.0f %s", metrics[unit], unit))
		}
		return strings.Join(parts, "\t")
	}}}
}
