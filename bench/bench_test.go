package bench_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gputax/bench"
	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/host"

	"golang.org/x/perf/benchfmt"
)

// tick is a kernel for tests of the harness.
var tick = &device.Kernel{Symbol: "tick", Body: func(device.Args) {}}

func simulated(tb testing.TB) device.Device {
	tb.Helper()
	d, err := catalog.Open("sim:h200")
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// twoLaunches is an op with a phase.
func twoLaunches(rec *device.Recorder) error {
	rec.Phase("forward")
	defer rec.Phase("")
	return errors.Join(rec.Launch(device.Default, tick), rec.Launch(device.Default, tick))
}

func metric(s *bench.Sample, unit string) (float64, bool) {
	for _, m := range s.Metrics() {
		if m.Unit == unit {
			return m.Value, true
		}
	}
	return 0, false
}

func TestSampleOnBothClocks(t *testing.T) {
	for _, c := range []struct {
		dev           device.Device
		has, hasPhase string
		lacks         string
	}{
		{host.New(), "ns/op", "forward-ns/op", "sim-ns/op"},
		{simulated(t), "sim-ns/op", "sim-forward-ns/op", "ns/op"},
	} {
		s, err := bench.Measure(context.Background(), device.NewRecorder(c.dev), 0, bench.Work{Op: twoLaunches})
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := metric(&s, c.has); !ok || v <= 0 {
			t.Errorf("%s: %s is %v", c.dev.Name(), c.has, v)
		}
		if _, ok := metric(&s, c.hasPhase); !ok {
			t.Errorf("%s: no %s", c.dev.Name(), c.hasPhase)
		}
		if _, ok := metric(&s, c.lacks); ok {
			t.Errorf("%s: reports %s", c.dev.Name(), c.lacks)
		}
		if v, _ := metric(&s, "launches/op"); v != 2 {
			t.Errorf("%s: %v launches", c.dev.Name(), v)
		}
		if v, ok := metric(&s, "syncs/op"); !ok || v != 0 {
			t.Errorf("%s: a zero counter is missing, or the harness's own wait counted: %v", c.dev.Name(), v)
		}
	}
}

// An op that does more each time is reported with its first op's counts and a
// warning.
func TestVaryingOpIsCalledOut(t *testing.T) {
	n := 0
	op := func(rec *device.Recorder) error {
		n++
		for range n {
			if err := rec.Launch(device.Default, tick); err != nil {
				return err
			}
		}
		return nil
	}
	s, err := bench.Measure(context.Background(), device.NewRecorder(host.New()), 1e6, bench.Work{Op: op})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) != 1 || s.Counters[device.Launches] != 2 { // the first measured op is the second run
		t.Errorf("%d launches, warnings %v", s.Counters[device.Launches], s.Warnings)
	}
}

// What Before does is neither timed nor counted, and runs ahead of every op.
func TestBefore(t *testing.T) {
	rec := device.NewRecorder(simulated(t))
	ready, runs := false, 0
	w := bench.Work{
		Before: func() error {
			ready = true
			return rec.Launch(device.Default, tick)
		},
		Op: func(rec *device.Recorder) error {
			if !ready {
				t.Error("an op ran without its Before")
			}
			ready = false
			runs++
			return twoLaunches(rec)
		},
	}
	s, err := bench.Measure(context.Background(), rec, 0, w)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := bench.Measure(context.Background(), device.NewRecorder(simulated(t)), 0, bench.Work{Op: twoLaunches})
	if err != nil {
		t.Fatal(err)
	}
	if runs != 2 || s.Counters != alone.Counters || s.PerOp != alone.PerOp {
		t.Errorf("%d runs, %v launches in %v ns; alone %v in %v", runs, s.Counters[device.Launches], s.PerOp, alone.Counters[device.Launches], alone.PerOp)
	}
}

// timed is a host device that says its ops take a millisecond.
type timed struct {
	device.Device
	started bool
}

func (d *timed) StartTimer() error { d.started = true; return nil }

func (d *timed) StopTimer() (time.Duration, error) {
	if !d.started {
		return 0, errors.New("not started")
	}
	d.started = false
	return time.Millisecond, nil
}

func TestDeviceTime(t *testing.T) {
	s, err := bench.Measure(context.Background(), device.NewRecorder(&timed{Device: host.New()}), 0, bench.Work{Op: twoLaunches})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := metric(&s, "gpu-ns/op"); !ok || v != 1e6 || s.Counters[device.Launches] != 2 || s.Ops != 1 {
		t.Errorf("gpu-ns/op is %v, %d launches in %d ops", v, s.Counters[device.Launches], s.Ops)
	}
	s, err = bench.Measure(context.Background(), device.NewRecorder(host.New()), 0, bench.Work{Op: twoLaunches})
	if _, ok := metric(&s, "gpu-ns/op"); ok || err != nil {
		t.Errorf("the host reports gpu-ns/op (%v)", err)
	}
}

// Phases are of the op alone: not of Before, not of what is between ops, and
// the last one of an op does not go on.
func TestPhasesAreOfTheOp(t *testing.T) {
	rec := device.NewRecorder(simulated(t))
	s, err := bench.Measure(context.Background(), rec, 0, bench.Work{
		Before: func() error { rec.HostWork(device.HostWork{Bytes: 1 << 30}); return nil },
		Op:     func(rec *device.Recorder) error { rec.Phase("last"); return rec.Launch(device.Default, tick) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := metric(&s, "sim-last-ns/op"); !ok || v > s.PerOp || v == 0 {
		t.Errorf("the phase took %v ns of an op of %v", v, s.PerOp)
	}
}

// Warm stands in for the op that would warm up.
func TestWarm(t *testing.T) {
	warmed, runs := 0, 0
	w := bench.Work{Warm: func() error { warmed++; return nil }, Op: func(*device.Recorder) error { runs++; return nil }}
	if _, err := bench.Measure(context.Background(), device.NewRecorder(simulated(t)), 0, w); err != nil || warmed != 1 || runs != 1 {
		t.Errorf("warmed up %d times, ran %d times, %v", warmed, runs, err)
	}
}

func TestMeasureStops(t *testing.T) {
	broken := errors.New("broken")
	_, err := bench.Measure(context.Background(), device.NewRecorder(host.New()), 0, bench.Work{Op: func(*device.Recorder) error { return broken }})
	if !errors.Is(err, broken) {
		t.Errorf("a failing op gave %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = bench.Measure(ctx, device.NewRecorder(host.New()), 1e18, bench.Work{Op: func(*device.Recorder) error { cancel(); return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run gave %v", err)
	}
}

func TestUnits(t *testing.T) {
	var u bench.Units
	var out bytes.Buffer
	metrics := []bench.Metric{{Unit: "ns/op"}, {Unit: "launches/op"}, {Unit: "sim-ns/op"}, {Unit: "cost-ns/op"}, {Unit: "ns/op"}}
	for range 2 {
		if err := u.Announce(&out, metrics); err != nil {
			t.Fatal(err)
		}
	}
	want := "Unit ns/op better=lower\nUnit launches/op better=lower assume=exact\n" +
		"Unit sim-ns/op better=lower assume=exact\nUnit cost-ns/op better=lower\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// BenchmarkExample is what a user writes; TestGoTestOutput runs it.
func BenchmarkExample(b *testing.B) {
	for _, dev := range []device.Device{host.New(), simulated(b)} {
		b.Run("device="+dev.Name(), func(b *testing.B) {
			bench.Run(b, dev, twoLaunches)
		})
	}
}

// The output of go test -bench is clean Go benchmark format, ns/op is not
// there for simulated devices, and benchstat makes a table of it by variant.
func TestGoTestOutput(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, pattern := range []string{"Example", "Cost/variant/device/batch=128/^n=10$"} {
		part, err := exec.Command(exe, "-test.run=^$", "-test.bench="+pattern, "-test.benchtime=1x", "-test.count=2").Output()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, part...)
	}
	reader := benchfmt.NewReader(bytes.NewReader(out), "out")
	results := 0
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("line %d: %v", rec.Line, rec)
		case *benchfmt.Result:
			results++
			checkResult(t, rec)
		}
	}
	if want := 2 * (2 + 5*3); results != want {
		t.Errorf("%d results, want %d in\n%s", results, want, out)
	}
	for _, unit := range []string{"launches/op", "sim-sec/op"} { // the reader turns ns into sec
		key := benchfmt.UnitMetadataKey{Unit: unit, Key: "assume"}
		if m := reader.Units()[key]; m == nil || m.Value != "exact" {
			t.Errorf("no line says that %s is exact", unit)
		}
	}
	checkBenchstat(t, out)
}

func checkResult(t *testing.T, r *benchfmt.Result) {
	simulated := strings.Contains(r.Name.String(), "device=sim:")
	_, measuredTime := r.Value("sec/op")
	_, simulatedTime := r.Value("sim-sec/op")
	if simulated != simulatedTime || simulated == measuredTime {
		t.Errorf("%s: measured time %v, simulated time %v: %v", r.Name, measuredTime, simulatedTime, r.Values)
	}
}

func checkBenchstat(t *testing.T, results []byte) {
	file := t.TempDir() + "/bench.txt"
	if err := os.WriteFile(file, results, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "benchstat", "-filter", ".name:Cost", "-col", "/variant", file).CombinedOutput()
	if err != nil {
		t.Fatalf("benchstat: %v\n%s", err, out)
	}
	for _, want := range []string{"loop", "per_route_item", "fused", "launches/op", "1.813k"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("benchstat's table has no %q:\n%s", want, out)
		}
	}
}
