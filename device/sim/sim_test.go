package sim_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gputax/device"
	"gputax/device/devicetest"
	"gputax/device/sim"
)

// round is a profile of round numbers, so that a test can add them up.
const round = `{"name": "round", "about": "for tests", "status": "fitted", "constants": {
	"memory_bytes": {"value": 1e9, "from": "t"},
	"launch_host_ns": {"value": 10, "from": "t"},
	"launch_latency_ns": {"value": 100, "from": "t"},
	"launch_gap_ns": {"value": 0, "from": "t"},
	"kernel_floor_ns": {"value": 50, "from": "t"},
	"flops_per_s": {"value": 1e9, "from": "t"},
	"tensor_flops_per_s": {"value": 4e9, "from": "t"},
	"mem_bytes_per_s": {"value": 2e9, "from": "t"},
	"copy_host_ns": {"value": 5, "from": "t"},
	"upload_pageable_ns": {"value": 1000, "from": "t"},
	"upload_pageable_bytes_per_s": {"value": 1e9, "from": "t"},
	"download_pageable_ns": {"value": 2000, "from": "t"},
	"download_pageable_bytes_per_s": {"value": 1e9, "from": "t"},
	"upload_pinned_ns": {"value": 300, "from": "t"},
	"upload_pinned_bytes_per_s": {"value": 4e9, "from": "t"},
	"download_pinned_ns": {"value": 400, "from": "t"},
	"download_pinned_bytes_per_s": {"value": 4e9, "from": "t"},
	"sync_host_ns": {"value": 7, "from": "t"},
	"event_host_ns": {"value": 3, "from": "t"},
	"graph_host_ns": {"value": 20, "from": "t"},
	"graph_node_ns": {"value": 30, "from": "t"},
	"alloc_host_ns": {"value": 11, "from": "t"},
	"alloc_pinned_host_ns": {"value": 13, "from": "t"},
	"free_host_ns": {"value": 17, "from": "t"},
	"free_waits": {"value": 0, "from": "t"},
	"host_call_ns": {"value": 2.5, "from": "t"},
	"host_item_ns": {"value": 0.5, "from": "t"},
	"host_bytes_per_s": {"value": 1e9, "from": "t"},
	"host_flops_per_s": {"value": 1e9, "from": "t"}}}`

func open(t *testing.T) *sim.Device {
	t.Helper()
	p, err := sim.ReadProfile("round", strings.NewReader(round))
	if err != nil {
		t.Fatal(err)
	}
	return sim.New(p)
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) device.Device { return open(t) })
}

// work is a kernel that does nothing and declares what its arguments say.
var work = &device.Kernel{
	Symbol: "test_work",
	Params: []device.Param{{Name: "flops", Kind: device.KindInt}, {Name: "bytes", Kind: device.KindInt}},
	Work: func(a device.Args) device.Work {
		return device.Work{Flops: int64(a.Int(0)), ReadBytes: int64(a.Int(1))}
	},
	Body: func(device.Args) {},
}

// Each row is a few calls and the virtual time after them, added up by hand
// from the profile above.
func TestClock(t *testing.T) {
	type env struct {
		r      *device.Recorder
		b      device.Buffer
		p      device.Pinned
		other  device.Stream
		event  device.Event
		launch func(s device.Stream, flops, bytes int)
	}
	for _, c := range []struct {
		name string
		do   func(e *env) error
		want time.Duration
	}{
		{"a launch costs the host its call", func(e *env) error { e.launch(0, 0, 0); return nil }, 10},
		{"launch and sync: call, latency, floor, sync", func(e *env) error { e.launch(0, 0, 0); return e.r.Sync(0) }, 10 + 100 + 50 + 7},
		{"arithmetic above the floor", func(e *env) error { e.launch(0, 800, 0); return e.r.Sync(0) }, 10 + 100 + 800 + 7},
		{"memory above the floor", func(e *env) error { e.launch(0, 100, 4000); return e.r.Sync(0) }, 10 + 100 + 2000 + 7},
		{"the host runs ahead of the stream", func(e *env) error {
			for range 3 {
				e.launch(0, 800, 0)
			}
			return nil
		}, 30},
		{"kernels queue on a stream", func(e *env) error {
			for range 3 {
				e.launch(0, 800, 0)
			}
			return e.r.Sync(0)
		}, 10 + 100 + 3*800 + 7},
		{"small kernels on two streams overlap", func(e *env) error {
			e.launch(0, 0, 0)
			e.launch(e.other, 0, 0)
			if err := e.r.Sync(0); err != nil {
				return err
			}
			return e.r.Sync(e.other)
		}, 10 + 100 + 50 + 7 + 3 + 7}, // the second ends 3 ns after the first sync: at 170
		{"large kernels on two streams share the device", func(e *env) error {
			e.launch(0, 800, 0)
			e.launch(e.other, 800, 0)
			return e.r.Sync(e.other)
		}, 10 + 100 + 1600 + 7},
		{"a pageable upload", func(e *env) error { return e.r.Upload(e.b, make([]byte, 500)) }, 5 + 1000 + 500},
		{"a pageable download", func(e *env) error { return e.r.Download(make([]byte, 500), e.b) }, 5 + 2000 + 500},
		{"a pinned upload", func(e *env) error { return e.r.UploadPinned(e.b, e.p) }, 5 + 300 + 100},
		{"an async upload costs the host its call", func(e *env) error { return e.r.UploadAsync(0, e.b, e.p) }, 5},
		{"an async download, waited for", func(e *env) error {
			if err := e.r.DownloadAsync(0, e.p, e.b); err != nil {
				return err
			}
			return e.r.Sync(0)
		}, 5 + 400 + 100 + 7},
		{"a blocking copy waits for the stream", func(e *env) error {
			e.launch(0, 5000, 0)
			return e.r.UploadPinned(e.b, e.p)
		}, 10 + 100 + 5000 + 300 + 100},
		{"copies one way share an engine", func(e *env) error {
			if err := e.r.UploadAsync(0, e.b, e.p); err != nil {
				return err
			}
			if err := e.r.UploadAsync(e.other, e.b, e.p); err != nil {
				return err
			}
			return e.r.Sync(e.other)
		}, 5 + 400 + 400 + 7},
		{"copies both ways overlap", func(e *env) error {
			if err := e.r.UploadAsync(0, e.b, e.p); err != nil {
				return err
			}
			if err := e.r.DownloadAsync(e.other, e.p, e.b); err != nil {
				return err
			}
			return e.r.Sync(e.other)
		}, 5 + 5 + 500 + 7},
		{"a copy overlaps a kernel until an event joins them", func(e *env) error {
			if err := e.r.UploadAsync(e.other, e.b, e.p); err != nil {
				return err
			}
			if err := e.r.Record(e.event, e.other); err != nil {
				return err
			}
			if err := e.r.Wait(0, e.event); err != nil {
				return err
			}
			e.launch(0, 800, 0) // starts when the copy has ended, at 405
			return e.r.Sync(0)
		}, 405 + 800 + 7},
		{"a graph: one call, then its nodes", func(e *env) error {
			if err := e.r.BeginCapture(0); err != nil {
				return err
			}
			e.launch(0, 0, 0)
			e.launch(0, 800, 0)
			if err := e.r.UploadAsync(0, e.b, e.p); err != nil {
				return err
			}
			g, err := e.r.EndCapture()
			if err != nil {
				return err
			}
			if err := e.r.Replay(0, g); err != nil {
				return err
			}
			return e.r.Sync(0)
		}, 20 + 100 + 30 + 800 + 400 + 7},
		{"a kernel on pinned memory waits for the bus", func(e *env) error {
			k := &device.Kernel{Symbol: "t", Params: []device.Param{{Name: "x"}}, Body: func(device.Args) {}}
			if err := e.r.Launch(0, k, device.Buf(e.p.Buffer())); err != nil {
				return err
			}
			return e.r.Sync(0)
		}, 10 + 100 + 300 + 100 + 7},
		{"allocation and free", func(e *env) error {
			b, err := e.r.Alloc(8)
			if err != nil {
				return err
			}
			return e.r.Free(b)
		}, 11 + 17},
		{"pinned allocation", func(e *env) error { _, err := e.r.AllocPinned(8); return err }, 13},
		{"declared host work", func(e *env) error {
			e.r.HostWork(device.HostWork{Calls: 2, Items: 11, Bytes: 100, Flops: 200})
			return nil
		}, 5 + 6 + 100 + 200}, // 5 + 5.5, rounded up
		{"background work that the host outruns", func(e *env) error {
			for range 3 { // two workers, 100 ns a piece: ready at 100, 100 and 200
				e.r.HostWork(device.HostWork{Bytes: 100, Workers: 2, Ahead: 4})
			}
			return nil
		}, 200},
		{"background work done ahead", func(e *env) error {
			for range 3 { // ready at 100; the others while the host did 300 of its own
				e.r.HostWork(device.HostWork{Bytes: 100, Workers: 1, Ahead: 2})
				e.r.HostWork(device.HostWork{Bytes: 300})
			}
			return nil
		}, 100 + 3*300},
		{"background work held back until what waits is asked for", func(e *env) error {
			e.r.HostWork(device.HostWork{Bytes: 100, Workers: 4, Ahead: 1}) // ready at 100
			e.r.HostWork(device.HostWork{Bytes: 300})                       // until 400
			e.r.HostWork(device.HostWork{Bytes: 100, Workers: 4, Ahead: 1}) // was ready at 200
			e.r.HostWork(device.HostWork{Bytes: 100, Workers: 4, Ahead: 1}) // begun at 400
			return nil
		}, 500},
		{"background work held back by what waits", func(e *env) error {
			e.r.HostWork(device.HostWork{Bytes: 100, Workers: 4, Ahead: 1}) // ready at 100
			e.r.HostWork(device.HostWork{Bytes: 30})
			e.r.HostWork(device.HostWork{Bytes: 100, Workers: 4, Ahead: 1}) // begun at 100, ready at 200
			return nil
		}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := env{r: device.NewRecorder(open(t))}
			var err error
			must := func() {
				if err != nil {
					t.Fatal(err)
				}
			}
			e.b, err = e.r.Alloc(500)
			must()
			e.p, err = e.r.AllocPinned(400)
			must()
			e.other, err = e.r.NewStream()
			must()
			e.event, err = e.r.NewEvent()
			must()
			e.launch = func(s device.Stream, flops, bytes int) {
				if err := e.r.Launch(s, work, device.Int(flops), device.Int(bytes)); err != nil {
					t.Fatal(err)
				}
			}
			start := e.r.Now()
			err = c.do(&e)
			must()
			if got := e.r.Now() - start; got != c.want {
				t.Errorf("took %d ns, want %d", got, c.want)
			}
		})
	}
}

// Tensor flops have a rate of their own and add to the others.
func TestTensorFlops(t *testing.T) {
	k := &device.Kernel{Symbol: "t", Body: func(device.Args) {},
		Work: func(device.Args) device.Work { return device.Work{Flops: 500, TensorFlops: 4000} }}
	r := device.NewRecorder(open(t))
	if err := r.Launch(0, k); err != nil {
		t.Fatal(err)
	}
	if err := r.Sync(0); err != nil {
		t.Fatal(err)
	}
	if want := time.Duration(10 + 100 + 500 + 1000 + 7); r.Now() != want {
		t.Errorf("took %d ns, want %d", r.Now(), want)
	}
}

// Known launches take their time, others of the same kernel in proportion, and
// a free that waits waits.
func TestKnownKernels(t *testing.T) {
	p, err := sim.ReadProfile("round", strings.NewReader(round))
	if err != nil {
		t.Fatal(err)
	}
	p.FreeWaits, p.LaunchGap = 1, 4
	p.Kernels = []sim.KernelTime{
		{Symbol: "test_work", NS: 80}, // no work declared, yet it takes its time
		{Symbol: "test_work", Flops: 1000, Bytes: 100, NS: 600},
		{Symbol: "test_work", Flops: 4000, Bytes: 100, NS: 1200},
	}
	for _, c := range []struct {
		flops, bytes int
		want         time.Duration
	}{{1000, 100, 600}, {4000, 100, 1200}, {8000, 100, 2400}, {500, 50, 300}, {1100, 110, 660}, {10, 1, 50}, {0, 0, 80}} {
		r := device.NewRecorder(sim.New(p))
		b, err := r.Alloc(4)
		if err != nil {
			t.Fatal(err)
		}
		start := r.Now()
		if err := r.Launch(0, work, device.Int(c.flops), device.Int(c.bytes)); err != nil {
			t.Fatal(err)
		}
		if err := r.Free(b); err != nil {
			t.Fatal(err)
		}
		if got, want := r.Now()-start, 10+100+c.want+4+17; got != want {
			t.Errorf("%d flops, %d bytes, and a free: %d ns, want %d", c.flops, c.bytes, got, want)
		}
	}
}

// What is written is read back the same.
func TestWriteProfile(t *testing.T) {
	p, err := sim.ReadProfile("round", strings.NewReader(round))
	if err != nil {
		t.Fatal(err)
	}
	p.Kernels = []sim.KernelTime{{Symbol: "a", Flops: 1, Bytes: 2, NS: 3.5}, {Symbol: "b", TensorFlops: 7, NS: 1}}
	var out strings.Builder
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	again, err := sim.ReadProfile("again", strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, p) {
		t.Errorf("wrote %+v, read %+v", p, again)
	}
}

func TestReadProfileRefuses(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           []string // parts of the error
	}{
		{"a negative time", `"launch_host_ns": {"value": 10`, `"launch_host_ns": {"value": -10`, []string{"FILE", "launch_host_ns", "-10"}},
		{"a rate of zero", `"flops_per_s": {"value": 1e9`, `"flops_per_s": {"value": 0`, []string{"FILE", "flops_per_s", "0"}},
		{"a missing constant", `"free_host_ns": {"value": 17, "from": "t"},`, ``, []string{"FILE", "free_host_ns", "missing"}},
		{"an unknown constant", `"free_host_ns"`, `"free_ns": {"value": 1, "from": "t"}, "free_host_ns"`, []string{"FILE", "free_ns", "no such"}},
		{"an unknown field", `"about"`, `"abuot": "x", "about"`, []string{"FILE", "abuot"}},
		{"no source", `"value": 17, "from": "t"`, `"value": 17, "from": ""`, []string{"FILE", "free_host_ns", "from", "17"}},
		{"a text for a number", `"value": 17`, `"value": "17"`, []string{"FILE"}},
		{"a name with a slash", `"name": "round"`, `"name": "a/b"`, []string{"FILE", "name", "a/b"}},
		{"a name that ends like GOMAXPROCS", `"name": "round"`, `"name": "round-4"`, []string{"FILE", "name", "round-4"}},
		{"an unknown status", `"fitted"`, `"guessed"`, []string{"FILE", "status", "guessed"}},
		{"too slow to count", `"value": 17`, `"value": 1e13`, []string{"FILE", "free_host_ns", "1e+13"}},
		{"text after it", `"t"}}}`, `"t"}}} x`, []string{"FILE"}},
		{"a kernel without a symbol", `"t"}}}`, `"t"}}, "kernels": [{"flops": 1, "bytes": 1, "ns": 1}]}`, []string{"FILE", "kernels[0]"}},
		{"half a file", round, round[:200], []string{"FILE"}},
	} {
		text := strings.Replace(round, c.old, c.new, 1)
		if text == round {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		_, err := sim.ReadProfile("FILE", strings.NewReader(text))
		if err == nil {
			t.Errorf("%s: taken", c.name)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", c.name, err, part)
			}
		}
	}
}

func FuzzReadProfile(f *testing.F) {
	f.Add(round)
	f.Add("{}")
	for _, name := range []string{"a6000-pytorch", "h200"} {
		data, err := os.ReadFile("../../profiles/devices/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := sim.ReadProfile("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		r := device.NewRecorder(sim.New(p)) // whatever is taken must run forward
		for range 3 {
			before := r.Now()
			if err := r.Launch(0, work, device.Int(1000), device.Int(1000)); err != nil {
				t.Fatal(err)
			}
			if err := r.Sync(0); err != nil {
				t.Fatal(err)
			}
			if r.Now() < before {
				t.Fatalf("time went back from %v to %v", before, r.Now())
			}
		}
	})
}
