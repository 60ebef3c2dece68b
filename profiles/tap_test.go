package profiles

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"gputax/device"
	"gputax/device/devicetest"
	"gputax/device/host"
	"gputax/device/sim"
)

func openSim(t *testing.T) device.Device {
	t.Helper()
	p, err := Device("h200")
	if err != nil {
		t.Fatal(err)
	}
	return sim.New(p)
}

// tapped is dev with an open logbook between.
func tapped(dev device.Device, opt CaptureOptions) *tap {
	l := newLogbook(dev, opt)
	t := newTap(dev, l)
	if t.sim != nil {
		t.sim.Observe(l.sawSim)
	}
	l.open()
	return t
}

// A device with a tap on it is still a device.
func TestTapConformance(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) device.Device{
		"host": func(t *testing.T) device.Device { return host.New() },
		"sim":  openSim,
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, func(t *testing.T) device.Device {
				return tapped(open(t), CaptureOptions{Contents: true})
			})
		})
	}
}

// double doubles numbers, in place.
var double = &device.Kernel{Symbol: "double", Params: []device.Param{{Name: "x"}, {Name: "n", Kind: device.KindInt}},
	Work: func(a device.Args) device.Work {
		return device.Work{Flops: int64(a.Int(1)), ReadBytes: 4, WriteBytes: 4}
	},
	Dims: func(a device.Args) device.Dims { return device.Dims{X: 3, Y: 2, Threads: 64} },
	Body: func(a device.Args) {
		for i := range a.I32(0) {
			a.I32(0)[i] *= 2
		}
	}}

// run is a little of everything; buffers is the two it has.
func run(r *device.Recorder) error {
	data, back := []int32{1, 2}, []int32{0, 0}
	r.Phase("set up")
	a, err1 := r.Alloc(8)
	b, err2 := r.Alloc(16)
	p, err3 := r.AllocPinned(8)
	r.Step()
	err := errors.Join(err1, err2, err3, r.Upload(a, device.Bytes(data)), r.Download(device.Bytes(back), a),
		r.Upload(b.Slice(8, 8), device.Bytes(data)), r.Upload(b, device.Bytes(data)))
	r.Phase("work")
	for range 2 {
		err = errors.Join(err, r.Upload(a, device.Bytes(data)), r.Launch(0, double, device.Buf(a), device.Int(2)))
	}
	err = errors.Join(err, r.Launch(0, double, device.Buf(a), device.Int(2)), r.Launch(0, double, device.Buf(p.Buffer()), device.Int(2)))
	r.HostWork(device.HostWork{Calls: 2, Bytes: 100})
	r.HostWork(device.HostWork{Calls: 1000, Workers: 1})
	r.Padded(3, 4)
	r.Step()
	err = errors.Join(err, r.BeginCapture(0))
	r.Phase("captured")
	err = errors.Join(err, r.Launch(0, double, device.Buf(a), device.Int(2)), r.DownloadAsync(0, p, a))
	g, err4 := r.EndCapture()
	r.Phase("replayed")
	err = errors.Join(err, err4, r.Replay(0, g), r.Replay(0, g), r.Sync(0))
	r.EndStep()
	return errors.Join(err, r.Drain(), r.FreeGraph(g), r.Free(a), r.Free(b), r.FreePinned(p))
}

// captured is what is recorded of run on a device.
func captured(t *testing.T, dev device.Device, opt CaptureOptions) *Recording {
	t.Helper()
	r, err := Capture(t.Context(), dev, opt, run)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("warnings %q", r.Warnings)
	}
	return r
}

func TestCaptureCalls(t *testing.T) {
	type call struct {
		name, phase string
		step        int32
		kind        CallKind
		bytes       int64
		blocking    bool
	}
	want := []call{
		{"allocate", "set up", -1, CallAlloc, 8, false},
		{"allocate", "set up", -1, CallAlloc, 16, false},
		{"allocate pinned", "set up", -1, CallAlloc, 8, false},
		{"upload pageable", "set up", 0, CallCopy, 8, true},
		{"download pageable", "set up", 0, CallCopy, 8, true},
		{"upload pageable", "set up", 0, CallCopy, 8, true},
		{"upload pageable", "set up", 0, CallCopy, 8, true},
		{"upload pageable", "work", 0, CallCopy, 8, true},
		{"double", "work", 0, CallLaunch, 0, false},
		{"upload pageable", "work", 0, CallCopy, 8, true},
		{"double", "work", 0, CallLaunch, 0, false},
		{"double", "work", 0, CallLaunch, 0, false},
		{"double", "work", 0, CallLaunch, 0, false},
		{"host work", "work", 0, CallHostWork, 100, false},
		{"wait for loader", "work", 0, CallLoad, 0, false},
		{"capture graph", "work", 1, CallOther, 0, false},
		{"launch graph", "replayed", 1, CallGraphLaunch, 0, false},
		{"launch graph", "replayed", 1, CallGraphLaunch, 0, false},
		{"sync", "replayed", 1, CallSync, 0, true},
		{"free graph", "replayed", -1, CallOther, 0, false},
		{"free", "replayed", -1, CallFree, 8, true},
		{"free", "replayed", -1, CallFree, 16, true},
		{"free pinned", "replayed", -1, CallFree, 8, false},
	}
	for _, dev := range []device.Device{host.New(), openSim(t)} {
		r := captured(t, dev, CaptureOptions{})
		var got []call
		for _, c := range r.Calls.All() {
			got = append(got, call{r.Names.Name(c.Name), r.Names.Name(c.Phase), c.Step, c.Kind, c.Bytes, c.Blocking})
			if f := r.Sites[c.Site].Frames; len(f) == 0 || f[0].Func != "gputax/profiles.run" {
				t.Errorf("%s: %s at %v", dev.Name(), r.Names.Name(c.Name), f)
			}
		}
		if dev.Name() == "host" { // where a free waits for nothing
			for i := range want {
				want[i].blocking = want[i].blocking && want[i].kind != CallFree
			}
		} else {
			want[20].blocking, want[21].blocking = true, true
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v, want\n%v", dev.Name(), got, want)
		}
		if len(r.Steps) != 2 || len(r.Padded) != 1 || r.Padded[0].Useful != 3 || r.Padded[0].Step != 0 || len(r.HostWork) != 2 {
			t.Errorf("%s: %d steps, padding %v, host work %v", dev.Name(), len(r.Steps), r.Padded, r.HostWork)
		}
	}
}

func TestCaptureOps(t *testing.T) {
	for _, dev := range []device.Device{host.New(), openSim(t)} {
		r := captured(t, dev, CaptureOptions{Contents: true})
		name := func(i int) string { return r.Names.Name(r.Ops.At(i).Name) }
		detail := func(i int) *Detail { return r.Detail.At(int(r.Ops.At(i).Detail)) }
		want := []string{"upload pageable", "download pageable", "upload pageable", "upload pageable", // set up
			"upload pageable", "double", "upload pageable", "double", "double", "double", "double", "download async", "double", "download async"}
		for i := range want {
			if i >= r.Ops.Len() || name(i) != want[i] {
				t.Fatalf("%s: op %d of %d is not %s", dev.Name(), i, r.Ops.Len(), want[i])
			}
		}
		if detail(0).Content != detail(1).Content || detail(0).Buffer != detail(1).Buffer || detail(0).Content == 0 {
			t.Errorf("%s: a round trip: %+v %+v", dev.Name(), detail(0), detail(1))
		}
		if detail(2).Buffer == detail(3).Buffer || detail(2).Buffer == detail(0).Buffer {
			t.Errorf("%s: three places: %d %d %d", dev.Name(), detail(0).Buffer, detail(2).Buffer, detail(3).Buffer)
		}
		if detail(5).Content != detail(7).Content || detail(5).Content == detail(8).Content || detail(5).Content == 0 {
			t.Errorf("%s: twice on the same, then on its result: %x %x %x", dev.Name(), detail(5).Content, detail(7).Content, detail(8).Content)
		}
		if kernelContent(double, device.Args{device.Int(1)}) == kernelContent(double, device.Args{device.Int(2)}) {
			t.Error("launches with other scalars have the same hash")
		}
		if detail(10).Content == detail(12).Content {
			t.Errorf("%s: two replays, on other contents, have the same hash", dev.Name())
		}
		if detail(11).Content != hashBytes(0, device.Bytes([]int32{8, 16})) {
			t.Errorf("%s: a download in a graph has not the hash of what it moves", dev.Name())
		}
		k, d := r.Ops.At(5), detail(5)
		if k.Blocks != 6 || k.Threads != 64 || d.Flops != 2 || d.MemBytes != 8 || k.InGraph {
			t.Errorf("%s: a kernel: %+v %+v", dev.Name(), k, d)
		}
		if m := r.Ops.At(9); m.Bytes != 8 || m.Mem != MemPinned {
			t.Errorf("%s: a kernel on pinned memory: %+v", dev.Name(), m)
		}
		if n := r.Ops.At(10); !n.InGraph || r.Names.Name(detail(10).Phase) != "captured" || detail(10).Site == 0 {
			t.Errorf("%s: a node: %+v %+v", dev.Name(), n, detail(10))
		}
	}
}

// What was freed is let go.
func TestTapForgets(t *testing.T) {
	tap := tapped(host.New(), CaptureOptions{})
	if err := run(device.NewRecorder(tap)); err != nil {
		t.Fatal(err)
	}
	if len(tap.graphs) != 0 || len(tap.log.buffers) != 0 {
		t.Errorf("%d graphs and %d buffers are kept", len(tap.graphs), len(tap.log.buffers))
	}
}

// A call that fails is there, and is not counted.
func TestCaptureFailedCall(t *testing.T) {
	r, err := Capture(t.Context(), host.NewSize(100), CaptureOptions{}, func(rec *device.Recorder) error {
		if _, err := rec.Alloc(101); !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("allocated: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls.Len() != 1 || r.Counters() != (device.Counters{}) || len(r.Warnings) != 0 {
		t.Errorf("%d calls, counters %v, warnings %q", r.Calls.Len(), r.Counters(), r.Warnings)
	}
}

// Recording takes no virtual time, and allocates nothing an event.
func TestCaptureCosts(t *testing.T) {
	alone := openSim(t)
	if err := run(device.NewRecorder(alone)); err != nil {
		t.Fatal(err)
	}
	if r := captured(t, openSim(t), CaptureOptions{Contents: true, Mallocs: true}); r.Duration() != alone.Now() {
		t.Errorf("recorded it takes %v, alone %v", r.Duration(), alone.Now())
	}
	rec := device.NewRecorder(tapped(openSim(t), CaptureOptions{Contents: true}))
	b, err := rec.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		if err := errors.Join(rec.Upload(b, data), rec.Launch(0, double, device.Buf(b), device.Int(2)), rec.Sync(0)); err != nil {
			t.Fatal(err)
		}
	}); n > 0.1 { // the log's chunks
		t.Errorf("%v allocations for three events", n)
	}
}

// Heap allocations go to the phase that made them.
func TestCaptureMallocs(t *testing.T) {
	var kept [][]byte
	r, err := Capture(t.Context(), openSim(t), CaptureOptions{Mallocs: true}, func(r *device.Recorder) error {
		r.Phase("tidy")
		r.HostWork(device.HostWork{Calls: 1})
		r.Phase("wasteful")
		for range 500 {
			kept = append(kept, make([]byte, 100))
		}
		r.HostWork(device.HostWork{Calls: 1})
		r.Phase("recorded at length")
		for range 2 * logChunk {
			if err := r.Sync(0); err != nil {
				return err
			}
		}
		r.Phase("")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, bytes := map[string]int64{}, map[string]int64{}
	for _, s := range r.Phases {
		got[r.Names.Name(s.Name)] += s.Mallocs
		bytes[r.Names.Name(s.Name)] += s.HeapBytes
	}
	if got["wasteful"] < 500 || got["wasteful"] > 600 || bytes["wasteful"] < 500*100 || got["tidy"] > 50 || len(kept) != 500 {
		t.Errorf("allocations by phase: %v, %v", got, bytes)
	}
	if got["recorded at length"] > 100 || bytes["recorded at length"] > 100_000 {
		t.Errorf("the recording's own are counted: %v, %v", got, bytes)
	}
}

// timed is a device with a timer: 7 µs an op.
type timed struct {
	device.Device
	started int
}

func (d *timed) StartTimer() error                 { d.started++; return nil }
func (d *timed) StopTimer() (time.Duration, error) { return 7 * time.Microsecond, nil }

// Where nothing tells when ops ran, events around them do, or their calls; the
// recording says so.
func TestCaptureWithoutDeviceTimes(t *testing.T) {
	dev := &timed{Device: host.New()}
	r := captured(t, dev, CaptureOptions{})
	if r.Knows(DeviceTimes) || dev.started != 12 || r.Ops.At(0).Dur != 7000 || r.Ops.At(11).Dur != 3500 {
		t.Errorf("%d timers, ops of %d and %d ns, unseen: %q", dev.started, r.Ops.At(0).Dur, r.Ops.At(11).Dur, r.Source.Unseen[DeviceTimes])
	}
	if a, b := r.Ops.At(10), r.Ops.At(11); a.Start+a.Dur != b.Start {
		t.Errorf("a graph's nodes at %d for %d ns and at %d", a.Start, a.Dur, b.Start)
	}
	type plain struct{ device.Device }
	r = captured(t, plain{host.New()}, CaptureOptions{})
	if c := r.Calls.At(int(r.Ops.At(0).Call)); r.Knows(DeviceTimes) || r.Ops.At(0).Start != c.Start || r.Ops.At(0).Dur != c.Dur {
		t.Errorf("an op at %+v, its call at %+v, unseen: %q", r.Ops.At(0), c, r.Source.Unseen[DeviceTimes])
	}
}

// source is an OpSource that saw what it is told it saw.
type source struct {
	now   func() int64
	ids   []uint64
	see   func(rec *Recording)
	apart bool
}

func (s *source) Start(now func() int64) error { s.now, s.apart = now, true; return nil }
func (s *source) Correlate(id uint64) {
	if (id == Apart) == s.apart {
		panic("calls are not bracketed")
	}
	if s.apart = id == Apart; !s.apart {
		s.ids = append(s.ids, id)
	}
}
func (s *source) Stop(rec *Recording) error { s.see(rec); return nil }

func TestCaptureJoinsOps(t *testing.T) {
	type plain struct{ device.Device } // whose own times nobody knows
	var at int64
	src := &source{}
	src.see = func(rec *Recording) {
		at = src.now()
		rec.Source.Name = "the source"
		add := func(kind OpKind, call int32, dur int64) {
			o := Op{Kind: kind, Name: rec.Names.ID("mangled"), Call: call, Detail: -1, Stream: 14, Start: at + dur, Dur: dur, Blocks: 99}
			if kind == OpCopy {
				o.Dir, o.Bytes = DeviceToHost, 8
			}
			rec.Ops.Add(o)
		}
		add(OpCopy, 16, 5) // the graph's second node, and first of all
		add(OpKernel, 16, 4)
		add(OpKernel, 8, 3)
		add(OpMemset, 8, 2) // by the launch, before it
		add(OpKernel, -1, 1)
	}
	r, err := Capture(t.Context(), plain{host.New()}, CaptureOptions{Ops: src}, run)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range src.ids {
		if i > 0 && id <= src.ids[i-1] {
			t.Fatalf("ids %v", src.ids)
		}
	}
	got := map[int64]Op{}
	for _, o := range r.Ops.All() {
		if o.Start >= at {
			got[o.Dur] = *o
		}
	}
	for dur, want := range map[int64]struct {
		name     string
		stream   int32
		detailed bool
		inGraph  bool
	}{
		1: {"mangled", 14, false, false}, 2: {"mangled", 14, false, false}, 3: {"double", 0, true, false},
		4: {"double", 0, true, true}, 5: {"download async", 0, true, true},
	} {
		o := got[dur]
		if r.Names.Name(o.Name) != want.name || o.Stream != want.stream || (o.Detail >= 0) != want.detailed || o.InGraph != want.inGraph || o.Blocks != 99 {
			t.Errorf("op of %d ns: %s, %+v", dur, r.Names.Name(o.Name), o)
		}
	}
	if !r.Knows(DeviceTimes) || r.Source.Name != "host" || len(r.Warnings) != 2 { // one for the ops not seen, one for the kernel nobody launched
		t.Errorf("source %+v, warnings %q", r.Source, r.Warnings)
	}
}

func TestHash(t *testing.T) {
	seen := map[uint64]string{}
	data := make([]byte, 100)
	note := func(what string, h uint64) {
		if before, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", what, before)
		}
		seen[h] = what
	}
	for n := range data {
		note("zeros", hashBytes(0, data[:n]))
	}
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			note("a bit", hashBytes(0, data))
			data[i] ^= 1 << bit
		}
	}
	note("a start", hashBytes(1, data))
	if got := hashBytes(0, []byte("the same on every machine and in every run, however long")); got != 0x1b1c381f96e401ad {
		t.Errorf("hash %#x", got)
	}
}

func BenchmarkHash(b *testing.B) {
	data := make([]byte, 1<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		hashBytes(0, data)
	}
}

// calling makes a call after going through functions that path names, and says
// what its stack is.
func calling(rec *device.Recorder, path string) (stack []uintptr, err error) {
	if path == "" {
		stack = make([]uintptr, maxFrames)
		return stack[:runtime.Callers(1, stack)], rec.Sync(0)
	}
	switch path[0] {
	case 'a':
		return calling(rec, path[1:])
	case 'b':
		return calling(rec, path[1:])
	case 'c':
		return inlined(rec, path[1:])
	}
	return func() ([]uintptr, error) { return calling(rec, path[1:]) }()
}

func inlined(rec *device.Recorder, path string) ([]uintptr, error) { return calling(rec, path) }

// Call sites found by frame pointers are those that the runtime tells.
func TestSites(t *testing.T) {
	tap := tapped(host.New(), CaptureOptions{})
	rec := device.NewRecorder(tap)
	var paths []string
	for _, a := range []string{"", "a", "b", "c", "d"} {
		for _, b := range []string{"", "a", "b", "c", "d"} {
			paths = append(paths, a+b, b+"cc"+a, strings.Repeat(a+b, 5))
		}
	}
	for range 2 { // the second time all are known
		for _, path := range paths {
			stack, err := calling(rec, path)
			if err != nil {
				t.Fatal(err)
			}
			r := tap.log.rec
			got := r.Sites[r.Calls.At(r.Calls.Len()-1).Site].Frames
			frames := runtime.CallersFrames(stack)
			for i, f := range got {
				want, more := frames.Next()
				if f.Func != want.Function || f.Line != want.Line {
					t.Fatalf("path %q: frame %d is %s:%d, want %s:%d", path, i, f.Func, f.Line, want.Function, want.Line)
				}
				if !more {
					break
				}
			}
			if len(got) < len(path) {
				t.Errorf("path %q: %d frames", path, len(got))
			}
		}
	}
	if n := len(tap.log.sites); n < 60 || n > len(paths) {
		t.Errorf("%d call sites of %d paths", n, len(paths))
	}
}

// What a kernel leaves is seen as well as what it is given: the same into the
// same place again changes nothing.
func TestCaptureAfter(t *testing.T) {
	dev := host.New()
	r, err := Capture(t.Context(), dev, CaptureOptions{Contents: true}, func(rec *device.Recorder) error {
		from, err := rec.Alloc(64)
		if err != nil {
			return err
		}
		to, err := rec.Alloc(64)
		if err != nil {
			return err
		}
		err = rec.Upload(from, bytes.Repeat([]byte{7}, 64))
		for range 2 {
			err = errors.Join(err, rec.Launch(device.Default, copyKernel, device.Buf(to), device.Buf(from), device.Int(4)))
		}
		return errors.Join(err, rec.Free(from), rec.Free(to))
	})
	if err != nil {
		t.Fatal(err)
	}
	var kernels []*Detail
	for _, o := range r.Ops.All() {
		if o.Kind == OpKernel {
			kernels = append(kernels, r.Detail.At(int(o.Detail)))
		}
	}
	first, again := kernels[0], kernels[1]
	if first.Content == first.After || again.Content != first.After || again.After != first.After || again.After == 0 {
		t.Errorf("given %x left %x, then given %x left %x", first.Content, first.After, again.Content, again.After)
	}
}
