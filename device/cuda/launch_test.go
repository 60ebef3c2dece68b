package cuda

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"gputax/device"
	"gputax/device/devicetest"
)

// wide is a kernel with every kind of parameter, whose layout is laid.
func wide(laid device.Dims) *device.Kernel {
	return &device.Kernel{
		Symbol: "wide",
		Params: []device.Param{{Name: "a"}, {Name: "i", Kind: device.KindInt}, {Name: "f", Kind: device.KindFloat}, {Name: "b"}},
		Module: &device.Module{Name: "test", PTX: ".version 7.8"},
		Dims:   func(device.Args) device.Dims { return laid },
	}
}

func TestLaunchArguments(t *testing.T) {
	f := newFake()
	d := opened(t, f)
	r := device.NewRecorder(d)
	s, err := r.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dims   device.Dims
		grid   [3]uint32
		shared uint32
	}{
		{device.Dims{X: 3, Threads: 64}, [3]uint32{3, 1, 1}, 0},
		{device.Dims{X: 1, Y: 2, Z: 4, Threads: 64, Shared: 1024}, [3]uint32{1, 2, 4}, 1024},
	} {
		f.launches = nil
		err := r.Launch(s, wide(c.dims), device.Buf(b), device.Int(-7), device.Float(0.5), device.Buf(b.Slice(8, 8)))
		if err != nil {
			t.Fatal(err)
		}
		want := []launch{{"wide", c.grid, 64, c.shared, d.streams[s],
			[]uint64{b.Addr(), 1<<32 - 7, uint64(math.Float32bits(0.5)), b.Addr() + 8}}}
		if !reflect.DeepEqual(f.launches, want) {
			t.Errorf("launched %+v, want %+v", f.launches, want)
		}
	}
}

func TestLaunchLayouts(t *testing.T) {
	for _, c := range []struct {
		name   string
		dims   device.Dims
		static int32
		want   string // of the error
		set    int32  // the limit of shared memory that was asked for
		runs   bool
	}{
		{name: "no blocks", dims: device.Dims{Threads: 64}},
		{name: "plain", dims: device.Dims{X: 1, Threads: 64}, runs: true},
		{name: "the most shared memory by default", dims: device.Dims{X: 1, Threads: 64, Shared: 48 << 10}, runs: true},
		{name: "more", dims: device.Dims{X: 1, Threads: 64, Shared: 100 << 10}, set: 100 << 10, runs: true},
		{name: "static memory counts", dims: device.Dims{X: 1, Threads: 64, Shared: 40 << 10}, static: 10 << 10, set: 40 << 10, runs: true},
		{name: "negative", dims: device.Dims{X: -1, Threads: 64}, want: "cuLaunchKernel(wide, 2147483648x1x1 blocks"},
		{name: "beyond 32 bits", dims: device.Dims{X: 1<<32 + 1, Threads: 64}, want: "cuLaunchKernel(wide, 2147483648x1x1 blocks"},
		{name: "shared beyond 32 bits", dims: device.Dims{X: 1, Threads: 64, Shared: 1<<32 + 1}, want: "cuFuncSetAttribute(wide, 4294967297 bytes"},
	} {
		f := newFake()
		f.static = c.static
		r := device.NewRecorder(opened(t, f))
		var b device.Buffer
		err := r.Launch(device.Default, wide(c.dims), device.Buf(b), device.Int(0), device.Float(0), device.Buf(b))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if runs := len(f.launches) == 1; runs != c.runs {
			t.Errorf("%s: ran %v, want %v", c.name, runs, c.runs)
		}
		var set int32
		for _, v := range f.shared {
			set = v
		}
		if set != c.set {
			t.Errorf("%s: asked for %d bytes of shared memory, want %d", c.name, set, c.set)
		}
	}
}

func TestUnloadable(t *testing.T) {
	f := newFake()
	r := device.NewRecorder(opened(t, f))
	k := wide(device.Dims{X: 1, Threads: 1})
	run := func(k *device.Kernel) error {
		var b device.Buffer
		return r.Launch(device.Default, k, device.Buf(b), device.Int(0), device.Float(0), device.Buf(b))
	}
	for _, c := range []struct {
		name string
		set  func(k *device.Kernel)
		want string
	}{
		{"bad PTX", func(*device.Kernel) {
			f.fails["moduleLoadDataEx"], f.jitLog = 218, "ptxas application ptx input, line 1; fatal : no\nptxas fatal : aborted\n"
		}, "cuModuleLoadDataEx(module test, 12 bytes of PTX): CUDA_ERROR_INVALID_PTX (218): text of CUDA_ERROR_INVALID_PTX: " +
			"ptxas application ptx input, line 1; fatal : no; ptxas fatal : aborted"},
		{"no such function", func(k *device.Kernel) { k.Symbol = "none" },
			"cuModuleGetFunction(none of module test): CUDA_ERROR_NOT_FOUND (500): text of CUDA_ERROR_NOT_FOUND"},
		{"no module", func(k *device.Kernel) { k.Module = nil },
			"kernel wide has no compiled form for cuda:0: it runs on host and sim devices only"},
		{"no dims", func(k *device.Kernel) { k.Dims = nil },
			"kernel wide has no compiled form for cuda:0: it runs on host and sim devices only"},
	} {
		bad := *k
		c.set(&bad)
		err := run(&bad)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
		f.fails = map[string]result{}
	}
	if err := run(k); err != nil {
		t.Errorf("a good kernel after bad ones: %v", err)
	}
}

// TestModuleLoadsOnce launches two kernels of one module several times.
func TestModuleLoadsOnce(t *testing.T) {
	f := newFake()
	r := device.NewRecorder(opened(t, f))
	for range 3 {
		roundTrip(t, r)
	}
	if n := len(f.open["module"]); n != 1 {
		t.Errorf("%d modules are loaded, want 1", n)
	}
	if n := len(f.symbols); n != 1 {
		t.Errorf("a kernel was looked up %d times", n)
	}
	for _, m := range f.modes {
		if m != captureRelaxed {
			t.Errorf("captured in mode %d", m)
		}
	}
}

// TestHotPathAllocatesNothing is for the calls that a training step makes.
func TestHotPathAllocatesNothing(t *testing.T) {
	f := newFake()
	f.record = false
	d := opened(t, f)
	d.drv.memcpyHtoDAsync = func(uint64, unsafe.Pointer, uintptr, uintptr) result { return 0 }
	r := device.NewRecorder(d)
	b, err := r.Alloc(1024)
	if err != nil {
		t.Fatal(err)
	}
	hotPath(t, r, b, nil)
}

// hotPath holds the calls of a training step, and some more, to no allocation.
func hotPath(t *testing.T, r *device.Recorder, b device.Buffer, more map[string]func() error) {
	t.Helper()
	data := make([]byte, b.Size())
	axpb := devicetest.Kernels()[0]
	events := map[string]func() error{
		"launch": func() error {
			return r.Launch(device.Default, axpb, device.Buf(b), device.Int(b.Size()/4), device.Float(2), device.Float(1))
		},
		"upload": func() error { return r.Upload(b, data) },
		"sync":   func() error { return r.Sync(device.Default) },
	}
	maps.Copy(events, more)
	for name, event := range events {
		if n := testing.AllocsPerRun(100, func() {
			if err := event(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
