package kineto

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gputax/device"
	"gputax/profiles"
)

// plainCount counts a trace with encoding/json and a few lines.
func plainCount(t *testing.T, path string) (sum map[string]int64) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Ph, Cat, Name string
			Args          struct{ Bytes int64 }
		}
	}
	if err := json.NewDecoder(z).Decode(&trace); err != nil {
		t.Fatal(err)
	}
	sum = map[string]int64{}
	for _, e := range trace.TraceEvents {
		switch {
		case e.Ph != "X":
		case e.Cat == "kernel":
			sum["kernels"]++
		case e.Cat == "gpu_memcpy":
			sum["copies"]++
			sum["bytes"] += e.Args.Bytes
			if strings.Contains(e.Name, "Pageable") {
				sum["pageable"]++
			}
			if strings.Contains(e.Name, "HtoD") {
				sum["h2d bytes"] += e.Args.Bytes
			}
		case e.Cat == "cuda_runtime" && strings.HasSuffix(e.Name, "Synchronize"):
			sum["syncs"]++
		}
	}
	return sum
}

// Real traces, which are not in the repository, are counted as encoding/json
// counts them.
func TestRealFiles(t *testing.T) {
	dir := os.Getenv("GPUTAX_KINETO_FILES")
	if dir == "" {
		t.Skip("waits for GPUTAX_KINETO_FILES=DIR, a folder of torch.profiler traces (*.json.gz)")
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.json.gz"))
	if len(paths) == 0 {
		t.Fatalf("no *.json.gz in %s", dir)
	}
	for _, path := range paths {
		rec, err := ReadFile(path, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		c := rec.Counters()
		got := map[string]int64{"kernels": c[device.Launches] + c[device.GraphKernels], "pageable": c[device.PageableCopies],
			"h2d bytes": c[device.UploadBytes], "syncs": c[device.Syncs]}
		for _, o := range rec.Ops.All() {
			if o.Kind == profiles.OpCopy {
				got["copies"]++
				got["bytes"] += o.Bytes
			}
		}
		want := plainCount(t, path)
		for k := range got {
			if got[k] != want[k] {
				t.Errorf("%s: %d %s, encoding/json counts %d", filepath.Base(path), got[k], k, want[k])
			}
		}
		t.Logf("%-24s %s", filepath.Base(path), fmt.Sprint(got))
		for i, s := range rec.StepTotals() {
			t.Logf("    %s: %v", rec.Names.Name(rec.Steps[i].Name), s.Counters)
		}
	}
}
