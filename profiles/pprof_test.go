package profiles_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gputax/device"
	"gputax/profiles"

	"github.com/google/pprof/profile"
)

// writeGPU writes a variant's profile to a file.
func writeGPU(t *testing.T, r *profiles.Recording) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gpu.pb.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := r.WriteGPU(f); err != nil {
		t.Fatal(err)
	}
	return path
}

// pprofPath is the program that go tool pprof runs; asking go for it every time
// takes longer than running it.
var pprofPath = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "pprof").Output()
	return strings.TrimSpace(string(out)), err
})

// pprofTool is what go tool pprof prints.
func pprofTool(t *testing.T, args ...string) string {
	t.Helper()
	path, err := pprofPath()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go tool pprof %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

var totalLine = regexp.MustCompile(`% of (-?[\d.]+)(ns|B|) total`)

// total is the whole of a sample type, in nanoseconds, bytes or ones.
func total(t *testing.T, out string) int64 {
	t.Helper()
	m := totalLine.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no total in\n%s", out)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatalf("total %q in\n%s", m[0], out)
	}
	return n
}

// units are how the sample types are asked for, so that totals have all digits.
func unit(sample string) string {
	switch {
	case strings.HasSuffix(sample, "_time"):
		return "-unit=ns"
	case sample == "transferred":
		return "-unit=B"
	}
	return "-unit=minimum"
}

// The tool's totals are the recorder's counters.
func TestPprofTotals(t *testing.T) {
	for _, variant := range []string{"gpu_padded", "gpu_per_route_item", "graph", "pinned_async"} {
		t.Run(variant, func(t *testing.T) {
			r, rec := capture(t, simulated(t), variant, profiles.CaptureOptions{})
			file, c := writeGPU(t, r), rec.Counters()
			var gpu, launch, wait int64
			for _, o := range r.Ops.All() {
				gpu += o.Dur
			}
			for _, call := range r.Calls.All() {
				switch call.Kind {
				case profiles.CallLaunch, profiles.CallGraphLaunch, profiles.CallCopy:
					launch += call.Dur
				case profiles.CallSync:
					wait += call.Dur
				}
			}
			kernels, copies := c[device.Launches]+c[device.GraphKernels], c[device.UploadCopies]+c[device.DownloadCopies]
			for _, want := range []struct {
				sample string
				total  int64
			}{
				{"launches", kernels + copies},
				{"kernels", kernels},
				{"copies", copies},
				{"graph_launches", c[device.GraphLaunches]},
				{"syncs", c[device.Syncs]},
				{"transferred", c[device.UploadBytes] + c[device.DownloadBytes] + c[device.MappedBytes]},
				{"gpu_time", gpu},
				{"launch_time", launch},
				{"wait_time", wait},
				{"idle_time", int64(r.Duration() - r.Busy())},
			} {
				if want.total == 0 {
					continue // pprof has nothing to say about it
				}
				if got := total(t, pprofTool(t, "-top", unit(want.sample), "-sample_index="+want.sample, file)); got != want.total {
					t.Errorf("%s: %d in all, want %d", want.sample, got, want.total)
				}
			}
		})
	}
}

// A mean is of one kernel, or of one copy.
func TestPprofMean(t *testing.T) {
	r, _ := capture(t, simulated(t), "cpu_loop", profiles.CaptureOptions{})
	sum, n := map[string]int64{}, map[string]int64{}
	for _, o := range r.Ops.All() {
		name := r.Names.Name(o.Name)
		sum[name], n[name] = sum[name]+o.Dur, n[name]+1
	}
	out := pprofTool(t, "-top", "-unit=ns", "-nodefraction=0", "-mean", "-sample_index=gpu_time", writeGPU(t, r))
	for name := range sum {
		line := regexp.MustCompile(`(?m)^ *(\d+)ns .* ` + regexp.QuoteMeta(name) + `$`).FindStringSubmatch(out)
		if line == nil {
			t.Errorf("%s is not in\n%s", name, out)
			continue
		}
		if want := strconv.FormatInt(sum[name]/n[name], 10); line[1] != want {
			t.Errorf("%s: mean %s ns, want %s", name, line[1], want)
		}
	}
}

// A difference of two profiles is what one has more than the other.
func TestPprofDiff(t *testing.T) {
	before, recBefore := capture(t, simulated(t), "cpu_loop", profiles.CaptureOptions{})
	after, recAfter := capture(t, simulated(t), "transfer_all", profiles.CaptureOptions{})
	more := recAfter.Counters().Sub(recBefore.Counters())
	out := pprofTool(t, "-top", "-nodefraction=0", "-diff_base", writeGPU(t, before), "-sample_index=copies", writeGPU(t, after))
	m := regexp.MustCompile(`Showing nodes accounting for (-?\d+),`).FindStringSubmatch(out)
	if want := strconv.FormatInt(more[device.UploadCopies]+more[device.DownloadCopies], 10); m == nil || m[1] != want {
		t.Errorf("want %s more copies in\n%s", want, out)
	}
	if !strings.Contains(out, "transfer.") {
		t.Errorf("the package that copies is not in\n%s", out)
	}
}

// Stacks go from the phase over the call site to what the device did.
func TestPprofStacks(t *testing.T) {
	r, _ := capture(t, simulated(t), "gpu_padded", profiles.CaptureOptions{})
	var out bytes.Buffer
	if err := r.WriteGPU(&out); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range s.Location {
			stack = append(stack, l.Line[0].Function.Name)
		}
		if stack[0] != "upload pageable" || stack[len(stack)-1] != "phase=cost" || stack[1] != "gputax/cost.(*padded).pad" {
			continue
		}
		if s.Label["direction"][0] != "h2d" || s.Label["memory"][0] != "pageable" || s.Label["stream"][0] != "0" || s.Label["kind"][0] != "copy" {
			t.Errorf("labels %v", s.Label)
		}
		if f := s.Location[1].Line[0].Function.Filename; f != "gputax/cost/padded.go" {
			t.Errorf("file %s", f)
		}
		if s.Value[0] == 0 || p.SampleType[0].Type != "launches" {
			t.Errorf("%d %s", s.Value[0], p.SampleType[0].Type)
		}
		return
	}
	t.Error("no upload of the padded cost")
}

// Times of ops that overlap, of graphs and of what no call is known for.
func TestPprofValues(t *testing.T) {
	var out bytes.Buffer
	r := handmade()
	if err := r.WriteGPU(&out); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range p.Sample {
		for i, v := range s.Value {
			got[p.SampleType[i].Type] += v
		}
	}
	for name, want := range map[string]int64{
		"launches": 7, "kernels": 3, "copies": 3, "syncs": 1, "wait_time": 1500, "graph_launches": 1,
		"gpu_time":    1800 + 500 + 1000 + 300 + 400 + 100 + 10,
		"launch_time": 700 + 300 + 400,
		"queue_time":  (2500 - 2300) + (6600 - 6400), // the launch's and the graph's; the copy began inside its call
		"transferred": 64 + 16 + 32 + 8,
		"idle_time":   int64(r.Duration() - r.Busy()),
	} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}
