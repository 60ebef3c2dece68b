package profiles_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"gputax/device"
	"gputax/profiles"
)

// handmade is two steps by hand, as an importer would leave them: each copies,
// launches, waits; the second also launches a graph. Events are not in order.
func handmade() *profiles.Recording {
	r := &profiles.Recording{Source: profiles.Source{Name: "by hand"}, Sites: []profiles.Site{{}, {Frames: []profiles.Frame{
		{Func: "example.com/train.step", File: "example.com/train/step.go", Line: 7}, {Func: "main.main", File: "train/main.go", Line: 3}}}}}
	id := r.Names.ID
	call := func(kind profiles.CallKind, name string, phase string, step int32, start, dur int64) int32 {
		return int32(r.Calls.Add(profiles.Call{Kind: kind, Name: id(name), Phase: id(phase), Site: 1, Step: step, Start: start, Dur: dur}))
	}
	op := func(o profiles.Op, name string, call int32, start, dur int64) {
		o.Name, o.Call, o.Detail, o.Start, o.Dur = id(name), call, -1, start, dur
		r.Ops.Add(o)
	}
	sync := call(profiles.CallSync, "sync", "", 0, 3000, 1500)
	up := call(profiles.CallCopy, "copy", "upload", 0, 1000, 700)
	launch := call(profiles.CallLaunch, "launch", "forward", 0, 2000, 300)
	op(profiles.Op{Kind: profiles.OpKernel, Blocks: 8, Threads: 128}, "gemm", launch, 2500, 1800)
	op(profiles.Op{Kind: profiles.OpCopy, Dir: profiles.HostToDevice, Mem: profiles.MemPageable, Bytes: 64}, "upload", up, 1100, 500)
	graph := call(profiles.CallGraphLaunch, "launch graph", "forward", 1, 6000, 400)
	op(profiles.Op{Kind: profiles.OpKernel, InGraph: true}, "void gemm<float, (anonymous namespace)::add>(float*)", graph, 6600, 1000)
	op(profiles.Op{Kind: profiles.OpKernel, InGraph: true, Bytes: 16}, "add", graph, 7600, 300)
	op(profiles.Op{Kind: profiles.OpCopy, Dir: profiles.DeviceToHost, Mem: profiles.MemPinned, Bytes: 32, InGraph: true, Stream: 1}, "download", graph, 7700, 400)
	op(profiles.Op{Kind: profiles.OpMemset, Bytes: 1 << 20}, "memset", -1, 500, 100)
	op(profiles.Op{Kind: profiles.OpCopy, Dir: profiles.DeviceToDevice, Bytes: 8}, "copy", -1, 9000, 10)
	r.HostWork = []profiles.HostWork{{Call: sync}, {Call: up, HostWork: device.HostWork{Calls: 1}}}
	r.Steps = []profiles.Span{{Name: id("step"), Step: 1, Start: 5000, End: 9000}, {Name: id("step"), Start: 1000, End: 5000}}
	r.Phases = []profiles.Span{
		{Name: id("upload"), Start: 1000, End: 1900}, {Name: id("forward"), Start: 1900, End: 3000}, {Start: 3000, End: 5000},
		{Name: id("forward"), Step: 1, Start: 5000, End: 9000},
	}
	r.Sort()
	return r
}

func TestSort(t *testing.T) {
	r := handmade()
	if err := r.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if r.Start != 500 || r.End != 9010 {
		t.Errorf("window %d to %d", r.Start, r.End)
	}
	var got []string
	for _, o := range r.Ops.All() {
		by := "nobody"
		if o.Call >= 0 {
			by = r.Names.Name(r.Calls.At(int(o.Call)).Name)
		}
		got = append(got, r.Names.Name(o.Name)+" by "+by)
	}
	want := []string{"memset by nobody", "upload by copy", "gemm by launch", "void gemm<float, (anonymous namespace)::add>(float*) by launch graph", "add by launch graph", "download by launch graph", "copy by nobody"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("ops %q, want %q", got, want)
	}
	if w := r.HostWork[0]; w.Calls != 1 || r.Names.Name(r.Calls.At(int(w.Call)).Name) != "copy" {
		t.Errorf("host work %+v", r.HostWork)
	}
}

func TestCheckValid(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(r *profiles.Recording)
		want  string
	}{
		{"a call out of order", func(r *profiles.Recording) { r.Calls.At(1).Start = 10 }, "call 1 of 4: it starts at 10"},
		{"a call that ends before it starts", func(r *profiles.Recording) { r.Calls.At(1).Dur = -1 }, "call 1 of 4: it takes -1"},
		{"a call outside the window", func(r *profiles.Recording) { r.Calls.At(3).Dur = 1 << 20 }, "after the window's end"},
		{"a call without a name", func(r *profiles.Recording) { r.Calls.At(0).Name = 99 }, "name 99"},
		{"a call in no phase there is", func(r *profiles.Recording) { r.Calls.At(0).Phase = 99 }, "name 99"},
		{"a call from nowhere", func(r *profiles.Recording) { r.Calls.At(0).Site = 2 }, "call site 2 of 2"},
		{"a call in a step there is not", func(r *profiles.Recording) { r.Calls.At(0).Step = 2 }, "step 2 of 2"},
		{"an op out of order", func(r *profiles.Recording) { r.Ops.At(2).Start = 600 }, "op 2 of 7"},
		{"an op of no call", func(r *profiles.Recording) { r.Ops.At(2).Call = 4 }, "call 4 of 4"},
		{"an op without its detail", func(r *profiles.Recording) { r.Ops.At(2).Detail = 0 }, "detail 0 of 0"},
		{"steps that overlap", func(r *profiles.Recording) { r.Steps[0].End = 5001 }, "step 1 of 2: it begins before"},
		{"a phase without a name", func(r *profiles.Recording) { r.Phases[2].Name = 99 }, "phase 2 of 4"},
		{"a detail from nowhere", func(r *profiles.Recording) { r.Detail.Add(profiles.Detail{Site: 9}) }, "detail 0 of 1"},
		{"padding in a step there is not", func(r *profiles.Recording) { r.Padded = []profiles.Padding{{Step: 7}} }, "padding 0 of 1"},
		{"host work of no call", func(r *profiles.Recording) { r.HostWork[1].Call = 4 }, "host work 1 of 2"},
		{"a window that ends first", func(r *profiles.Recording) { r.End = 0 }, "the window ends"},
	} {
		r := handmade()
		c.spoil(r)
		err := r.CheckValid()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
		if r.WriteGPU(nil) == nil {
			t.Errorf("%s: written", c.name)
		}
	}
}

func TestCounters(t *testing.T) {
	r := handmade()
	want := device.Counters{
		device.Launches: 1, device.GraphLaunches: 1, device.GraphKernels: 2, device.MappedBytes: 16, device.Syncs: 1,
		device.UploadCopies: 1, device.UploadBytes: 64, device.PageableCopies: 1, device.DownloadCopies: 1, device.DownloadBytes: 32,
	}
	if got := r.Counters(); got != want {
		t.Errorf("counters %v, want %v", got, want)
	}
	var sum device.Counters
	var phases []string
	for _, p := range r.PhaseCounters() {
		phases = append(phases, p.Name+" "+p.Time.String())
		sum.Add(&p.Counters)
	}
	if want := []string{" 2µs", "upload 900ns", "forward 5.1µs"}; !reflect.DeepEqual(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	if sum != want {
		t.Errorf("phases together %v, want %v", sum, want)
	}
	steps := r.StepTotals()
	if len(steps) != 2 || steps[0].Counters[device.Launches] != 1 || steps[1].Counters[device.GraphKernels] != 2 {
		t.Errorf("steps %+v", steps)
	}
	if steps[0].Time != 4*time.Microsecond || steps[0].Busy != 2300 || steps[1].Busy != 1500 { // the download overlaps
		t.Errorf("times %v %v %v", steps[0].Time, steps[0].Busy, steps[1].Busy)
	}
	if r.Busy() != 100+2300+1500+10 {
		t.Errorf("busy %v", r.Busy())
	}
}

// Only what is the same in both steps is exact.
const handmadeBench = `Unit ns/op better=lower
Unit gpu-ns/op better=lower
Unit launches/op better=lower
Unit graph-launches/op better=lower
Unit graph-kernels/op better=lower
Unit h2d-copies/op better=lower
Unit h2d-B/op better=lower
Unit d2h-copies/op better=lower
Unit d2h-B/op better=lower
Unit mapped-B/op better=lower
Unit pageable-copies/op better=lower
Unit syncs/op better=lower
Unit dev-allocs/op better=lower assume=exact
Unit dev-frees/op better=lower assume=exact
Unit upload-ns/op better=lower
Unit forward-ns/op better=lower
BenchmarkStep/source=by_hand/batch=8 1 4000 ns/op 2300 gpu-ns/op 1 launches/op 0 graph-launches/op 0 graph-kernels/op 1 h2d-copies/op 64 h2d-B/op 0 d2h-copies/op 0 d2h-B/op 0 mapped-B/op 1 pageable-copies/op 1 syncs/op 0 dev-allocs/op 0 dev-frees/op 900 upload-ns/op 1100 forward-ns/op
BenchmarkStep/source=by_hand/batch=8 1 4000 ns/op 1500 gpu-ns/op 0 launches/op 1 graph-launches/op 2 graph-kernels/op 0 h2d-copies/op 0 h2d-B/op 1 d2h-copies/op 32 d2h-B/op 16 mapped-B/op 0 pageable-copies/op 0 syncs/op 0 dev-allocs/op 0 dev-frees/op 0 upload-ns/op 4000 forward-ns/op
BenchmarkOp/op=add/source=by_hand/batch=8 1 300 gpu-ns/op
BenchmarkOp/op=download/source=by_hand/batch=8 1 400 gpu-ns/op
BenchmarkOp/op=gemm/source=by_hand/batch=8 1 1800 gpu-ns/op
BenchmarkOp/op=gemm/source=by_hand/batch=8 1 1000 gpu-ns/op
BenchmarkOp/op=upload/source=by_hand/batch=8 1 500 gpu-ns/op
`

func TestWriteBench(t *testing.T) {
	write := func(r *profiles.Recording, opt profiles.BenchOptions) string {
		t.Helper()
		var out strings.Builder
		if err := r.WriteBench(&out, opt); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := write(handmade(), profiles.BenchOptions{Labels: "batch=8", Times: true}); got != handmadeBench {
		t.Errorf("wrote\n%s, want\n%s", got, handmadeBench)
	}
	if got := write(handmade(), profiles.BenchOptions{Skip: 1}); strings.Count(got, "\nBenchmark") != 1 || strings.Contains(got, "ns/op") {
		t.Errorf("one step without times:\n%s", got)
	}
	virtual := handmade()
	virtual.Clock, virtual.Source.Name = device.Virtual, "sim:/a-12"
	if got := write(virtual, profiles.BenchOptions{Times: true}); !strings.Contains(got, "Unit sim-ns/op better=lower assume=exact\nUnit sim-gpu-ns/op better=lower\n") ||
		!strings.Contains(got, "BenchmarkStep/source=sim:_a_12 1 4000 sim-ns/op") {
		t.Errorf("on a virtual clock:\n%s", got)
	}
	whole := handmade()
	whole.Steps = nil
	for _, c := range whole.Calls.All() {
		c.Step = -1
	}
	for i := range whole.Phases {
		whole.Phases[i].Step = -1
	}
	if got := write(whole, profiles.BenchOptions{}); !strings.Contains(got, "BenchmarkRun/source=by_hand 1 1 launches/op") {
		t.Errorf("without steps:\n%s", got)
	}
	if err := handmade().WriteBench(&strings.Builder{}, profiles.BenchOptions{Skip: 2}); err == nil || !strings.Contains(err.Error(), "2 steps to skip") {
		t.Errorf("all steps skipped: %v", err)
	}
}
